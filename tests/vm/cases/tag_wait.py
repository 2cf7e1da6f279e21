"""A device with two tags that takes 100 ms a request (null_blk), and more threads than tags: each call waits for a tag, then for its
request. Recorded twice: without an I/O scheduler the tags are the device's, with one they are the scheduler's.

The kernel's own trace tells when each call got its request (block_getrq): the thread's sleeps before that, as the same trace has them
(sched_switch, sched_waking), were for the tag. That is compared over all threads: Linux 6.12 counts some sleeps as time on the run queue
(run_delay, which is the ledger's clock, too), of one thread up to 10 % of all."""
import re

RUNS = {"hardware": ("none", 8), "scheduler": ("mq-deadline", 16)}
DEPTH = {"hardware": 2, "scheduler": 4}
GUEST = """
modprobe null_blk queue_mode=2 nr_devices=2 shared_tags=1 hw_queue_depth=2 irqmode=2 completion_nsec=100000000
until_true 20 test -b /dev/nullb0
trace=/sys/kernel/tracing
echo mono >$trace/trace_clock
echo 'prev_comm == "waiters"' >$trace/events/sched/sched_switch/filter
echo 'comm == "waiters"' >$trace/events/sched/sched_waking/filter
for event in block/block_getrq sched/sched_switch sched/sched_waking; do echo 1 >$trace/events/$event/enable; done
""" + "".join(f"""
echo {scheduler} >/sys/block/nullb0/queue/scheduler
[ {scheduler} = none ] || echo 4 >/sys/block/nullb0/queue/nr_requests
echo >$trace/trace
echo 2 >/sys/block/nullb0/queue/nomerges
record {name} "$WAITERS" how=read file=/dev/nullb0 threads={threads} seconds=12 long_ms=0
cat $trace/trace >/vm-out/{name}.trace
cat /sys/block/nullb0/queue/scheduler /sys/block/nullb0/queue/nr_requests >/vm-out/{name}.queue
""" for name, (scheduler, threads) in RUNS.items())


def events_of(trace):
    """(tid of who ran, when in ns, name, what follows it) of each line."""
    for line in trace.splitlines():
        found = re.match(r".*-(\d+)\s+\[\d+\]\s+\S+\s+(\d+)\.(\d+): (\w+): (.*)", line)
        if found:
            yield int(found[1]), int(found[2]) * 10**9 + int(found[3].ljust(9, "0")), found[4], found[5]


def threads_of(trace):
    """{tid: ([when it got a request], [(when a sleep began, when it ended)])}, in ns"""
    threads, asleep = {}, {}
    for tid, ns, name, rest in events_of(trace):
        if name == "block_getrq":
            threads.setdefault(tid, ([], []))[0].append(ns)
        elif name == "sched_switch" and not re.search(r"prev_state=R", rest):
            asleep[int(re.search(r"prev_pid=(\d+)", rest)[1])] = ns
        elif name == "sched_waking":
            woken = int(re.search(r" pid=(\d+)", rest)[1])
            begin = asleep.pop(woken, None)
            if begin is not None:
                threads.setdefault(woken, ([], []))[1].append((begin, ns))
    return threads


def waited_for_tags(calls, got, sleeps):
    """(How long the calls slept before they had their requests, how many calls have not one request)."""
    waited, missing = 0, 0
    for call in calls:
        begin, end = call["call_begin_ns"] - 1000, call["call_begin_ns"] + call["call_ns"]
        within = [ns for ns in got if begin <= ns <= end]
        missing += len(within) != 1
        waited += sum(over - since for since, over in sleeps if begin <= since and within and over <= within[0])
    return waited, missing


def check_run(case, name):
    tap, (top, spans, calls) = case.tap, case.recorded(name)
    threads, told_tag, truth_tag = threads_of(case.text(f"{name}.trace")), 0, 0
    for span in spans:
        number, tag = int(span["tag"].split("/")[1]), span["tag"]
        slept = span["end_ns"] - span["begin_ns"] - span["cpu_ns"] - span["runqueue_ns"]
        waits, requests = case.ns(top, tag, "tag_wait"), case.ns(top, tag, "block_io")
        truth, missing = waited_for_tags([call for call in calls if call["waiter"] == number], *threads.get(span["tid"], ([], [])))
        tap.check(not missing, f"{name} {tag}: premise: each call has its request in the trace", f"{missing} have not")
        tap.check(case.near_sleep(waits + requests, span["end_ns"] - span["begin_ns"], span["cpu_ns"], span["runqueue_ns"]), f"{name} {tag}: slept for tags and requests", case.off(waits + requests, slept), *case.report(top, tag))
        case.check_ledger(top, span)
        told_tag, truth_tag = told_tag + waits, truth_tag + truth
        tap.note(f"{name} {tag}: tag_wait {case.off(waits, truth)}")
    tap.check(case.near(told_tag, truth_tag), f"{name}: waited for tags", case.off(told_tag, truth_tag), *case.report(top, None))
    tap.note(f"{name}: tag_wait {case.off(told_tag, truth_tag)}; {len(calls)} calls")
    stacks = [stack for stack in top["stacks"] if stack["stall"] == "tag_wait"]
    names = [{frame["function"] for frame in stack["frames"]} for stack in stacks]
    tap.check(stacks and all("blk_mq_get_tag" in frames and "__x64_sys_pread64" in frames for frames in names), f"{name}: its stacks stand in blk_mq_get_tag",
              f"{len(stacks)} stacks", *[str(sorted(frames)) for frames in names if "blk_mq_get_tag" not in frames])
    wanted = {"hctx": 0, "pool": name, "depth": DEPTH[name]}
    lacking = [stack["labels"] for stack in stacks if stack["labels"] != wanted]
    tap.check(not lacking, f"{name}: the samples' labels are {wanted}", *lacking[:5])
    devices = {row["device"] for row in top["ledger"] if row["cause"] == "tag_wait"}
    tap.check(devices == {"nullb0"}, f"{name}: its device is named", devices)
    case.check_clean(top, "tag_wait")
    case.cell("tag_wait", top, stalled_ns=told_tag, clock_ns=truth_tag, fault=f"{RUNS[name][1]} threads, {name} tags")


def check(case):
    for name in RUNS:
        check_run(case, name)
