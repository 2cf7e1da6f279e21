"""A server that takes what is pushed, as Pyroscope would, and remembers it."""
import collections
import functools
import http.server
import re
import socket
import subprocess
import threading
import zlib

from profiled import ROOT, TIMEOUT

Push = collections.namedtuple("Push", "series service began ended samples")


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as held:
        return held.getsockname()[1]


def decode(plain):
    """A profile's bytes as protoc's text."""
    return subprocess.run(["protoc", "--decode=perftools.profiles.Profile", f"-I{ROOT}", f"{ROOT}/pprof/profile.proto"], input=plain,
                          capture_output=True, timeout=TIMEOUT, check=True).stdout.decode()


def samples(text):
    """[(values, {label: text})] of a profile as protoc shows it."""
    strings = [entry.encode("latin-1").decode("unicode_escape") for entry in re.findall(r'^string_table: "(.*)"$', text, re.M)]
    found = []
    for body in re.findall(r"^sample \{\n(.*?)^\}", text, re.M | re.S):
        values = [int(value) for value in re.findall(r"^  value: (-?\d+)", body, re.M)]
        labels = re.findall(r"^  label \{\n    key: (\d+)\n    str: (\d+)", body, re.M)
        found.append((values, {strings[int(key)]: strings[int(value)] for key, value in labels}))
    return found


@functools.lru_cache(maxsize=None)
def pushed(body):
    """A Push of a request's body."""
    start = body.index(b"\x1f\x8b\x08")
    text = decode(zlib.decompressobj(31).decompress(body[start:]))
    began = int(re.search(r"^time_nanos: (\d+)", text, re.M).group(1))
    lasted = int(re.search(r"^duration_nanos: (\d+)", text, re.M).group(1))
    series = next(name for name in ("process_cpu", "block", "recovery") if name.encode() in body[:start])
    # A label is a message: its length, then name and value, each with tag and length.
    service = re.search(rb"\x0a\x0cservice_name\x12.([\w.-]+)", body[:start], re.S).group(1).decode()
    return Push(series, service, began, began + lasted, samples(text))


class Receiver:
    """Listens from the beginning of the context to its end, on a port that may be given. `bodies` are the requests that it took, `refused`
    those that `refuses` wanted answered with 500."""

    def __init__(self, port=0, refuses=lambda body: False):
        self.bodies, self.refused, receiver = [], [], self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                refused = refuses(body)
                (receiver.refused if refused else receiver.bodies).append(body)
                self.send_response(500 if refused else 200)
                self.send_header("Content-Type", "application/proto")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def pushes(self):
        """A Push of each series of a window, in order. A large series comes in parts, one request after the other, which are one Push here;
        a request that comes again is a Push of its own."""
        found, seen = [], set()
        for body in [body for body in list(self.bodies) if body]:
            push = pushed(body)
            if found and body not in seen and push[:4] == found[-1][:4]:
                found[-1] = found[-1]._replace(samples=found[-1].samples + push.samples)
            else:
                found.append(push)
            seen.add(body)
        return found
