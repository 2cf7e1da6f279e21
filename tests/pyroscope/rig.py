"""What the tests of this folder share: the Go programs, built; a receiver or a real server to talk to; TAP.

A test is `test_NAME BUILD`. It runs its checks against the receiver, which stands in for a Pyroscope server, and
again against the server at PYROSCOPE_URL when that is set.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
# The receiver is on the loopback, and a host that does not exist must not be asked for elsewhere.
os.environ["no_proxy"] = ",".join(filter(None, [os.environ.get("no_proxy"), "127.0.0.1", "localhost", ".invalid"]))
READY_SECONDS = 120
PROGRAMS = ["receiver", "assertions", "synthetic", "limits"]


class Tap:
    """Counts and prints; end() gives the exit status."""

    def __init__(self):
        self.count = self.failed = 0

    def check(self, good, name, details=""):
        self.count += 1
        self.failed += not good
        print(f"{'ok' if good else 'not ok'} {self.count} - {name}")
        if not good:
            for line in details.splitlines()[:40]:
                print("#", line)
        sys.stdout.flush()
        return good

    def skip(self, name, why):
        self.count += 1
        print(f"ok {self.count} - {name} # SKIP {why}")

    def take(self, command, least, name):
        """Runs a program that prints TAP and counts its lines as ours; fewer than `least`, or than its plan, are a failure."""
        done = subprocess.run(command, text=True, capture_output=True, timeout=600)
        seen = 0
        planned = re.search(r"^1\.\.(\d+)$", done.stdout, re.M)
        for line in done.stdout.splitlines():
            match = re.match(r"(not ok|ok) \d+ - (.*)", line)
            if match:
                seen += 1
                self.count += 1
                self.failed += match.group(1) == "not ok"
                print(f"{match.group(1)} {self.count} - {match.group(2)}")
            elif line.startswith("#"):
                print(line)
        if seen < least or not planned or seen != int(planned.group(1)) or done.stderr:
            self.check(False, f"{name}: all its assertions were made", f"{seen}, at least {least}, planned {planned and planned.group(1)}\n{done.stderr}")
        sys.stdout.flush()

    def end(self):
        print(f"1..{self.count}")
        return 1 if self.failed or not self.count else 0


def needed_go():
    with open(os.path.join(HERE, "go.mod"), encoding="utf-8") as file:
        return re.search(r"^go (\d+\.\d+)", file.read(), re.M).group(1)


def find_go():
    """The first go that is new enough, or None: those on the path, then where go.dev's archive is unpacked to."""
    least = tuple(int(n) for n in needed_go().split("."))
    for go in (os.environ.get("GO"), shutil.which("go"), "/usr/local/go/bin/go"):
        if not go or not os.access(go, os.X_OK):
            continue
        said = subprocess.run([go, "env", "GOVERSION"], text=True, capture_output=True, check=False,
                              cwd="/", env=dict(os.environ, GOTOOLCHAIN="local")).stdout
        match = re.match(r"go(\d+)\.(\d+)", said)
        if match and (int(match.group(1)), int(match.group(2))) >= least:
            return go
    return None


class Rig:
    """The programs under BUILD/pyroscope, a scratch folder, and the servers that were started."""

    def __init__(self, build, tap):
        self.build, self.tap = os.path.abspath(build), tap
        self.bin = os.path.join(self.build, "pyroscope")
        self.scratch = tempfile.mkdtemp(prefix="stallprof-pyroscope-")
        self.running = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for child in self.running:
            child.terminate()
            child.wait()
        shutil.rmtree(self.scratch, ignore_errors=True)

    def compile(self):
        """Builds the Go programs and push_file. False, and said aloud, when that can't be done."""
        go = find_go()
        if not go:
            return self.tap.check(
                False, f"Go {needed_go()} or newer is there",
                f"The delivery tests need it, for Pyroscope's API module does; Debian 12's golang-go is 1.19.\n"
                f"Unpack a newer one to /usr/local/go, put it on the path, or name it in GO.")
        os.makedirs(self.bin, exist_ok=True)
        # Another test may run them just now: each is replaced in one step.
        with tempfile.TemporaryDirectory(dir=self.bin) as fresh:
            if not self.compile_into(fresh, go):
                return False
            for name in os.listdir(fresh):
                os.replace(os.path.join(fresh, name), self.program(name))
        return True

    def compile_into(self, folder, go):
        done = subprocess.run([go, "build", "-o", folder + "/"] + ["./" + p for p in PROGRAMS], cwd=HERE, text=True,
                              capture_output=True, check=False)
        if not self.tap.check(done.returncode == 0, "the Go programs build", done.stderr):
            return False
        libraries = subprocess.run(["pkg-config", "--libs", "libcurl", "libprotobuf-c"], text=True,
                                   capture_output=True, check=False).stdout.split()
        done = subprocess.run([os.environ.get("CC", "cc"), "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-I" + ROOT,
                               "-o", os.path.join(folder, "push_file"), os.path.join(HERE, "push_file.c"),
                               os.path.join(self.build, "libprofiler.a"), os.path.join(self.build, "libpprof.a")] + libraries,
                              text=True, capture_output=True, check=False)
        return self.tap.check(done.returncode == 0, "push_file builds", done.stderr)

    def program(self, name):
        return os.path.join(self.bin, name)

    def path(self, name):
        return os.path.join(self.scratch, name)

    def receiver(self, *flags):
        """Starts one and returns its URL."""
        child = subprocess.Popen([self.program("receiver"), *flags], stdout=subprocess.PIPE, text=True)
        self.running.append(child)
        return child.stdout.readline().split()[-1]

    def servers(self):
        """(name, URL) of the receiver and, when there is one, of the real server."""
        yield "receiver", self.receiver()
        real = os.environ.get("PYROSCOPE_URL")
        if real and self.tap.check(await_ready(real), f"Pyroscope: {real} is ready within {READY_SECONDS} s"):
            yield "Pyroscope", real

    def push(self, url, file, labels, *flags):
        """Pushes a file by stallprof's client. Returns its exit status and what it said."""
        command = [self.program("push_file"), *flags, url, file, *labels]
        done = subprocess.run(command, text=True, capture_output=True, timeout=60, check=False)
        return done.returncode, done.stderr


def await_ready(url):
    """A server that has just been started takes a minute, and loses what it is given before."""
    until = time.monotonic() + READY_SECONDS
    while time.monotonic() < until:
        try:
            with urllib.request.urlopen(url + "/ready", timeout=5) as answer:
                return answer.status == 200
        except OSError:
            time.sleep(1)
    return False


def run(command):
    """A program that must not fail."""
    subprocess.run(command, check=True)


def unique(name):
    """A service_name that no other run has."""
    return f"{name}-{os.getpid()}-{time.time_ns():x}"
