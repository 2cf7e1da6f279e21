#!/usr/bin/python3
"""The Python twin of deep.c: interpreter frames, _ctypes, libffi and libc's qsort on the way down to a write.

    deep.py --seconds S --dir DIR [--throttle-cgroup CGROUP]

thread > epoch > shard > qsort (libc, through ctypes) > compare (Python again) > level x 4 > os.pwrite, O_DIRECT.
Prints {"pid", "tids", "call"} when running and {"calls", "waited_ns"} at the end. The stalltag module is used when it can be imported.
"""
import argparse
import contextlib
import ctypes
import json
import mmap
import os
import threading
import time

CHUNK = 512 << 10
FILE = 16 << 20
WARM_UP = 64  # the interpreter rewrites its hot calls, which changes its own stack: let that be over

libc = ctypes.CDLL(None)
COMPARE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)


def tagged(name):
    try:
        import stalltag
    except (ImportError, OSError):
        return contextlib.nullcontext()
    return stalltag.tag(name, 3)


class Writer:
    def __init__(self, directory):
        path = f"{directory}/deep_py.{os.getpid()}"
        self.fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_DIRECT, 0o600)
        os.unlink(path)
        self.chunk = mmap.mmap(-1, CHUNK)
        self.at = self.calls = self.waited_ns = 0
        for at in range(0, FILE, CHUNK):
            os.pwrite(self.fd, self.chunk, at)

    def level(self, levels):
        if levels:
            return self.level(levels - 1)
        began = time.monotonic_ns()
        put = os.pwrite(self.fd, self.chunk, self.at)
        self.waited_ns += time.monotonic_ns() - began
        self.at = (self.at + CHUNK) % FILE
        self.calls += 1
        return put

    def shard(self):
        pair = (ctypes.c_int * 2)(2, 1)

        def compare(_left, _right):
            return 0 if self.level(3) == CHUNK else 1
        libc.qsort(pair, 2, ctypes.sizeof(ctypes.c_int), COMPARE(compare))

    def epoch(self, seconds):
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self.shard()


def thread(writer, args):
    for _ in range(WARM_UP):
        writer.shard()
    if args.throttle_cgroup:
        with open(args.throttle_cgroup + "/tasks", "w") as tasks:
            tasks.write(str(threading.get_native_id()))
    print(json.dumps({"pid": os.getpid(), "call": "pwrite", "tids": [threading.get_native_id()]}), flush=True)
    with tagged("deep_write/py"):
        writer.epoch(args.seconds)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--dir", required=True)
    parser.add_argument("--throttle-cgroup", default="")
    args = parser.parse_args()
    writer = Writer(args.dir)
    worker = threading.Thread(target=thread, args=(writer, args))
    worker.start()
    worker.join()
    print(json.dumps({"calls": writer.calls, "waited_ns": writer.waited_ns}))


if __name__ == "__main__":
    main()
