"""asyncio_tasks FILE SECONDS: three tasks of one loop, two of them under a tag of their own that they hold across `await`: "compute" keeps the
CPU busy, "save" writes and syncs FILE, and a third, without a tag, does both. Prints for each tag how long its task ran, by its own clocks:
   {"tag", "steps", "wall_ns", "cpu_ns", "outer_wall_ns", "outer_cpu_ns"}, the latter with what asyncio itself does in its steps
"""
import asyncio
import json
import os
import sys
import time

import stalltag
from stalltag import _asyncio_tags

until = time.monotonic() + float(sys.argv[2])
file = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT, 0o600)
sums = {}
outer = {"compute": [0, 0], "save": [0, 0]}


def clock_steps():
    """Each step of a task is clocked from the outside, too."""
    run = asyncio.events.Handle._run

    def clocked(handle):
        began, busy = time.monotonic_ns(), time.thread_time_ns()
        run(handle)
        for held in _asyncio_tags._open(handle._context):
            sums_of = outer[held.arguments[1].decode()]
            sums_of[0] += time.monotonic_ns() - began
            sums_of[1] += time.thread_time_ns() - busy

    asyncio.events.Handle._run = clocked


def spin(ms):
    end = time.thread_time_ns() + ms * 1000000
    while time.thread_time_ns() < end:
        pass


def save():
    os.pwrite(file, os.urandom(65536), 0)
    os.fsync(file)


async def steps(name, step):
    wall = cpu = n = 0
    while time.monotonic() < until:
        began, busy = time.monotonic_ns(), time.thread_time_ns()
        step()
        wall, cpu, n = wall + time.monotonic_ns() - began, cpu + time.thread_time_ns() - busy, n + 1
        await asyncio.sleep(0.002)
    sums[name] = {"tag": name, "steps": n, "wall_ns": wall, "cpu_ns": cpu}


async def tagged(name, step):
    async with stalltag.tag(name):
        await steps(name, step)


async def main():
    async with stalltag.tag("before"):
        clock_steps()  # around stalltag's own hook, which is there by now
    await asyncio.gather(tagged("compute", lambda: spin(3)), tagged("save", save), steps("none", lambda: (spin(1), save())))


asyncio.run(main())
for name in ("compute", "save"):
    print(json.dumps(dict(sums[name], outer_wall_ns=outer[name][0], outer_cpu_ns=outer[name][1])))
