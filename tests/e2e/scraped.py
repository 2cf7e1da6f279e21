"""Asks an agent's scrape endpoint: HTTP as it comes over the wire, a strict reader of Prometheus' text format, and sums of profiles as
go tool pprof reads them."""
import collections
import re
import socket

import profiled

Answer = collections.namedtuple("Answer", "status headers body")


def raw(address, request, seconds=20):
    """All bytes that come back until the server closes; what had come when it resets the connection."""
    got = b""
    with socket.create_connection(address, timeout=seconds) as client:
        try:
            client.sendall(request)
            while True:
                more = client.recv(65536)
                if not more:
                    return got
                got += more
        except (ConnectionResetError, BrokenPipeError):
            return got


def ask(address, path, method="GET", headers=(), body=b""):
    """An Answer, its headers with small letters; None when the server said nothing."""
    lines = [f"{method} {path} HTTP/1.1", f"Host: {address[0]}:{address[1]}", *headers]
    if body:
        lines.append(f"Content-Length: {len(body)}")
    got = raw(address, ("\r\n".join(lines) + "\r\n\r\n").encode() + body)
    head, _, rest = got.partition(b"\r\n\r\n")
    match = re.match(rb"HTTP/1\.1 (\d{3}) ", head)
    if not match:
        return None
    fields = dict(line.decode().split(": ", 1) for line in head.split(b"\r\n")[1:])
    return Answer(int(match[1]), {name.lower(): value for name, value in fields.items()}, rest)


# --- Prometheus' text format, 0.0.4 -----------------------------------------------------------------------------------------
NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"')
SAMPLE = re.compile(rf"({NAME})(?:\{{(.*)\}})? (-?\d+(?:\.\d+)?)")


def unescape(value):
    return re.sub(r"\\(.)", lambda match: {"n": "\n"}.get(match[1], match[1]), value)


def labels_of(text, where):
    """The labels in the braces, as a frozenset of pairs."""
    found, at = [], 0
    while at < len(text):
        match = LABEL.match(text, at)
        if not match:
            raise ValueError(f"{where}: no label at {text[at:]!r}")
        found.append((match[1], unescape(match[2])))
        at = match.end()
        if at < len(text):
            if text[at] != "," or at + 1 == len(text):
                raise ValueError(f"{where}: no comma between labels")
            at += 1
    if len({name for name, _ in found}) != len(found):
        raise ValueError(f"{where}: a label stands twice")
    return frozenset(found)


class Metrics:
    """What /metrics said: {(name, labels): its value as the digits say, in billionths}. A ValueError where the format is not kept."""

    def __init__(self, body):
        text = body.decode("utf-8")
        if not text.endswith("\n"):
            raise ValueError("the last line has no end")
        self.value, self.type, helped, now = {}, {}, set(), None
        for number, line in enumerate(text[:-1].split("\n"), 1):
            comment = re.fullmatch(rf"# (HELP|TYPE) ({NAME}) (.*)", line)
            if comment and comment[1] == "HELP":
                if comment[2] in helped:
                    raise ValueError(f"line {number}: a second HELP")
                helped.add(comment[2])
            elif comment:
                if comment[2] in self.type or comment[3] not in ("counter", "gauge") or comment[2] not in helped:
                    raise ValueError(f"line {number}: {line}")
                now, self.type[comment[2]] = comment[2], comment[3]
            else:
                self.take_sample(line, f"line {number}", now)

    def take_sample(self, line, where, now):
        match = SAMPLE.fullmatch(line)
        if not match or match[1] != now:
            raise ValueError(f"{where}: no sample of {now}: {line!r}")
        key = (match[1], labels_of(match[2] or "", where))
        if key in self.value:
            raise ValueError(f"{where}: {line!r} stands twice")
        whole, _, part = match[3].partition(".")
        self.value[key] = int(whole + part.ljust(9, "0"))
        if self.type[now] == "counter" and self.value[key] < 0:
            raise ValueError(f"{where}: a counter below 0")

    def series(self, name, *labels):
        """{values of these labels: value} of a metric."""
        return {tuple(dict(found)[label] for label in labels): value for (other, found), value in self.value.items() if other == name}

    def number(self, name, **labels):
        return self.value[name, frozenset(labels.items())] / 1e9

    def fell_from(self, before):
        """The counters that are lower than in `before`, or gone."""
        return [key for key, value in before.value.items() if before.type[key[0]] == "counter" and self.value.get(key, -1) < value]


def metrics(address, headers=()):
    answer = ask(address, "/metrics", headers=headers)
    if answer.status != 200 or answer.headers["content-type"] != "text/plain; version=0.0.4; charset=utf-8":
        raise ValueError(f"/metrics: {answer}")
    return Metrics(answer.body)


# --- profiles ---------------------------------------------------------------------------------------------------------------
def samples(path):
    """[(values, {label: value})] as `go tool pprof -raw` has them."""
    done = profiled.run(["go", "tool", "pprof", "-raw", path])
    if done.code:
        raise ValueError(f"go tool pprof -raw: {done.err}")
    found, lines = [], done.out.partition("Samples:\n")[2].partition("\nLocations")[0].splitlines()[1:]
    for line in lines:
        if re.match(r"^\s*-?\d+ ", line):
            found.append(([int(word) for word in line.split(":")[0].split()], {}))
        else:
            found[-1][1].update(re.findall(r"(\w+):\[([^\]]*)\]", line))
    return found
