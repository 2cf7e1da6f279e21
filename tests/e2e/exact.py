#!/usr/bin/python3
"""Holds what stallprof says of the workload `truth` against what the workload clocked itself.

    exact.py TRUTH.json TOP.json [--part]      prints TAP; TOP.json is `stallprof top FILE -n 0 --json`

For each tag of the workload:
  wall     the ledger's rows sum to the tag's wall time within 0.1 %
  stalled  the stall rows sum to the stalled time within 1 %, counted from the bracket of two sums by the same kernel clocks: over
           the calls, where each read of the clocks adds its own error, and over the whole tag (all that was slept), where two do;
           less what was stolen from the CPUs meanwhile, and more by what the kernel may have counted wrongly as run queue (moved_queue_ns);
           of a part also less or more by what may lie on either side of its two ends (edge_ns)
  on-CPU   the oncpu row is the CPU clock within 1 %
  profile  delay of the stacks, by cause and device, equals the ledger's rows to the nanosecond
A profiler sees a tag change inside push or pop, so the right wall and CPU times lie anywhere between what was clocked outside
and inside of them (see workload/account.h); the tolerance is counted from that bracket. Below FLOOR of the wall time nothing
is asserted: 1 % of a thread that is on a CPU for 7 ms of 10 s would be less than the scheduler's own grain.

With --part the profiler saw only a part of the run, from stamp.first_ns to stamp.last_ns (Unix time): the workload's
cumulative trace (truth --trace) is cut to that.
"""
import bisect
import collections
import json
import sys

import tap as tap_module

TICK_NS = 10000000
WALL_PART, STALL_PART, CPU_PART, FLOOR = 0.001, 0.01, 0.01, 0.0001

Books = collections.namedtuple("Books", "wall wall_outer cpu cpu_outer runqueue stalled asleep moved_queue edges")


def whole_books(tag):
    return Books(*(tag[key] for key in ("wall_ns", "wall_outer_ns", "cpu_ns", "cpu_outer_ns", "runqueue_ns", "stalled_ns", "asleep_ns",
                                     "moved_queue_ns")), 0)


def books_at(trace, at_ns):
    """[wall, cpu, runqueue, stalled] at a moment: what lies between two points grew evenly."""
    after = bisect.bisect_left([point[0] for point in trace], at_ns)
    if after == 0:
        return trace[0][1:]
    if after == len(trace):
        return trace[-1][1:]
    left, right = trace[after - 1], trace[after]
    part = (at_ns - left[0]) / (right[0] - left[0])
    return [a + (b - a) * part for a, b in zip(left[1:], right[1:])]


def edge_ns(trace, at_ns):
    """Of the two points around a moment: how much may have been stalled before it instead of after it, as neither says what came first."""
    after = bisect.bisect_left([point[0] for point in trace], at_ns)
    if after in (0, len(trace)):
        return 0
    _, _, cpu, runqueue, stalled = (b - a for a, b in zip(trace[after - 1], trace[after]))
    return min(stalled, cpu + runqueue)


def part_books(tag, first_ns, last_ns):
    """Of the time between two CLOCK_MONOTONIC moments. The trace has no outer bracket: that of the whole run is shared out."""
    begin, end = books_at(tag["trace"], first_ns), books_at(tag["trace"], last_ns)
    wall, cpu, runqueue, stalled = (b - a for a, b in zip(begin, end))
    share = wall / tag["wall_ns"] if tag["wall_ns"] else 0
    return Books(wall, wall + share * (tag["wall_outer_ns"] - tag["wall_ns"]), cpu,
                 cpu + share * (tag["cpu_outer_ns"] - tag["cpu_ns"]), runqueue, stalled, wall - cpu - runqueue, tag["moved_queue_ns"],
                 edge_ns(tag["trace"], first_ns) + edge_ns(tag["trace"], last_ns))


def window_of(truth, top):
    """The moments that the profile covers, as CLOCK_MONOTONIC."""
    offset = truth["realtime_offset_ns"]
    return top["stamp"]["first_ns"] - offset, top["stamp"]["last_ns"] - offset


def off_by(value, low, high):
    """How far a value lies outside of a bracket, signed."""
    return value - low if value < low else max(0, value - high)


def rows_of(top, tag, pid):
    return [row for row in top["ledger"] if row["tag"] == tag and row["process"] == pid]


def sum_by(rows, *keys):
    sums = collections.Counter()
    for row in rows:
        sums[tuple(row[key] for key in keys)] += row["ns"]
    return sums


def percent(part, whole):
    return f"{100 * part / whole:+.3f} %" if whole else f"{part} ns of 0"


def stolen_in(truth):
    """How much time the hypervisor may have taken from a thread of the run: counted in ticks, so up to one more than was seen. The
    ledger has it in run queue; the workload's clocks have it nowhere, so that it looks slept."""
    return truth["stolen_ns"] and truth["stolen_ns"] + TICK_NS


def compare_tag(tap, where, tag, books, rows, stolen):
    """Returns a line of figures for the report."""
    states = sum_by(rows, "state")
    wall, stalled, cpu = sum(states.values()), states[("stall",)], states[("oncpu",)]
    floor = FLOOR * books.wall
    name = f"{where}: {tag['tag']}"
    figures = (f"{tag['tag']}: ledger " + ", ".join(f"{key[0]} {ns / 1e9:.6f}" for key, ns in sorted(states.items())) +
               f" s; workload wall {books.wall / 1e9:.6f}, cpu {books.cpu / 1e9:.6f}, runqueue {books.runqueue / 1e9:.6f}, "
               f"stalled {books.stalled / 1e9:.6f}, asleep {books.asleep / 1e9:.6f}, "
               f"asleep or queued {books.moved_queue / 1e9:.6f}, stolen of all {stolen / 1e9:.2f} s")
    wall_off = off_by(wall, books.wall, books.wall_outer)
    tap.check(abs(wall_off) <= WALL_PART * books.wall, f"{name}: the rows sum to the wall time within 0.1 %",
              f"off by {percent(wall_off, books.wall)}", figures)
    low, high = sorted((books.stalled, books.asleep))
    stall_off = off_by(stalled, low - stolen - books.edges, high + books.moved_queue + books.edges)
    # A wait that goes on when the recording ends is not known to be a stall yet, and told as such.
    undecided = sum(row["ns"] for row in rows if row["cause"] == "undecided")
    stall_off = min(0, stall_off + undecided) if stall_off < 0 else stall_off
    tap.check(abs(stall_off) <= max(STALL_PART * books.stalled, floor), f"{name}: stalled time within 1 %",
              f"off by {percent(stall_off, books.stalled)}", figures)
    cpu_off = off_by(cpu, books.cpu, books.cpu_outer)
    tap.check(abs(cpu_off) <= max(CPU_PART * books.cpu, floor), f"{name}: on-CPU within 1 % of the CPU clock",
              f"off by {percent(cpu_off, books.cpu)}", figures)
    return (f"{figures}; off: wall {percent(wall_off, books.wall)}, stalled {percent(stall_off, books.stalled)}, "
            f"cpu {percent(cpu_off, books.cpu)}")


def profile_differences(top):
    """Where the profile's sums are not the ledger's: [(tag, cause, device, ledger ns, profile ns)]."""
    ledger = sum_by([row for row in top["ledger"] if row["state"] == "stall"], "tag", "cause", "device")
    profile = collections.Counter()
    for stack in top["stacks"]:
        profile[(stack["tag"], stack["stall"], stack["device"])] += stack["delay_ns"]
    return [key + (ledger[key], profile[key]) for key in sorted(ledger.keys() | profile.keys(), key=str)
            if ledger[key] != profile[key]]


def compare(tap, where, truth, top, part=False):
    """All checks of one run. `part`: the profiler saw only a part of it."""
    figures = []
    for tag in truth["tags"]:
        rows = rows_of(top, tag["tag"], truth["pid"])
        if not tap.check(bool(rows), f"{where}: {tag['tag']}: has ledger rows",
                         f"tags there: {sorted({row['tag'] for row in top['ledger']})[:20]}"):
            continue
        books = part_books(tag, *window_of(truth, top)) if part else whole_books(tag)
        figures.append(compare_tag(tap, where, tag, books, rows, stolen_in(truth)))
    unequal = profile_differences(top)
    tap.check(not unequal, f"{where}: profile sums equal ledger sums to the nanosecond",
              *[f"{key}: ledger {a}, profile {b}" for *key, a, b in unequal[:10]])
    lost = {name: value for name, value in top.get("stamp", {}).get("counters", {}).items() if value}
    tap.note(*figures, f"{where}: counters that are not 0: {lost or 'none'}")


def compare_ids(tap, where, truth, top):
    """Each tag id that the workload pushed is there once, and no other."""
    for tag in truth["tags"]:
        pushed = set(range(tag["first_id"], tag["first_id"] + tag["tags"]))
        seen = {int(row["id"], 16) for row in rows_of(top, tag["tag"], truth["pid"])}
        tap.check(seen == pushed, f"{where}: {tag['tag']}: all {len(pushed)} ids are in the ledger, and no other",
                  f"missing {len(pushed - seen)}, unknown {len(seen - pushed)}; the missing begin with number "
                  f"{[number - tag['first_id'] for number in sorted(pushed - seen)[:20]]}")


def premises(tap, where, truth):
    """Was the workload what it claims to be?"""
    for tag in truth["tags"]:
        rest = tag["asleep_ns"] - tag["stalled_ns"]
        tap.check(tag["migrations"] > 0, f"{where}: {tag['tag']}: migrated ({tag['migrations']} times)")
        tap.check(abs(rest) <= 0.005 * tag["wall_ns"] + stolen_in(truth), f"{where}: {tag['tag']}: slept only in its own calls",
                  f"asleep {tag['asleep_ns']}, in calls {tag['stalled_ns']}")
        if tag["mode"] == "fault":
            tap.check(tag["warm_pages"] * 1000 <= tag["calls"], f"{where}: {tag['tag']}: its pages were cold",
                      f"{tag['warm_pages']} of {tag['calls']} were in the cache")


def main():
    if len(sys.argv) < 3:
        print(__doc__, file=sys.stderr)
        return 2
    with open(sys.argv[1]) as truth_file, open(sys.argv[2]) as top_file:
        truth, top = json.load(truth_file), json.load(top_file)
    tap = tap_module.Tap()
    premises(tap, "workload", truth)
    compare(tap, "exact", truth, top, part="--part" in sys.argv)
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
