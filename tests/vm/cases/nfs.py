"""A file system of an NFS server, on this machine, to which each packet takes 100 ms; threads wait for it by direct and buffered reads, by
page faults, by direct writes, writes to a page cache that takes no more, fsync and close. Others meanwhile read a local disk as slow as
that, by the page cache, too."""
KERNEL = "6.1"
SERVER = "127.0.0.1:/"
GUEST = """
modprobe -a nfsd nfs sch_netem && modprobe null_blk queue_mode=2 nr_devices=1 irqmode=2 completion_nsec=100000000
mkdir -p /vm-disk/export
for how in read buffered mapped write; do dd if=/dev/zero of=/vm-disk/export/$how bs=1M count=16 2>/vm-out/dd; done
nfs_mounted
tc qdisc add dev lo root netem delay 100ms || exit 1
cat >/vm-out/all <<EOF
"$WAITERS" how=buffered name=first file=/dev/nullb0 threads=1 seconds=1 long_ms=100000 # brings the probes on the program
sleep 3
for how in read buffered mapped write fsync close; do
	"$WAITERS" how=\\$how name=\\$how file=/mnt/nfs/\\$how threads=2 seconds=12 long_ms=100000 &
done
"$WAITERS" how=buffered name=local file=/dev/nullb0 threads=2 seconds=12 long_ms=100000 &
wait
EOF
record nfs sh /vm-out/all
echo 4194304 >/proc/sys/vm/dirty_bytes
record append "$WAITERS" how=append name=append file=/mnt/nfs/append bytes=1048576 threads=1 seconds=6 long_ms=100000
grep nfs4 /proc/self/mountinfo >/vm-out/mounts
"""
NFS = ("nfs_read", "nfs_write")
# How the threads wait: for what, and a function in which their stacks stand.
HOW = {
    "read": ("nfs_read", "nfs_file_direct_read"),
    "buffered": ("nfs_read", "nfs_file_read"),
    "mapped": ("nfs_read", "filemap_fault"),
    "write": ("nfs_write", "nfs_file_direct_write"),
    "append": ("nfs_write", "balance_dirty_pages"),
    "fsync": ("nfs_write", "nfs_file_fsync"),
    "close": ("nfs_write", "nfs_wb_all"),
}


def behind_others(top, tag):
    """What the thread waited for a folder's lock, say, while its holder waited for the server."""
    return sum(wait["delay_ns"] for wait in top["waits"] if wait["tag"] == tag and wait["labels"].get("inherited_stall") in NFS)


def check_how(case, top, how, spans):
    cause, function = HOW[how]
    told, truth = 0, 0
    for span in spans:
        slept = span["end_ns"] - span["begin_ns"] - span["cpu_ns"] - span["runqueue_ns"]
        waits = case.ns(top, span["tag"], *NFS) + behind_others(top, span["tag"])
        case.tap.check(case.near_sleep(waits, span["end_ns"] - span["begin_ns"], span["cpu_ns"], span["runqueue_ns"]), f"{span['tag']}: it slept for the server", case.off(waits, slept), *case.report(top, span["tag"]))
        case.check_ledger(top, span)
        told, truth = told + waits, truth + slept
    of_cause = sum(case.ns(top, span["tag"], cause) for span in spans)
    case.tap.check(of_cause > (0.97 if how != "close" else 0.4) * told, f"{how}: most of it is {cause}", f"{of_cause / 1e9:.6f} s of {told / 1e9:.6f} s")
    stacks = [[frame["function"] for frame in stack["frames"]] for stack in top["stacks"] if stack["tag"].startswith(how) and stack["stall"] == cause]
    case.tap.check(stacks and any(function in frames for frames in stacks), f"{how}: stacks stand in {function}", *map(str, stacks[:3]))
    case.tap.note(f"{how}: {case.off(told, truth)}")
    case.cell(cause, top, lambda row: row["tag"].startswith(f"{how}/"), stalled_ns=told, clock_ns=truth, fault=f"a slow server, {how}")


def check(case):
    full, throttled, _ = case.recorded("append")
    check_how(case, full, "append", throttled)
    top, spans, _ = case.recorded("nfs")
    for how in HOW:
        if how != "append":
            check_how(case, top, how, [span for span in spans if span["tag"].startswith(f"{how}/")])
    for span in spans:
        if span["tag"].startswith("local/"):
            local = case.ns(top, span["tag"], "block_io")
            case.tap.check(case.near_sleep(local, span["end_ns"] - span["begin_ns"], span["cpu_ns"], span["runqueue_ns"]) and not case.ns(top, span["tag"], *NFS),
                           f"{span['tag']}: waits for a local disk are none for the server", *case.report(top, span["tag"]))
    devices = {row["device"] for row in top["ledger"] if row["cause"] in NFS}
    case.tap.check(SERVER in devices and devices <= {SERVER, ""}, "the server and what it exports are named", devices, case.text("mounts"))
    for cause in NFS:
        case.check_clean(top, cause)
