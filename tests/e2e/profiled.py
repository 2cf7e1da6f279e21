"""Runs of stallprof for the end-to-end tests: the command, what it said, the profile it left, read back by three readers."""
import collections
import contextlib
import glob
import gzip
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TIMEOUT = 300  # seconds, which only a program that hangs takes
GRACE_S = 0.02  # as long as a grace period of the kernel lasts where nobody is busy
GRACE_PERIOD = re.compile(r"synchronize_s?rcu|rcu_barrier|wait_rcu_gp|rcu_tasks")  # the functions that wait for one

Done = collections.namedtuple("Done", "code out err")


def run(argv, **options):
    """A Done; a command that was killed by signal N has the code -N."""
    done = subprocess.run([str(word) for word in argv], stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT,
                          **options)
    return Done(done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"))


def finish(process, stop=None):
    """Waits for a Popen made by Bench.start, after sending it a signal. A Done."""
    if stop and process.poll() is None:
        process.send_signal(stop)
    try:
        out, err = process.communicate(timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        err += f"\n(killed: it ran past {TIMEOUT} s)".encode()
    return Done(process.returncode, out.decode(errors="replace"), err.decode(errors="replace"))


def clocks(pid):
    """(ns that the process has had a CPU, ns that it has waited for one), as the scheduler counts them; (0, 0) when it has gone."""
    try:
        with open(f"/proc/{pid}/schedstat") as file:
            cpu, waited, _ = map(int, file.read().split())
            return cpu, waited
    except (OSError, ValueError):
        return 0, 0


def queued(pid):
    """Seconds that the process has waited for a CPU; 0 when it has gone."""
    return clocks(pid)[1] / 1e9


def kept_waiting(pids, threads):
    """{who: ns so far} that the hypervisor, or a CPU, kept the threads of these processes waiting."""
    found = {"hypervisor": stolen_ns()}
    for pid in pids:
        for path in glob.glob(f"/proc/{pid}/task/{pid if threads == 'main' else '*'}/schedstat"):
            with contextlib.suppress(OSError, ValueError), open(path) as file:
                found[path] = int(file.read().split()[1])
    return found


def kernel_places(pids):
    """The kernel's functions in which threads of these processes sleep, innermost first, a tuple for each thread."""
    found = set()
    for pid in pids:
        for path in glob.glob(f"/proc/{pid}/task/*/stack"):
            with contextlib.suppress(OSError), open(path) as file:
                found.add(tuple(line.split()[1].split("+")[0] for line in file))
    return found


def seconds_until(true, *pids, limit=30, threads="all"):
    """Seconds to the last look at which it was not `true()`, less those in which a thread of the processes (or their main threads only) waited
    for a CPU, or for a grace period of the kernel that lasted longer than GRACE_S: that waits for every CPU. The limit when it never comes. A
    time above half a second is told with the places at which it went by."""
    began = looked = time.monotonic()
    last, off, grace, places = kept_waiting(pids, threads), 0, 0, collections.Counter()
    while looked - began < limit and not true():
        time.sleep(0.01)
        now, at, sleep = kept_waiting(pids, threads), time.monotonic(), kernel_places(pids)
        longest = max((now[who] - last[who] for who in now.keys() & last.keys()), default=0) / 1e9
        grace = grace + at - looked if any(GRACE_PERIOD.search(" ".join(place)) for place in sleep) else 0
        lost = at - looked if grace > GRACE_S else min(at - looked, longest)
        places.update({place[:4]: at - looked - lost for place in sleep})
        off, last, looked = off + lost, now, at
    took = limit if looked - began >= limit else looked - began - off
    if took > 0.5:
        print(f"# {took:.2f} s of {looked - began:.2f}, in the kernel at", {" < ".join(place): round(s, 2) for place, s in places.most_common(6)})
    return took


def complaints(done):
    """The agent's errors and warnings, without what it says anyway, without what this kernel lacks, and without requests whose ends the
    host may have hidden (docs/ARCHITECTURE.md, "A peculiarity of the development host"): the more, the more its disks do. Tests of
    requests compare them with the kernel's own counts."""

    def is_expected(line):
        return line.endswith(("(see stallprof doctor)", "requests_unseen)"))

    return [line for line in done.err.splitlines() if (not line.startswith("stallprof agent: ") or re.search(r"(error|warning): ", line))
            and not is_expected(line)]


def wait_until(true, seconds=30, every=0.05):
    """The first true value of `true()`, or its last one after so many seconds."""
    until = time.monotonic() + seconds
    while True:
        value = true()
        if value or time.monotonic() > until:
            return value
        time.sleep(every)


def stolen_ns():
    """What the hypervisor has taken from all CPUs since boot (/proc/stat, in ticks)."""
    with open("/proc/stat") as file:
        return int(file.readline().split()[8]) * (1000000000 // os.sysconf("SC_CLK_TCK"))


MAPPING = re.compile(r"^(\d+): 0x(\w+)/0x(\w+)/0x\w+ ?(\S*)", re.M)
LOCATION = re.compile(r"^ *\d+: 0x(\w+) M=(\d+) (.*)", re.M)


def outside(raw):
    """Locations whose address is not in their mapping, of what `pprof -raw` prints; without those of which nothing is known."""
    mappings = {number: (int(start, 16), int(limit, 16), file) for number, start, limit, file in MAPPING.findall(raw)}
    found = [(int(address, 16), *mappings[number], what) for address, number, what in LOCATION.findall(raw)]
    return [f"{address:#x} of {file} [{start:#x}, {limit:#x}): {what}" for address, start, limit, file, what in found
            if address and not start <= address < limit and not what.startswith("[no symbols")]


def unreadable(path):
    """Why `go tool pprof -raw` or `protoc --decode` can't read the profile; "" when both can."""
    if not os.path.exists(path):
        return f"{path}: there is no such file"
    raw = run(["go", "tool", "pprof", "-raw", path])
    if raw.code or "Samples:" not in raw.out:
        return f"go tool pprof -raw {path}: exit {raw.code}: {raw.err}"
    if outside(raw.out):
        return f"{path}: addresses outside of their mappings: {outside(raw.out)[:10]}"
    with gzip.open(path) as file:
        body = file.read()
    decoded = subprocess.run(["protoc", "--decode=perftools.profiles.Profile", f"-I{ROOT}", f"{ROOT}/pprof/profile.proto"],
                             input=body, capture_output=True, timeout=TIMEOUT)
    if decoded.returncode or b"sample_type" not in decoded.stdout:
        return f"protoc --decode {path}: exit {decoded.returncode}: {decoded.stderr.decode()}"
    return ""


def rows(top, **match):
    """The ledger's rows in which each given field has that value; a set stands for any of its members."""
    def fits(row, key, value):
        return row[key] in value if isinstance(value, (set, frozenset)) else row[key] == value
    return [row for row in top["ledger"] if all(fits(row, key, value) for key, value in match.items())]


def ns(top, **match):
    return sum(row["ns"] for row in rows(top, **match))


def profile_differences(top):
    """[(cause, device, ledger ns, profile ns)] where the samples' delays do not sum to the ledger's rows."""
    ledger, profile = collections.Counter(), collections.Counter()
    for row in rows(top, state="stall"):
        ledger[row["cause"], row["device"]] += row["ns"]
    for stack in top["stacks"]:
        profile[stack["stall"], stack["device"]] += stack["delay_ns"]
    return [(*key, ledger[key], profile[key]) for key in sorted(ledger.keys() | profile.keys()) if ledger[key] != profile[key]]


def json_lines(text):
    """What a workload printed: its lines that are JSON."""
    found = []
    for line in text.splitlines():
        with contextlib.suppress(ValueError):
            found.append(json.loads(line))
    return found


class Bench:
    """A folder for one test program, and the programs of a build. A context manager, which removes the folder. It is on the disk, as what
    workloads write there must reach it, or `below` another folder."""

    def __init__(self, build, below="/var/tmp"):
        self.build, self.below = os.path.abspath(build), below
        self.stallprof = f"{self.build}/stallprof"
        self.sanitized = b"__asan_init" in run(["nm", "-D", self.stallprof]).out.encode()

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="stallprof-test-", dir=self.below)
        os.chmod(self.folder, 0o755)  # readable by all, for runs without root
        self.started = []
        return self

    def __exit__(self, *_):
        for process in self.started:
            if process.poll() is None:
                process.kill()
                process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def workload(self, name):
        return f"{self.build}/workload/{name}"

    def file(self, name, content="", mode=0o644):
        with open(self.path(name), "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
        os.chmod(self.path(name), mode)
        return self.path(name)

    def start(self, argv, **options):
        process = subprocess.Popen([str(word) for word in argv], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, **options)
        self.started.append(process)
        return process

    def agent(self, name="agent", **settings):
        """An agent that writes into the folder `name`, started and ready. Further lines of its configuration as text."""
        os.makedirs(self.path(name), exist_ok=True)
        text = f"output:\n  directory: {self.path(name)}\n" + "".join(f"{key}:\n{value}\n" for key, value in settings.items())
        process = self.start([self.stallprof, "agent", "-c", self.file(f"{name}.yaml", text)])
        wait_until(lambda: process.poll() is not None or listens(process.pid))
        return process

    def windows(self, name="agent"):
        return sorted(glob.glob(self.path(name) + "/*.pb.gz"))

    def top(self, *paths):
        done = run([self.stallprof, "top", *paths, "-n", "0", "--json"])
        if done.code:
            raise RuntimeError(f"stallprof top: exit {done.code}: {done.err}")
        return json.loads(done.out)


@contextlib.contextmanager
def disk(bench):
    """A file system of its own, which can be frozen: whoever writes to it then hangs in the kernel. Its folder."""
    image, folder = bench.path("image"), bench.path("mounted")
    with open(image, "wb") as file:
        file.truncate(64 << 20)
    os.makedirs(folder, exist_ok=True)
    for argv in (["mkfs.ext4", "-q", "-F", image], ["mount", "-o", "loop", image, folder]):
        subprocess.run(argv, check=True)
    try:
        yield folder
    finally:
        run(["fsfreeze", "-u", folder])
        wait_until(lambda: run(["umount", folder]).code == 0, 20, every=0.2)


def listens(pid):
    """Whether a profiler has set up its programs: it waits in its loop then, for several files. While it starts it may wait for one,
    whether a mount answers."""
    with contextlib.suppress(OSError):
        with open(f"/proc/{pid}/syscall") as file:
            number, *arguments = file.read().split()
            return number in ("7", "271") and int(arguments[1], 16) > 1  # poll, ppoll
    return False


def semaphores(path):
    """Of a program's probes that tell of changes of tags: a profiler listens to one of them."""
    notes = run(["readelf", "-n", path]).out
    return {int(at, 16) for at in re.findall(r"Name: (?:change|log)\n.*Semaphore: (0x[0-9a-f]+)", notes)}


def listeners(pid, path, semaphores):
    """How many listen to the process's changes of tags; 0 while it does not run the program yet."""
    with open(f"/proc/{pid}/maps") as file:
        start = next((int(line.split("-")[0], 16) for line in file if path in line), None)
    if start is None:
        return 0
    with open(f"/proc/{pid}/mem", "rb") as memory:
        return sum(int.from_bytes(os.pread(memory.fileno(), 2, start + at), sys.byteorder) for at in semaphores)


def voluntary_switches(pid):
    """How often the process's threads have slept."""
    total = 0
    for path in glob.glob(f"/proc/{pid}/task/*/status"):
        with open(path) as file:
            total += int(re.search(r"^voluntary_ctxt_switches:\s*(\d+)", file.read(), re.M)[1])
    return total


def hooks(pid):
    """The names of the tracepoints to which a profiler's programs are attached now."""
    found = set()
    for path in glob.glob(f"/proc/{pid}/fdinfo/*"):
        with contextlib.suppress(OSError), open(path) as file:
            found.update(line.split()[1] for line in file if line.startswith("tp_name:"))
    return found


def is_hot(pid):
    """Whether the programs that cost something are attached."""
    return "sched_switch" in hooks(pid)


def sound(tap, bench, name, path):
    """Checks that a profile is one: both readers take it, and its samples sum to its ledger. Its top, or None."""
    why = unreadable(path)
    if why:
        tap.check(False, f"{name}: the profile is read by pprof and protoc", why)
        return None
    top = bench.top(path)
    differ = profile_differences(top)
    tap.check(not differ, f"{name}: the profile is read by pprof and protoc, and sums to its ledger",
              *(f"{key}: ledger {a}, profile {b}" for *key, a, b in differ[:10]))
    return top


def interrupt(process):
    return finish(process, signal.SIGINT)


