#!/usr/bin/python3
"""Python functions and C code of every kind on the way down to a direct write, each time in another order and depth.

    python_frames.py --dir DIR --stalls N [--first ID] [--settle SECONDS] [--throttle-cgroup CGROUP]

Holds a tag for SECONDS (0) at first, so that a profiler is there, and lives as long at the end, so that it can follow.
Each write is under a tag `frames/KIND` with an id of its own, and what Python itself says of the stack is printed:
{"id", "kind", "tid", "frames": [[function, file, line], ...]}, innermost first. Kinds: main (N of them, in the main thread),
deep (DEEP, 600 levels of recursion deep), thread (four threads at once), fork (a child process), sub (inside a subinterpreter, where Python lets us; else a
line {"kind": "sub", "why"}). For Python 3.8 and later; needs the stalltag module.
"""
import argparse
import ctypes
import functools
import json
import mmap
import os
import re
import sys
import threading
import time

import stalltag

CHUNK = 16 << 10
THREADS, EACH = 4, 10
DEEP = 20
libc = ctypes.CDLL(None)
COMPARE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)


def tid():
    return threading.get_native_id()


def frames_of(frame):
    found = []
    while frame:
        code = frame.f_code
        found.append([getattr(code, "co_qualname", code.co_name), code.co_filename, frame.f_lineno])
        frame = frame.f_back
    return found


def go(rest):
    return rest[0](rest[1:])


def by_sorted(rest):
    return sorted([1], key=functools.partial(lambda rest, _: go(rest), rest))[0]


def by_map(rest):
    return list(map(lambda _: go(rest), (1,)))[0]


def by_comprehension(rest):
    return [go(rest) for _ in (1,)][0]


def by_reduce(rest):
    return functools.reduce(lambda _a, _b: go(rest), (1, 2))


def by_generator(rest):
    def numbers():
        yield go(rest)
    for number in numbers():
        return number


def by_next(rest):
    return next(go(rest) for _ in (1,))


def by_coroutine(rest):
    async def inner():
        return go(rest)

    async def outer():
        return await inner()
    try:
        outer().send(None)
    except StopIteration as stop:
        return stop.value


class Call:
    def __call__(self, rest):
        return go(rest)


class Init:
    def __init__(self, rest):
        self.value = go(rest)


class Attribute:
    def __init__(self, rest):
        self.rest = rest

    def __getattr__(self, name):
        return go(self.rest)

    @property
    def computed(self):
        return self.missing


class Last:
    def __init__(self, rest):
        self.rest = rest

    def __del__(self):
        go(self.rest)


def by_call(rest):
    return Call()(rest)


def by_init(rest):
    return Init(rest).value


def by_property(rest):
    return Attribute(rest).computed


def by_destructor(rest):
    last = Last(rest)
    del last
    return 0


def by_json(rest):
    return json.dumps({"a": [object()]}, default=lambda _: str(go(rest)))


def by_regex(rest):
    return re.sub("b", lambda _: str(go(rest)), "abc")


def by_eval(rest):
    return eval(GO, {"go": go, "rest": rest})


def by_qsort(rest):
    ways = [rest]  # a sanitizer's qsort compares more often

    def compare(_left, _right):
        if ways:
            go(ways.pop())
        return 0
    pair = (ctypes.c_int * 2)(2, 1)
    libc.qsort(pair, 2, ctypes.sizeof(ctypes.c_int), COMPARE(compare))


def deeper(levels, rest):
    return deeper(levels - 1, rest) if levels else go(rest)


GO = compile("go(rest)", "<string>", "eval")
WAYS = [by_sorted, by_map, by_comprehension, by_reduce, by_generator, by_next, by_coroutine, by_call, by_init, by_property,
        by_destructor, by_json, by_regex, by_eval, by_qsort]


class Writer:
    """One thread's."""

    def __init__(self, kind, directory, first):
        path = f"{directory}/python_frames.{os.getpid()}.{kind}.{tid()}"
        self.fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_DIRECT, 0o600)
        os.unlink(path)
        self.chunk = mmap.mmap(-1, CHUNK)
        os.pwrite(self.fd, self.chunk, 0)
        self.kind, self.next, self.said = kind, first, []

    def write(self, _rest):
        self.said.append(frames_of(sys._getframe())) or os.pwrite(self.fd, self.chunk, 0)
        return 1

    def stall(self, turn):
        turn %= len(WAYS)
        ways = WAYS[turn:] + WAYS[:turn]
        go([functools.partial(deeper, turn % 7), *ways[:11], self.write])

    def stalls(self, n):
        for turn in range(n):
            with stalltag.tag(f"frames/{self.kind}", self.next + turn):
                self.stall(turn)

    def tell(self):
        for i, frames in enumerate(self.said):
            print(json.dumps({"id": self.next + i, "kind": self.kind, "tid": tid(), "frames": frames}), flush=True)

    def warm_up(self, n):
        """The interpreter rewrites its hot code, and memory is faulted in."""
        for turn in range(n):
            self.stall(turn)
        self.said.clear()


def recursion(args, first):
    writer = Writer("deep", args.dir, first)
    sys.setrecursionlimit(3000)
    for turn in range(DEEP):
        time.sleep(0.005)  # not all of them in one disturbed millisecond
        with stalltag.tag("frames/deep", first + turn):
            deeper(600, [writer.write])
    writer.tell()


def enter(cgroup):
    if cgroup:
        with open(cgroup + "/tasks", "w") as tasks:
            tasks.write(str(tid()))


def in_thread(args, first, told):
    writer = Writer("thread", args.dir, first)
    writer.warm_up(2)
    enter(args.throttle_cgroup)
    writer.stalls(EACH)
    told.append(writer)


def threads(args, first):
    told = []
    running = [threading.Thread(target=in_thread, args=(args, first + n * EACH, told)) for n in range(THREADS)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    for writer in told:
        writer.tell()


def forked(args, first):
    child = os.fork()
    if not child:
        writer = Writer("fork", args.dir, first)
        writer.stalls(EACH)
        writer.tell()
        time.sleep(args.settle / 2)
        os._exit(0)
    os.waitpid(child, 0)


INSIDE = """
import os
def innermost():
    return os.pwrite(fd, b"x" * 4096, 0)
def inner():
    return innermost()
inner()
"""
WHERE = "import os, sys; os.pwrite({}, sys._getframe().f_code.co_filename.encode() + bytes(1), 0)"


def interpreters():
    try:
        import _interpreters
        return _interpreters
    except ImportError:
        import _xxsubinterpreters
        return _xxsubinterpreters


def in_subinterpreter(args, first):
    """Its own frames are not in our reach, but known."""
    try:
        module = interpreters()
        number = module.create()
        fd = os.open(f"{args.dir}/python_frames.{os.getpid()}.sub", os.O_RDWR | os.O_CREAT | os.O_DSYNC, 0o600)
        os.unlink(f"{args.dir}/python_frames.{os.getpid()}.sub")
        text = f"fd = {fd}" + INSIDE
        module.run_string(number, WHERE.format(fd))
        file = os.pread(fd, 4096, 0).split(b"\0")[0].decode()
        inside = [["innermost", file, 4], ["inner", file, 6], ["<module>", file, 7]]
        with stalltag.tag("frames/sub", first):
            frames = frames_of(sys._getframe()); module.run_string(number, text)
    except (ImportError, AttributeError, RuntimeError) as error:
        print(json.dumps({"kind": "sub", "why": str(error)}), flush=True)
        return
    print(json.dumps({"id": first, "kind": "sub", "tid": tid(), "frames": inside + frames}), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dir", required=True)
    parser.add_argument("--stalls", type=int, default=20)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--settle", type=float, default=0)
    parser.add_argument("--throttle-cgroup", default="")
    args = parser.parse_args()
    writer = Writer("main", args.dir, args.first)
    writer.warm_up(30)
    with stalltag.tag("frames/begin"):
        time.sleep(args.settle)
    enter(args.throttle_cgroup)
    writer.stalls(args.stalls)
    writer.tell()
    recursion(args, args.first + 9000)
    threads(args, args.first + 10000)
    forked(args, args.first + 20000)
    time.sleep(args.settle / 2)  # its code is gone when it has run: nobody should be busy meanwhile
    in_subinterpreter(args, args.first + 30000)
    time.sleep(args.settle)


if __name__ == "__main__":
    main()
