"""What the cases in this folder share: workloads compiled when they are wanted, the independent tracer of sleeps, file systems on
slow devices, and the comparison of a profile with what the tracer saw.

A case is judged by clocks that are not stallprof's: the tracer's (sleeps.bpf.c) and the scheduler's own counts in
/proc/PID/task/TID/schedstat, which the workloads read (attack.h). The cases may be run by hand, with the build of another tree:
    tests/e2e/attack/test_NAME BUILD
With ATTACK_LONG=1 they are as long as the attack was that found what they hold; ATTACK_KEEP=1 keeps the tracer's log.
"""
import bisect
import collections
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import profiled  # noqa: E402
import sanitizers  # noqa: E402
from tap import Tap  # noqa: E402

IOWAIT, UNINT, WAKE_LOST, IN_LOST = 1, 2, 4, 8
# Of a kernel stack: what every sleep has on top, which tells nothing of why.
PLUMBING = {"__schedule", "schedule", "io_schedule", "schedule_timeout", "io_schedule_timeout", "schedule_hrtimeout_range",
            "schedule_hrtimeout_range_clock", "schedule_preempt_disabled", "schedule_idle", "preempt_schedule_irq",
            "__cond_resched", "bit_wait_io", "bit_wait", "__wait_on_bit", "out_of_line_wait_on_bit", "wait_for_completion",
            "__wait_for_common", "wait_for_completion_io", "do_nanosleep", "schedule_timeout_uninterruptible"}
# The tracer's own frames; its programs have no symbol any more when the stacks are read.
PROGRAM_FRAMES = ("bpf_", "__bpf", "__traceiter", "_einittext", "__SCT__tp_func")


def size(short, whole):
    """How much a case does: `short` by default, `whole` with ATTACK_LONG=1."""
    return whole if os.environ.get("ATTACK_LONG") == "1" else short


class Allowed(Exception):
    """The case can't run here, for the reason given."""


# --- programs ------------------------------------------------------------------------------------------------------------------
def include_root(build):
    """The tree of which `build` is the build folder, for stalltag's header; ours if it can't be told."""
    tree = os.path.dirname(os.path.abspath(build))
    return tree if os.path.exists(f"{tree}/stalltag/stalltag.h") else profiled.ROOT


def stale(target, *sources):
    return not os.path.exists(target) or any(os.path.getmtime(s) > os.path.getmtime(target) for s in sources)


def compiled(build, name):
    """BUILD/attack/NAME, made of NAME.c and the workloads' clocks."""
    folder, root = os.path.abspath(f"{build}/attack"), include_root(build)
    os.makedirs(folder, exist_ok=True)
    target, library = f"{folder}/{name}", os.path.abspath(f"{build}/libstalltag.a")
    sources = [f"{HERE}/{name}.c", f"{HERE}/attack.c", f"{root}/tests/e2e/workload/clocks.c"]
    if stale(target, *sources, f"{HERE}/attack.h", library):
        partial = f"{target}.{os.getpid()}"
        done = subprocess.run(["gcc", "-std=gnu11", "-D_GNU_SOURCE", "-O2", "-g", "-Wall", "-Wextra", "-Werror", f"-I{root}",
                               f"-I{HERE}", *sanitizers.flags(build), "-o", partial, *sources, library, "-luring", "-lpthread", "-ldl", "-lutil", "-lm"],
                              capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{name}.c: {done.stderr}")
        os.replace(partial, target)
    return target


def bpf_tool(build, name):
    """BUILD/attack/NAME, made of NAME.bpf.c and NAME.c."""
    folder = os.path.abspath(f"{build}/attack")
    os.makedirs(folder, exist_ok=True)
    target, sources = f"{folder}/{name}", [f"{HERE}/{name}.bpf.c", f"{HERE}/{name}.c", f"{HERE}/sleeps.h", f"{HERE}/bpf_types.h"]
    if not stale(target, *sources):
        return target
    with tempfile.TemporaryDirectory(dir=folder) as made:
        machine = subprocess.check_output(["gcc", "-print-multiarch"], text=True).strip()
        bpftool = "/usr/sbin/bpftool" if os.path.exists("/usr/sbin/bpftool") else "bpftool"
        subprocess.run(["clang", "-target", "bpf", "-D__TARGET_ARCH_x86", "-mcpu=v3", "-O2", "-g", "-Wall", "-Werror", f"-I{HERE}",
                        "-idirafter", f"/usr/include/{machine}", "-c", sources[0], "-o", f"{made}/{name}.bpf.o"], check=True)
        with open(f"{made}/{name}.skel.h", "w") as file:
            subprocess.run([bpftool, "gen", "skeleton", f"{made}/{name}.bpf.o", "name", f"{name}_bpf"], stdout=file, check=True)
        subprocess.run(["gcc", "-O2", "-g", "-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE", f"-I{made}", f"-I{HERE}", sources[1], "-o",
                        f"{made}/{name}", "-lbpf"], check=True)
        os.replace(f"{made}/{name}", target)
    return target


@contextlib.contextmanager
def beside(*command):
    """Runs the command meanwhile."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        yield
        if process.poll() is not None:
            raise RuntimeError(f"{command}: it has ended by itself, with {process.returncode}")
    finally:
        process.terminate()
        process.wait()


# --- the tracer ------------------------------------------------------------------------------------------------------------------
Sleep = collections.namedtuple("Sleep", "tid tgid out waking wake came flags syscall stack waker")


class KernelNames:
    def __init__(self):
        rows = []
        with open("/proc/kallsyms") as file:
            for line in file:
                address, kind, name = line.split()[:3]
                if kind in "tTwW":
                    rows.append((int(address, 16), name))
        rows.sort()
        self.addresses, self.names = [row[0] for row in rows], [row[1] for row in rows]

    def of(self, address):
        at = bisect.bisect_right(self.addresses, address) - 1
        return self.names[at].split(".")[0] if at >= 0 else "?"


class Sleeps:
    """What the tracer saw. Times are CLOCK_MONOTONIC, ns."""

    def __init__(self, path):
        self.all, self.totals, self.lost, raw = [], {}, 0, {}
        self.request_ends = collections.defaultdict(list)  # by process
        with open(path) as file:
            for line in file:
                word = line.split()
                if word[0] == "s":
                    sleep = Sleep(*(int(w) for w in word[1:]))
                    if sleep.tid:
                        self.all.append(sleep)
                    else:
                        self.request_ends[sleep.tgid].append(sleep.wake)
                elif word[0] == "k":
                    raw[int(word[1])] = [int(w, 16) for w in word[2:]]
                elif word[0] == "t":
                    self.totals[int(word[1])] = dict(zip(("tgid", "oncpu", "runq", "slept", "sleeps", "switches"),
                                                         (int(w) for w in word[2:8])), comm=" ".join(word[8:]))
                elif word[0] == "l":
                    self.lost = int(word[1])
        names = KernelNames()
        self.stacks = {key: [name for name in map(names.of, stack) if not name.startswith(PROGRAM_FRAMES)]
                       for key, stack in raw.items()}

    def stack(self, sleep):
        return self.stacks.get(sleep.stack, [])

    def function(self, sleep):
        """The innermost kernel function that says something."""
        return next((name for name in self.stack(sleep) if name not in PLUMBING), "?")

    def of(self, tids, begin=0, end=1 << 63):
        """[(sleep, ns of it between begin and end)] of these threads."""
        tids = {tids} if isinstance(tids, int) else set(tids)
        found = []
        for sleep in self.all:
            ns = min(sleep.wake, end) - max(sleep.out, begin)
            if sleep.tid in tids and ns > 0:
                found.append((sleep, ns))
        return found

    def ns(self, tids, where=lambda sleep: True, begin=0, end=1 << 63):
        return sum(ns for sleep, ns in self.of(tids, begin, end) if where(sleep))

    def slept(self, span):
        """(low, high): ns that the span's thread slept, by the tracer's hooks and by the scheduler's clocks. A sleep ends between the
        hooks on its waking and its wake-up, which stolen time may part by milliseconds; to the scheduler's clocks time that was stolen
        from a CPU is neither on-CPU nor run queue."""
        begin, end = span["begin_ns"], span["end_ns"]
        until_wakeup = self.ns(span["tid"], begin=begin, end=end)
        waking = sum(sleep.wake - max(sleep.waking, begin) for sleep, _ in self.of(span["tid"], begin, end) if sleep.wake <= end)
        bounds = sorted((until_wakeup - waking, until_wakeup, asleep(span)[1]))
        return bounds[0], bounds[-1]

    def within(self, *functions):
        """A test for sleeps with one of these functions anywhere on their stack."""
        wanted = set(functions)
        return lambda sleep: bool(wanted.intersection(self.stack(sleep)))

    def table(self, tids, begin=0, end=1 << 63):
        """Lines for a report: how long these threads slept, by iowait, system call and function."""
        sums = collections.defaultdict(lambda: [0, 0])
        for sleep, ns in self.of(tids, begin, end):
            row = sums[sleep.flags & 7, sleep.syscall, self.function(sleep)]
            row[0] += ns
            row[1] += 1
        return [f"tracer: {ns / 1e9:9.6f} s in {count} sleeps: syscall {nr} {function}{' iowait' * bool(flags & IOWAIT)}"
                f"{' wake-not-seen' * bool(flags & WAKE_LOST)}"
                for (flags, nr, function), (ns, count) in sorted(sums.items(), key=lambda row: -row[1][0])[:12]]


class Tracer:
    """The tracer of this process and of all that it starts. A context manager; `sleeps` holds what it saw afterwards."""

    def __init__(self, build, folder):
        self.program, self.path, self.sleeps = bpf_tool(build, "sleeps"), f"{folder}/sleeps.{time.monotonic_ns()}", None

    def __enter__(self):
        self.process = subprocess.Popen([self.program, str(os.getpid()), self.path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        if self.process.stdout.readline() != b"ready\n":
            raise RuntimeError("sleeps did not start")
        return self

    def __exit__(self, kind, *_):
        self.process.communicate()
        if kind is None and self.process.returncode == 0:
            self.sleeps = Sleeps(self.path)
        elif kind is None:
            raise RuntimeError(f"sleeps ended with {self.process.returncode}")
        if not os.environ.get("ATTACK_KEEP"):
            with contextlib.suppress(OSError):
                os.unlink(self.path)


# --- devices ---------------------------------------------------------------------------------------------------------------------
def sh(*argv, check=True, **options):
    done = subprocess.run([str(word) for word in argv], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, **options)
    if check and done.returncode:
        raise RuntimeError(f"{' '.join(map(str, argv))}: exit {done.returncode}: {done.stderr}")
    return done


def loop_device(image):
    """A context manager: the path of a loop device over the file."""
    return Loop(image)


class Loop:
    def __init__(self, image, *options):
        self.image, self.options = image, options

    def __enter__(self):
        done = sh("losetup", "-f", "--show", *self.options, self.image, check=False)
        if done.returncode:
            raise Allowed(f"no loop device: {done.stderr.strip()}")
        self.path = done.stdout.strip()
        self.name = os.path.basename(self.path)
        return self

    def __exit__(self, *_):
        for _ in range(50):
            if sh("losetup", "-d", self.path, check=False).returncode == 0:
                return
            time.sleep(0.1)


class Mounted:
    """A file system of `kind` on a device, mounted. A context manager; `folder` is where."""

    def __init__(self, kind, device, folder, make=True, options=""):
        with open("/proc/filesystems") as file:
            if kind not in file.read().split():
                raise Allowed(f"this kernel has no {kind}")
        self.kind, self.device, self.folder, self.make, self.options = kind, device, folder, make, options

    def __enter__(self):
        os.makedirs(self.folder, exist_ok=True)
        force = {"ext4": "-F", "xfs": "-f", "btrfs": "-f"}[self.kind]
        if self.make:
            sh(f"mkfs.{self.kind}", "-q", force, self.device)
        sh("mount", "-t", self.kind, *(["-o", self.options] if self.options else []), self.device, self.folder)
        return self

    def __exit__(self, *_):
        for _ in range(50):
            if sh("umount", self.folder, check=False).returncode == 0:
                return
            time.sleep(0.1)


class InMemory:
    """A tmpfs. A context manager; `folder` is where."""

    def __init__(self, folder):
        self.folder = folder

    def __enter__(self):
        os.mkdir(self.folder)
        sh("mount", "-t", "tmpfs", "none", self.folder)
        return self

    def __exit__(self, *_):
        for _ in range(50):  # a loop device lets go of its file in its own time
            if sh("umount", self.folder, check=False).returncode == 0:
                return
            time.sleep(0.1)


class SlowFs:
    """slowfs: a FUSE file system with one file, `disk`, each read and write of which takes as long as is said. A loop device
    over it is a disk as slow as one likes."""

    def __init__(self, build, folder, megabytes, read_ms=0, write_ms=0, cached=False):
        if not os.path.exists("/dev/fuse"):
            raise Allowed("there is no /dev/fuse")
        self.folder = folder
        self.argv = [compiled(build, "slowfs"), folder, str(megabytes), str(read_ms), str(write_ms), str(int(cached))]

    def __enter__(self):
        os.makedirs(self.folder, exist_ok=True)
        self.process = subprocess.Popen(self.argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        if self.process.stdout.readline() != b"ready\n":
            raise Allowed("FUSE cannot be mounted here")
        self.disk = f"{self.folder}/disk"
        return self

    def slow(self, on=True):
        """From now on (or no longer) the delays hold; at first they don't."""
        self.say(b"1\n" if on else b"0\n")

    def hold(self):
        """From now on reads wait until something else is said."""
        self.say(b"4\n")

    def fail(self):
        """From now on reads and writes fail."""
        self.say(b"2\n")

    def say(self, line):
        self.process.stdin.write(line)
        self.process.stdin.flush()
        self.process.stdout.readline()

    def __exit__(self, *_):
        with contextlib.suppress(OSError):
            self.slow(False)
        for _ in range(50):
            if sh("umount", self.folder, check=False).returncode == 0:
                break
            time.sleep(0.1)
        self.process.stdin.close()
        self.process.wait(timeout=10)


# --- a case ----------------------------------------------------------------------------------------------------------------------
class Case:
    """One case: its folder, the build, TAP."""

    def __init__(self, tap, bench):
        self.tap, self.bench, self.build, self.folder = tap, bench, bench.build, bench.folder
        self.stallprof = bench.stallprof

    def path(self, name):
        return self.bench.path(name)

    def program(self, name):
        return compiled(self.build, name)

    def tracer(self):
        return Tracer(self.build, self.folder)

    def big_file(self, name, megabytes, folder=None):
        """A file of data that lies on the disk, whole."""
        path = f"{folder or self.folder}/{name}"
        with open(path, "wb") as file:
            for _ in range(megabytes):
                file.write(os.urandom(1 << 20))
            file.flush()
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        return path

    def record(self, *command, options=(), output="profile.pb.gz", **how):
        """Runs `stallprof record OPTIONS -- COMMAND`. (top, [the JSON lines the command printed])."""
        target = self.path(output)
        done = profiled.run([self.stallprof, "record", "-q", "-o", target, *options, "--", *command], **how)
        if done.code:
            self.tap.check(False, "record and the workload exit with 0", f"exit {done.code}", done.err[-2000:])
            raise RuntimeError("no profile")
        if not os.path.exists(target):
            raise RuntimeError(f"no profile: {done.err[-2000:]}")
        paths = self.bench.windows(output) if os.path.isdir(target) else [target]
        return self.bench.top(*paths), profiled.json_lines(done.out)


def by_cause(top, tag):
    """{(state, cause, device): ns} of a tag's rows; what is no stall too."""
    sums = collections.Counter()
    for row in top["ledger"]:
        if row["tag"] == tag:
            sums[row["state"], row["cause"], row["device"]] += row["ns"]
    return sums


def describe(top, *tags):
    lines = []
    for tag in tags:
        lines += [f"ledger: {tag}: {' '.join(filter(None, key))}: {ns / 1e9:.6f} s" for key, ns in sorted(by_cause(top, tag).items())]
    lost = {key: value for key, value in top["stamp"].get("counters", {}).items() if value}
    return [*lines, f"counters: {lost or 'none'}"]


def total(top, tag, **match):
    """ns of the tag's rows with these values of state, cause, device; of all without."""
    return profiled.ns(top, tag=tag, **match)


def cpu_in_stall(top, tag):
    """ns of on-CPU samples of a tag that count as inside a stall."""
    return sum(stack["cpu_ns"] for stack in top["stacks"] if stack["tag"] == tag and stack["stall"] not in ("", "none"))


def off(value, truth):
    """"+1.234 %" """
    return f"{100 * (value - truth) / truth:+.3f} %" if truth else f"{value} ns of 0"


def near(value, truth, part, floor_ns=0):
    return abs(value - truth) <= max(part * truth, floor_ns)


def off_by(value, bracket):
    """How far a value lies outside of (low, high), signed."""
    low, high = bracket
    return value - low if value < low else max(0, value - high)


def queued(span):
    """(low, high) ns on run queues. What was stolen while the thread ran is in the ledger's, and nowhere in schedstat."""
    return span["runqueue_ns"], span["runqueue_ns"] + span["steal_ns"]


def asleep(span):
    """(low, high) ns asleep, by the scheduler's own counts: what is neither on-CPU nor run queue nor stolen."""
    rest = span["end_ns"] - span["begin_ns"] - span["cpu_ns"] - span["runqueue_ns"]
    return max(0, rest - span["steal_ns"]), rest


def check_wall(case, top, spans, part=0.001):
    """The rows of each tag sum to its wall time: a span is what the workload printed of a tag (attack.h). Several spans of one
    tag add up."""
    inner, outer = collections.Counter(), collections.Counter()
    for span in spans:
        inner[span["tag"]] += span["end_ns"] - span["begin_ns"]
        outer[span["tag"]] += span["outer_end_ns"] - span["outer_begin_ns"]
    for tag in inner:
        wall = total(top, tag, state={"oncpu", "runqueue", "stall", "blocked", "unobserved"})
        case.tap.check(inner[tag] * (1 - part) <= wall <= outer[tag] * (1 + part), f"{tag}: the rows sum to the wall time",
                       f"ledger {wall / 1e9:.6f} s, wall {inner[tag] / 1e9:.6f} s ({off(wall, inner[tag])})", *describe(top, tag))


def check_clocks(case, top, span, name=""):
    """On-CPU and run queue are what the scheduler itself counted for the thread (schedstat), within 1 % and 3 ms."""
    tag, report = span["tag"], describe(top, span["tag"])
    for state, truth in (("oncpu", (span["cpu_ns"], span["cpu_ns"])), ("runqueue", queued(span))):
        found = total(top, tag, state=state)
        case.tap.check(abs(off_by(found, truth)) <= max(0.01 * truth[0], 3e6), f"{name or tag}: {state} is the scheduler's own count",
                       f"ledger {found / 1e9:.6f} s, schedstat {truth[0] / 1e9:.6f} s ({off(found, truth[0])})", *report)


def spans_of(lines, tag=None):
    return [line for line in lines if "tag" in line and tag in (None, line["tag"])]


def run_case(body, below="/var/tmp"):
    """body(case) with a folder, as Bench has it, TAP and the build of the command line; prints the plan. Allowed becomes a skip."""
    tap = Tap()
    name = os.path.basename(sys.argv[0])
    began = time.monotonic()
    try:
        with profiled.Bench(sys.argv[1] if len(sys.argv) > 1 else f"{profiled.ROOT}/build", below) as bench:
            body(Case(tap, bench))
    except Allowed as why:
        tap.skip(name, f"allowed: {why}")
    except (OSError, RuntimeError, ValueError, KeyError, IndexError, subprocess.SubprocessError) as error:
        tap.check(False, f"{name} ran to its end", f"{type(error).__name__}: {error}")
    tap.note(f"{name}: {time.monotonic() - began:.1f} s")
    tap.end()


__all__ = [name for name in dir() if not name.startswith("_")] + ["json"]
