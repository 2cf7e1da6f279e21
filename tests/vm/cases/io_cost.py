"""A cgroup that io.cost gives 20 reads a second of a disk that takes 5 ms for each (null_blk), while another process reads it as fast as that
goes, for which io.cost holds nothing back: four threads of the cgroup wait for its turn, which a timer ends, then for their requests. That is
throttle and block_io, by the threads' own clocks. A file system's metadata goes ahead of its turn, and is waited for behind the call
(blkcg_maybe_throttle_current): so does a search through cold directories, by kprobes around that function."""
import re

RATE, REQUEST_NS, DIRECTORIES = 20, 5000000, 100
OWED = "blkcg_maybe_throttle_current"
GUEST = f"""
modprobe null_blk queue_mode=2 nr_devices=1 irqmode=2 completion_nsec={REQUEST_NS} memory_backed=1 gb=1 || exit 1
until_true 20 test -b /dev/nullb0
mkfs.ext4 -q -b 1024 -I 1024 -E lazy_itable_init=0,lazy_journal_init=0 /dev/nullb0 64M && mount /dev/nullb0 /mnt || exit 1
for i in $(seq {DIRECTORIES}); do mkdir /mnt/$i; done
umount /mnt
mount -o ro,inode_readahead_blks=0 /dev/nullb0 /mnt || exit 1
device=$(cat /sys/block/nullb0/dev)
echo "$device ctrl=user model=linear rbps=1000000000 rseqiops={RATE} rrandiops={RATE} wbps=1000000000 wseqiops={RATE} wrandiops={RATE}" \\
	>/sys/fs/cgroup/io.cost.model || exit 1
echo "$device enable=1 ctrl=user rpct=0 rlat=5000 wpct=0 wlat=5000 min=100 max=100" >/sys/fs/cgroup/io.cost.qos || exit 1
echo +io >/sys/fs/cgroup/cgroup.subtree_control
mkdir /sys/fs/cgroup/job
in_job()
{{
	(sh -c 'echo $PPID >/sys/fs/cgroup/job/cgroup.procs' && record "$@")
}}
dd if=/dev/nullb0 of=/dev/null bs=4k iflag=direct &
in_job waiters "$WAITERS" how=read file=/dev/nullb0 threads=4 seconds=15 long_ms=0
kill $!
tracing=/sys/kernel/tracing
echo mono >$tracing/trace_clock
{{ echo 'p:held {OWED}'; echo 'r:let_go {OWED}'; }} >$tracing/kprobe_events
echo 'comm == "find"' >$tracing/events/kprobes/held/filter
echo 'comm == "find"' >$tracing/events/kprobes/let_go/filter
echo 1 >$tracing/events/kprobes/enable
in_job search find /mnt -maxdepth 1 -size +100
cat $tracing/trace >/vm-out/held
"""


def held_ns(text):
    """How long find was held back in that function."""
    since, held = 0, 0
    for line in text.splitlines():
        found = re.match(r".*find-\d+\s.*?\s(\d+)\.(\d+): (held|let_go): ", line)
        if found:
            ns = int(found[1]) * 10**9 + int(found[2].ljust(9, "0"))
            held += ns - since if since and found[3] == "let_go" else 0
            since = ns if found[3] == "held" else 0
    return held


def check_search(case):
    """Of a process with one tag. Most of its passes by the function have nothing to wait for."""
    tap, top, truth = case.tap, case.recorded("search")[0], held_ns(case.text("held"))
    told = case.ns(top, None, "throttle")
    tap.check(truth > 1e9, "search: premise: it was held back", f"{truth / 1e9:.3f} s")
    tap.check(case.near(told, truth), "search: what metadata owes is throttle", case.off(told, truth), *case.report(top, None))
    stacks = [stack for stack in top["stacks"] if stack["stall"] == "throttle"]
    case.check_frames(stacks, (OWED,))
    tap.check({stack["device"] for stack in stacks} == {"nullb0"}, "search: its device is named")


def check(case):
    tap, (top, spans, calls) = case.tap, case.recorded("waiters")
    throttle, block_io = case.ns(top, None, "throttle"), case.ns(top, None, "block_io")
    slept = sum(call["call_ns"] - call["busy_ns"] for call in calls)
    truth = slept - len(calls) * REQUEST_NS
    tap.check(len(calls) < 16 * RATE and truth > 0.8 * slept, "premise: each call is held back, most of its time", f"{len(calls)} calls, {slept / 1e9:.3f} s")
    tap.check(case.near(throttle + block_io, slept), "what calls sleep is throttle and block_io", case.off(throttle + block_io, slept), *case.report(top, None))
    tap.check(0.95 * truth < throttle < 1.03 * truth, "what io.cost holds back is throttle", case.off(throttle, truth), *case.report(top, None))
    for span in spans:
        case.check_ledger(top, span)
    case.check_frames([stack for stack in top["stacks"] if stack["stall"] == "throttle"], ("ioc_rqos_throttle", "__x64_sys_pread64"))
    tap.check({row["device"] for row in top["ledger"] if row["cause"] == "throttle"} == {"nullb0"}, "its device is named")
    case.check_hooks(top, "fentry/ioc_rqos_throttle", "fexit/ioc_rqos_throttle")
    case.check_clean(top, "throttle")  # also without io.latency, which this kernel lacks
    check_search(case)
    case.cell("throttle", top, stalled_ns=throttle, clock_ns=truth, fault=f"io.cost: {RATE} reads a second")
