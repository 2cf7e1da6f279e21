"""What was told of workload/requests.py's requests, held against its own sizes and the kernel's counts."""
MIB = 1 << 20


def total(rows, what, **match):
    return sum(row[what] for row in rows if all(row[key] == value for key, value in match.items()))


def check_classes(tap, rows, device):
    """Each class has what its program wrote and read, to the byte."""
    on = {"device": device}
    for name, match, wanted in (("what another thread syncs is the writer's", {"class": "ckpt", "op": "write", "writeback": True}, 72 * MIB),
                                ("what a thread syncs itself", {"class": "own", "op": "write"}, 16 * MIB),
                                ("direct writes", {"class": "direct", "op": "write", "writeback": False}, 16 * MIB),
                                ("a file that was written anew is the new writer's", {"class": "other", "op": "write"}, 8 * MIB)):
        tap.check(total(rows, "bytes", **on, **match) == wanted, name, wanted, *rows)
    synced = total(rows, "bytes", **on, **{"class": "syncer", "op": "write"})
    tap.check(synced < MIB, "who syncs others' files has written no more than what files are listed in", synced, *rows)
    read = total(rows, "bytes", **on, **{"class": "load", "op": "read"})
    tap.check(64 * MIB <= read <= 64.5 * MIB, "reads", read, *rows)


def check_counts(tap, rows, device, truth):
    """All classes together are what the kernel has counted."""
    for op, bytes_, requests in (("read", "read", "reads"), ("write", "written", "writes")):
        match = {"device": device, "op": op}
        got = [total(rows, "bytes", **match), total(rows, "requests", **match)]
        tap.check(got == [truth[bytes_], truth[requests]], f"{op}: bytes and requests of all classes are the kernel's own counts", got, truth, *rows)
    took, counted = total(rows, "ns", device=device, op="write") / 1e6, truth["write_ms"]
    # The kernel rounds each request down to milliseconds.
    tap.check(counted * 0.97 - 5 <= took <= counted * 1.03 + truth["writes"] + 5, "write: the time they took is the kernel's count", took, counted)
