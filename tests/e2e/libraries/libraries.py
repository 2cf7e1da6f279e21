"""What the tests of library calls share: programs of this folder compiled when they are wanted, recordings of them, and what the profile
says held against the callers' own clocks (call_clock.h)."""
import collections
import math
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
E2E = os.path.dirname(HERE)
ROOT = os.path.dirname(os.path.dirname(E2E))
sys.path[:0] = [E2E, f"{E2E}/attack"]
import attack  # noqa: E402
import exact  # noqa: E402
import profiled  # noqa: E402
import sanitizers  # noqa: E402

PART, WALL_PART = 0.03, 0.005
SAMPLES_HZ = 99
KERNEL = tuple(int(part) for part in os.uname().release.split("-")[0].split(".")[:2])


def build(build_folder, name, *flags, sources=(), library=None, compiler="gcc"):
    """BUILD/libraries/NAME of NAME.c and the clocks; or a shared library of that file name, of SOURCES alone."""
    target = os.path.abspath(f"{build_folder}/libraries/{library or name}")
    os.makedirs(os.path.dirname(target), exist_ok=True)
    tag_library = os.path.abspath(f"{build_folder}/libstalltag.a")
    parts = [f"{HERE}/{source}" for source in sources] if library else [
        f"{HERE}/{name}.c", f"{HERE}/call_clock.c", f"{E2E}/attack/attack.c", f"{E2E}/workload/clocks.c"]
    if not attack.stale(target, *parts, tag_library):
        return target
    # Few are easy to unwind: no frame pointers, and no call that ends a function becomes a jump.
    shape = ["-shared", "-fPIC", f"-Wl,-soname,{library}"] if library else ["-fomit-frame-pointer", "-fno-optimize-sibling-calls"]
    partial = f"{target}.{os.getpid()}"
    done = subprocess.run([compiler, "-std=gnu11", "-D_GNU_SOURCE", "-O2", "-g", "-Wall", "-Wextra", "-Werror", *shape, f"-I{ROOT}", f"-I{E2E}/attack",
                           "-o", partial, *parts, *([] if library else [*sanitizers.flags(build_folder), tag_library]), *flags, "-lpthread", "-ldl"], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{name}: {done.stderr}")
    os.replace(partial, target)
    return target


class Recording:
    """A profile of a command, and what the command printed."""

    def __init__(self, tap, bench, name, top, out):
        self.tap, self.bench, self.name, self.top = tap, bench, name, top
        self.lines = profiled.json_lines(out)
        self.tags = {line["tag"]: line for line in self.lines if "tag" in line}
        self.calls = {line["of"]: line for line in self.lines if "of" in line}

    def stalled(self, tag, cause):
        return profiled.ns(self.top, state="stall", tag=tag, cause=cause)

    def on_cpu(self, cause, tag=None):
        """Samples of the CPU clock; of all tags together, or of one."""
        return sum(stack["cpu_ns"] for stack in self.top["stacks"] if stack["stall"] == cause and tag in (None, stack["tag"]))

    def stacks(self, cause):
        return [stack for stack in self.top["stacks"] if stack["stall"] == cause]

    def frames(self, cause):
        """Each stack of the cause, as names from the leaf on."""
        return [[frame["function"] for frame in stack["frames"]] for stack in self.stacks(cause)]

    def report(self):
        rows = exact.sum_by(self.top["ledger"], "tag", "state", "cause")
        sampled = collections.Counter()
        for stack in self.top["stacks"]:
            sampled[f"{stack['tag']} {stack['stall']}"] += stack["cpu_ns"]
        return [f"{' '.join(filter(None, key))}: {ns / 1e9:.6f} s" for key, ns in sorted(rows.items())] + [
            f"{key}, sampled on CPUs: {ns / 1e9:.6f} s" for key, ns in sorted(sampled.items()) if ns] + [
            f"counters: { {key: value for key, value in self.top['stamp']['counters'].items() if value} }", *map(str, self.calls.values())]

    def slept(self, tag):
        """(low, high) ns that the calls slept. Since Linux 6.12 the kernel's count of the run queue may have some of it, too: where a thread's
        dequeuing was put off, and it was moved to another CPU meanwhile. That is rare: two calls are allowed."""
        call = self.calls[tag]
        least = call["call_ns"] - call["call_cpu_ns"] - call["call_runqueue_ns"]
        moved = min(call["call_runqueue_ns"], 2 * call["call_ns"] // max(1, call["calls"])) if KERNEL >= (6, 12) else 0
        return least, least + moved

    def check_asleep(self, tag, cause):
        """What the calls slept, and all that they slept."""
        told, (least, most) = self.stalled(tag, cause), self.slept(tag)
        off = exact.off_by(told, least, most)
        seen = f"told {told / 1e9:.6f} s, clock {least / 1e9:.6f} to {most / 1e9:.6f} s ({exact.percent(off, least)})"
        if self.tap.check(abs(off) <= PART * least, f"{self.name}: {tag}: what its calls slept is {cause}", seen, *self.report()):
            self.tap.note(seen)

    def check_on_cpu(self, tag, cause):
        """What the calls ran, by a clock that samples so often: where the thread waits for CPUs meanwhile, chance decides how many of the
        samples meet it on one. Those that the kernel did not take are said by the profile."""
        call = self.calls[tag]
        truth, told = call["call_cpu_ns"], self.on_cpu(cause, tag)
        part = truth / call["call_ns"]
        chance = 3 * math.sqrt(max(0, truth / 1e9 * SAMPLES_HZ * (1 - part))) * 1e9 / SAMPLES_HZ
        skipped = self.top["stamp"]["counters"]["samples_skipped_ns"]
        seen = f"told {told / 1e9:.6f} s, skipped {skipped / 1e9:.6f} s, clock {truth / 1e9:.6f} s ({exact.percent(told - truth, truth)})"
        bound = PART * truth + chance
        if self.tap.check(-bound - skipped <= told - truth <= bound, f"{self.name}: {tag}: what its calls ran is {cause} on a CPU", seen,
                          *self.report()):
            self.tap.note(seen)

    def check_none(self, cause):
        """Nothing was slept; a sample of the CPU clock or two may have met the calls themselves."""
        told = sum(row["ns"] for row in profiled.rows(self.top, state="stall", cause=cause))
        self.tap.check(told == 0 and self.on_cpu(cause) < 3e9 / SAMPLES_HZ, f"{self.name}: nothing is {cause}", *self.report())

    def check_ledger(self):
        """The rows of each tag sum to the time that its thread held it."""
        for name, span in self.tags.items():
            if name not in self.calls:
                continue
            wall = sum(row["ns"] for row in self.top["ledger"] if row["tag"] == name)
            low, high = span["end_ns"] - span["begin_ns"], span["outer_end_ns"] - span["outer_begin_ns"]
            off = exact.off_by(wall, low, high)
            self.tap.check(abs(off) <= WALL_PART * low, f"{self.name}: {name}: its rows sum to its wall time", exact.percent(off, low), *self.report())

    def check_stacks(self, cause, *names):
        """Each stack is whole, and has the functions one above the other. Not looked at: where a CPU sample met the function's first
        instruction, which the kernel has moved to a place of its own; and a hundredth of the time, as the end of a call whose return has no
        probe is seen when its place on the stack is used again."""
        stacks = [(frames, stack["delay_ns"] + stack["cpu_ns"]) for frames, stack in zip(self.frames(cause), self.stacks(cause))
                  if not any("[uprobes]" in frame for frame in frames)]
        bad = [(frames, ns) for frames, ns in stacks if not holds(frames, names)]
        part = sum(ns for _, ns in bad) / max(1, sum(ns for _, ns in stacks))
        self.tap.check(stacks and part <= 0.01, f"{self.name}: the stacks of {cause} are whole", f"{part:.2%} are not", *(bad[:3] or ["there is none"]))

    def check_hook(self, hook):
        states = {entry["hook"]: entry["state"] for entry in self.top["stamp"]["hooks"]}
        self.tap.check(states.get(hook) == "attached", f"{self.name}: {hook} is attached", states)


def holds(stack, names):
    """Whether the names are in the stack in that order."""
    at = iter(stack)
    return all(any(frame == name for frame in at) for name in names)


def record(tap, bench, name, *command, env=None, options=()):
    """A Recording, or None."""
    path = bench.path(f"{name}.pb.gz")
    done = profiled.run([bench.stallprof, "record", "-q", *options, "-o", path, "--", *command], env=dict(os.environ, **(env or {})))
    if not tap.check(done.code == 0, f"{name}: record and its command exit with 0", done):
        return None
    top = profiled.sound(tap, bench, name, path)
    return Recording(tap, bench, name, top, done.out) if top else None
