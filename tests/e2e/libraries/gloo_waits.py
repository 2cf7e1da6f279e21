"""gloo_waits.py RANK FILE [rounds] [ms]: one of two ranks of torch.distributed with gloo on the loopback device, which meet by way of FILE.
The last one sleeps before each collective, and at last leaves without a word: then the first one is told by an exception, and sleeps
outside. Prints, for rank 0, lines as call_clock.h and attack.h do.
"""
import datetime
import json
import os
import sys
import time

import stalltag
import torch
import torch.distributed as distributed

rank, path = int(sys.argv[1]), sys.argv[2]
rounds, ms = (int(word) for word in sys.argv[3:5])


def now():
    """Wall, CPU and run queue time of this thread, read at once: again, where it lost the CPU meanwhile."""
    for _ in range(8):
        began = time.monotonic_ns()
        with open("/proc/thread-self/schedstat") as file:
            queued = int(file.read().split()[1])
        cpu, wall = time.thread_time_ns(), time.monotonic_ns()
        if wall - began < 200_000:
            break
    return wall, cpu, queued


def told(of, calls, sums):
    print(json.dumps({"of": of, "calls": calls, "call_ns": sums[0], "call_cpu_ns": sums[1], "call_runqueue_ns": sums[2]}), flush=True)


def clocked(sums, call, *args):
    before = now()
    try:
        call(*args)
    finally:
        sums[:] = [total + after - begin for total, after, begin in zip(sums, now(), before)]


distributed.init_process_group("gloo", init_method=f"file://{path}", rank=rank, world_size=2, timeout=datetime.timedelta(seconds=30))
tensor = torch.ones(1024)
distributed.all_reduce(tensor)
time.sleep(1)
outer_begin = time.monotonic_ns()
stalltag.push(f"rank/{rank}", rank + 1)
begin = time.monotonic_ns()
time.sleep(0.5)
inside, outside, failed = [0, 0, 0], [0, 0, 0], False
for i in range(rounds):
    if rank:
        time.sleep(ms / 1000)
    clocked(inside, (distributed.all_reduce, lambda t: distributed.broadcast(t, 1))[i % 2], tensor)
if rank:
    time.sleep(ms / 1000)
    os._exit(0)
try:
    clocked(inside, distributed.all_reduce, tensor)
except RuntimeError:
    failed = True
clocked(outside, time.sleep, 1)
end = time.monotonic_ns()
stalltag.pop()
outer_end = time.monotonic_ns()
print(json.dumps({"tag": f"rank/{rank}", "begin_ns": begin, "end_ns": end, "outer_begin_ns": outer_begin, "outer_end_ns": outer_end}))
told(f"rank/{rank}", rounds, inside)
told("outside", 1, outside)
print(json.dumps({"failed": failed}), flush=True)
os._exit(0)
