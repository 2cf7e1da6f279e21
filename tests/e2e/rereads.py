"""rereads.py FILE: waits for its disk again and again: reads a block of FILE, which make() made, O_DIRECT, again and again. Each of its waits is for a
request of its own, however busy the disk is, so that none that a window cuts is undecided, as one for the journal would be."""
import mmap
import os
import sys
import time

BLOCK = 65536


def make(path):
    with open(path, "wb") as file:
        file.write(os.urandom(BLOCK))
        file.flush()
        os.fsync(file.fileno())


def reread(path, times=-1):
    """So often, or for good."""
    fd, block = os.open(path, os.O_RDONLY | os.O_DIRECT), mmap.mmap(-1, BLOCK)
    while times:
        os.preadv(fd, [block], 0)
        time.sleep(0.002)
        times -= 1


def bytes_read(pid):
    with open(f"/proc/{pid}/io") as file:
        return int(file.readline().split()[1])


def go_on(pid, seconds):
    """Lets the process work so long, and then until one more of its reads has begun and ended."""
    time.sleep(seconds)
    wanted, until = bytes_read(pid) + 2 * BLOCK, time.monotonic() + 60
    while bytes_read(pid) < wanted and time.monotonic() < until:
        time.sleep(0.02)


if __name__ == "__main__":
    reread(sys.argv[1])
