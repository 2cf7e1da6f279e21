"""Waits that are cut by the end of a window, by Ctrl-C, or by the beginning of the recording: what the cases test_cut_* share.

The ledgers of all windows, summed, must say of each wait what its whole is: the cause and the device, within 1 %. What nobody can
know (the end of a wait that outlasts the recording; of a wait that was there before, its begin) may be `undecided`, never plain
`blocked`, and no more of it than those waits."""
import os
import signal
import time

from attack import check_clocks, describe, near, off, profiled, spans_of, total


def windows_of(case, name):
    return case.bench.top(*case.bench.windows(name))


def stated(top, tag, cause, device):
    return total(top, tag, state="stall", cause=cause, device=device)


def undecided(top, tag):
    return sum(row["ns"] for row in profiled.rows(top, tag=tag) if row["cause"] == "undecided")


def plain(top, tag):
    """Slept and called nothing: neither a stall nor undecided."""
    return sum(row["ns"] for row in profiled.rows(top, tag=tag, state="blocked") if row["cause"] != "undecided")


def whole(case, name, command, window, cause, device, slept_in, popen=None):
    """A run from its begin to its end, with windows shorter than its waits. slept_in: the functions of the waits in question."""
    os.makedirs(case.path(name))
    with case.tracer() as tracer:
        argv = [case.stallprof, "record", "-q", "-w", str(window), "-o", case.path(name), "--", *command]
        done = profiled.finish(popen(argv) if popen else case.bench.start(argv))
    if not case.tap.check(done.code == 0, f"{name}: ran", f"exit {done.code}: {done.err[-1000:]}"):
        return
    sleeps, span, top = tracer.sleeps, spans_of(profiled.json_lines(done.out))[0], windows_of(case, name)
    tag, begin, end = span["tag"], span["begin_ns"], span["end_ns"]
    slept = sleeps.ns(span["tid"], sleeps.within(*slept_in), begin, end)
    found = stated(top, tag, cause, device)
    report = [f"windows of {window} s: {len(case.bench.windows(name))}", *describe(top, tag), *sleeps.table(span["tid"], begin, end)]
    case.tap.check(near(found, slept, 0.01), f"{name}: the waits are {cause} on {device}, cut or not",
                   f"ledger {found / 1e9:.6f} s, tracer {slept / 1e9:.6f} s ({off(found, slept)})", *report)
    asleep = sleeps.ns(span["tid"], begin=begin, end=end)
    ledger = total(top, tag, state={"stall", "blocked"})
    case.tap.check(near(ledger, asleep, 0.005, 2e6), f"{name}: nothing is lost or counted twice",
                   f"slept by the ledger {ledger / 1e9:.6f} s, by the tracer {asleep / 1e9:.6f} s ({off(ledger, asleep)})", *report)
    check_clocks(case, top, span, name)
    case.tap.check(undecided(top, tag) <= 0.002 * slept, f"{name}: in the end all is decided", f"{undecided(top, tag) / 1e9:.6f} s", *report)


def ends(case, name, command, seconds, cause, device, slept_in, popen=None):
    """Recording begins in mid-wait and is ended by Ctrl-C in mid-wait, `seconds` after the profiler has attached."""
    os.makedirs(case.path(name))
    with case.tracer() as tracer:
        work = popen(command) if popen else case.bench.start(command)
        time.sleep(1.2)
        recorder = case.bench.start([case.stallprof, "record", "-q", "-w", "1", "-o", case.path(name), "-p", str(work.pid)])
        profiled.wait_until(lambda: profiled.listens(recorder.pid))
        time.sleep(seconds)
        done = profiled.finish(recorder, signal.SIGINT)
        work.terminate()
        profiled.finish(work)
    if not case.tap.check(done.code == 0, f"{name}: record ends with 0 at Ctrl-C", f"exit {done.code}: {done.err[-1000:]}"):
        return
    sleeps, top = tracer.sleeps, windows_of(case, name)
    offset = time.clock_gettime_ns(time.CLOCK_REALTIME) - time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    begin, end = top["stamp"]["first_ns"] - offset, top["stamp"]["last_ns"] - offset
    tag = next((row["tag"] for row in top["ledger"] if row["process"] == work.pid), "?")
    mine = sleeps.of(work.pid, begin, end)
    wanted = sleeps.within(*slept_in)
    slept = sum(ns for sleep, ns in mine if wanted(sleep))
    cut = sum(ns for sleep, ns in mine if wanted(sleep) and not begin <= sleep.out <= sleep.wake <= end)
    # A wait that goes on when the tracer ends is in no record of it: what lies between the last known sleep and the end.
    found, unsure, blocked = stated(top, tag, cause, device), undecided(top, tag), plain(top, tag)
    report = [f"recorded {(end - begin) / 1e9:.3f} s, cut waits {cut / 1e9:.3f} s of them", *describe(top, tag), *sleeps.table(work.pid, begin, end)]
    case.tap.check(slept > 0.5 * seconds * 1e9, f"{name}: premise: it waits most of the time", *report)
    case.tap.check(near(found + unsure, slept, 0.01), f"{name}: every wait is {cause} on {device}, or undecided",
                   f"ledger {found / 1e9:.6f} + {unsure / 1e9:.6f} s undecided, tracer {slept / 1e9:.6f} s "
                   f"({off(found + unsure, slept)})", *report)
    case.tap.check(unsure <= cut * 1.01, f"{name}: only cut waits are undecided", f"undecided {unsure / 1e9:.6f} s, cut {cut / 1e9:.6f} s", *report)
    case.tap.check(blocked <= 0.005 * slept, f"{name}: none of it is plain blocked", f"{blocked / 1e9:.6f} s", *report)
