"""Profiles of which it is known what `stallprof diff` has to find, and its runs, for the tests of diff."""
import atexit
import collections
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

import pprof_writer

STALLPROF = os.path.join(os.path.abspath(sys.argv[1]), "stallprof")
FOLDER = tempfile.mkdtemp(prefix="stallprof-diff-")
atexit.register(shutil.rmtree, FOLDER)
MS, SECOND = 10**6, 10**9
BEGIN = 1_700_000_000

IO, MAIN = (("io_schedule", "kernel/sched/core.c", 1),), (("main", "out.c", 9),)


def frame(function, line=42):
    return ((function, "out.c", line),)


def row(tag, state, ns, cause='""', device='""', pid=12, base=""):
    return (f"stallprof.ledger tag={tag} id={0:016x} pid={pid} start=5 class={tag.split('/')[0]}{base} comm=train state={state} "
            f"cause={cause} device={device} ns={int(ns)} count=4")


def stamp(p, begin_s, seconds, hooks=(("block_io", "attached", ""), ("nvme_reset", "attached", "")), losses=()):
    p.note("stallprof.format 2")
    p.note(f"stallprof.covered first_ns={begin_s * SECOND} last_ns={(begin_s + seconds) * SECOND} covered_ns={seconds * SECOND} windows=1")
    for cause, state, reason in hooks:
        p.note(f"stallprof.hook cause={cause} hook=tp_btf/{cause} state={state} reason=\"{reason}\"")
    for name, value in losses:
        p.note(f"stallprof.counter name={name} value={value}")


def window(begin_s, waits, seconds=1, below=None, **how):
    """waits: [(function, tag, stall, device, ns, count)] of one window; `below` is what all functions call."""
    p = pprof_writer.Profile()
    ledger = collections.Counter()
    for function, tag, stall, device, ns, count in waits:
        p.sample([IO, *([frame(below)] if below else []), frame(function), MAIN], [count, int(ns), 0], ai_tag=tag, stall=stall, device=device, pid=12)
        ledger[tag, stall, device] += ns
    for (tag, stall, device), ns in sorted(ledger.items()):
        p.note(row(tag, "blocked" if stall == "poll" else "stall", ns, stall, device or '""'))
    for tag in sorted({tag for tag, _, _ in ledger}):
        p.note(row(tag, "oncpu", 100 * MS))
        p.note(f"stallprof.requests device=vda class={tag} op=write requests=10 bytes={10 << 20} ns={MS}")
    stamp(p, begin_s, seconds, **how)
    return p


def steady(seed, windows=12, shard=20.0, index=10.0, spread=0.02, extra=()):
    """Windows of a loop that writes shards and an index, ms a second, with that much noise."""
    chance = random.Random(seed)
    found = []
    for w in range(windows):
        waits = [("write_shard", "save", "block_io", "vda", shard * MS * chance.gauss(1, spread), 20),
                 ("write_index", "save", "block_io", "vda", index * MS * chance.gauss(1, spread), 20)]
        found.append(waits + [wait for at, wait in extra if at == w])
    return found


def folder_of(name, windows, **how):
    path = os.path.join(FOLDER, name)
    os.makedirs(path)
    for i, waits in enumerate(windows):
        window(BEGIN + i, waits, **how).save(os.path.join(path, f"{i:03}.pb.gz"))
    return path


def sliced(name, windows):
    """The same as one file with time slices."""
    p = pprof_writer.Profile()
    total = collections.Counter()
    for i, waits in enumerate(windows):
        for function, tag, stall, device, ns, count in waits:
            p.sample([IO, frame(function), MAIN], [count, int(ns), 0], ai_tag=tag, stall=stall, device=device, pid=12, at=BEGIN + i)
            total[tag, stall, device] += int(ns)
    for (tag, stall, device), ns in sorted(total.items()):
        p.note(row(tag, "stall", ns, stall, device))
    stamp(p, BEGIN, len(windows))
    return p.save(os.path.join(FOLDER, name))


def run(*args, **how):
    return subprocess.run([STALLPROF, "diff", *args], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL, check=False, **how)


def diff(*args, status=0):
    done = run(*args, "--format", "json")
    if done.returncode != status:
        raise AssertionError(f"{args}: exit {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)


def rows(found):
    return {one["name"]: one for one in found["rows"]}


def refuse(status, expected, *args):
    done = run(*args)
    lines = done.stderr.splitlines()
    if done.returncode != status or not lines or expected not in lines[0] or (status == 64 and len(lines) != 1):
        raise AssertionError(f"{args}: exit {done.returncode}: {done.stderr}")


def near(a, b, part=0.001):
    return abs(a - b) <= part * max(abs(a), abs(b))


def run_tests(tap, names):
    """Runs what begins with test_ among the names of a module."""
    for name, test in list(names.items()):
        if not name.startswith("test_"):
            continue
        try:
            test()
            tap.check(True, name)
        except Exception as error:  # pylint: disable=broad-except
            tap.check(False, name, f"{type(error).__name__}: {error}")
    tap.end()
