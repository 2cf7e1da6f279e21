"""sum_saver.py FOLDER: saves files as programs that save checkpoints do, with and without their sha256 in an xattr, and prints a line of JSON for each
that is there in the end: {"file", "sha256", "said": what its xattr says, null: no sum, "sum": what is to be told of it, "writes"}."""
import ctypes
import hashlib
import json
import os
import sys

FOLDER = sys.argv[1]
XATTR = "user.ai.checkpoint"
RENAME_EXCHANGE = 2
AT_FDCWD = -100


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def save(name, data, parts=1, xattr=None, close=True):
    """Writes the file; with its xattr, if any, before it is closed."""
    path = f"{FOLDER}/{name}"
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    size = len(data) // parts
    for i in range(parts):
        os.write(fd, data[i * size:(i + 1) * size])
    os.fsync(fd)
    if xattr is not None:
        os.setxattr(fd, XATTR, xattr)
    os.close(fd)
    return path


def told(path, said, outcome, writes=1):
    print(json.dumps({"file": path, "sha256": digest(path), "said": said, "sum": outcome, "writes": writes}))


def random_bytes(size):
    data = os.urandom(size)
    return data, hashlib.sha256(data).hexdigest()


data, right = random_bytes(3 << 20)
path = save("right.tmp", data, 3, f"sha256:{right}".encode())
os.rename(path, f"{FOLDER}/right")
told(f"{FOLDER}/right", right, "matches", 3)

data, right = random_bytes((1 << 20) + 17)
path = save("bare", data)
os.setxattr(path, XATTR, right.upper().encode() + b"\n")
told(path, right, "matches")

data, _ = random_bytes(100000)
wrong = hashlib.sha256(b"another").hexdigest()
told(save("wrong", data, 1, f"sha256:{wrong}".encode()), wrong, "differs")

told(save("plain", random_bytes(4096)[0]), None, "no_xattr")
told(save("named", random_bytes(4096)[0], 1, b"step 7"), None, "no_xattr")

# Changed in place after it was saved: the xattr is still the old one's.
data, right = random_bytes(200000)
path = save("changed", data, 1, right.encode())
fd = os.open(path, os.O_WRONLY)
os.pwrite(fd, bytes([data[5] ^ 1]), 5)
os.close(fd)
told(path, right, "differs", 2)

# Two exchange their names.
sums = {}
for name in ("next", "last"):
    data, sums[name] = random_bytes(50000)
    save(name, data, 1, sums[name].encode())
assert ctypes.CDLL(None).renameat2(AT_FDCWD, f"{FOLDER}/next".encode(), AT_FDCWD, f"{FOLDER}/last".encode(), RENAME_EXCHANGE) == 0
told(f"{FOLDER}/next", sums["last"], "matches")
told(f"{FOLDER}/last", sums["next"], "matches")

# By many small writes.
data, right = random_bytes(64 * 20000)
told(save("many", data, 20000, right.encode()), right, "matches", 20000)
