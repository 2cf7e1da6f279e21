"""requests.py FOLDER DEVICE: writes and reads files in FOLDER under several tags, and prints by how much DEVICE's counts in /sys/block grew,
and by how many bytes while it wrote what it had just written once more ("early"): then somebody else synced.
The file system is on DEVICE, and nobody else uses it. tests/e2e/request_checks.py has the sizes."""
import json
import mmap
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../stalltag/python"))
import stalltag  # noqa: E402

FOLDER, DEVICE = sys.argv[1:]
BLOCK = bytes(range(256)) * 4096


def counts():
    with open(f"/sys/block/{DEVICE}/stat") as file:
        fields = [int(word) for word in file.read().split()]
    return {"reads": fields[0], "read": fields[2] * 512, "read_ms": fields[3], "writes": fields[4], "written": fields[6] * 512,
            "write_ms": fields[7], "flushes": fields[15]}


def write(name, mib):
    fd = os.open(f"{FOLDER}/{name}", os.O_CREAT | os.O_RDWR)
    for _ in range(mib):
        os.write(fd, BLOCK)
    return fd


def overwrite(fd, mib):
    os.lseek(fd, 0, os.SEEK_SET)
    for _ in range(mib):
        os.write(fd, BLOCK)


def write_files():
    with stalltag.tag("ckpt/1"):
        first, reused = write("checkpoint", 64), write("reused", 8)
    with stalltag.tag("syncer"):
        os.sync()
    with stalltag.tag("own"):
        os.fsync(write("own", 16))
    return first, reused


def read_back(fd):
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    with stalltag.tag("load"):
        os.lseek(fd, 0, os.SEEK_SET)
        while os.read(fd, 1 << 20):
            pass


def write_directly():
    page = mmap.mmap(-1, 1 << 20)
    page.write(BLOCK)
    with stalltag.tag("direct"):
        fd = os.open(f"{FOLDER}/own", os.O_RDWR | os.O_DIRECT)
        for _ in range(16):
            os.write(fd, page)


def overwrite_twice(fd):
    """How many bytes the device was given meanwhile; what it has not written yet counts as all that ckpt/2 wrote."""
    before = counts()["written"]
    with stalltag.tag("ckpt/2"):
        overwrite(fd, 1)
    with stalltag.tag("other"):
        overwrite(fd, 8)
    with open(f"/sys/block/{DEVICE}/stat") as file:
        in_flight = int(file.read().split()[8])
    return counts()["written"] - before + (len(BLOCK) if in_flight else 0)


def main():
    os.sync()
    before = counts()
    first, reused = write_files()
    read_back(first)
    write_directly()
    early = overwrite_twice(reused)
    os.sync()
    after = counts()
    print(json.dumps({**{key: after[key] - before[key] for key in before}, "early": early}))


main()
