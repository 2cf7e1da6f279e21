"""An NVMe disk with two paths, over TCP on loopback, whose reads take a second. The path in use is cut while they are under way: their bios are
handed to the other one, which reads them anew. Those calls are nvme_reset, whole, though another controller's completion ended them, and
all others are block_io."""
import re

THREADS = 4
CUTS = 3
GUEST = f"""
modprobe -a nvme_tcp nvmet_tcp && modprobe null_blk queue_mode=2 nr_devices=1 irqmode=2 completion_nsec=1000000000 || exit 1
nvme_over_tcp /dev/nullb0
mkdir $nvmet/ports/2
for what in addr_trtype addr_adrfam addr_traddr; do
	cat $nvmet/ports/1/$what >$nvmet/ports/2/$what
done
echo 4421 >$nvmet/ports/2/addr_trsvcid
ln -s $nvmet/subsystems/stall $nvmet/ports/2/subsystems/stall
for port in 4420 4421; do
	echo "transport=tcp,traddr=127.0.0.1,trsvcid=$port,nqn=stall,reconnect_delay=1,keep_alive_tmo=30" >/dev/nvme-fabrics
done
until_true 20 test -b /dev/nvme0n1
until_true 20 grep -q live /sys/class/nvme/nvme1/state
record waiters "$WAITERS" how=read file=/dev/nvme0n1 threads={THREADS} seconds=300 long_ms=100 &
until_true 60 pgrep -x waiters
sleep 4
for cut in $(seq {CUTS}); do
	rm $nvmet/ports/1/subsystems/stall
	sleep 3
	ln -s $nvmet/subsystems/stall $nvmet/ports/1/subsystems/stall
	until_true 30 grep -q live /sys/class/nvme/nvme0/state
	sleep 2.6
done
pkill -TERM -x waiters
wait
"""
READ_NS = 1.1e9  # what one takes that is not cut, or little more
SURE_NS = 1e8    # the kernel's messages are by another clock than calls


def slept(calls):
    return sum(call["call_ns"] - call["busy_ns"] for call in calls)


def under_way(calls, moments, by):
    """Those calls that were under way at one of the moments, and that long before and after it; `by` below 0: or nearly so."""
    return [call for call in calls if any(call["call_begin_ns"] + by < moment < call["call_begin_ns"] + call["call_ns"] - by for moment in moments)]


def check(case):
    tap = case.tap
    top, spans, calls = case.recorded("waiters")
    moments = [float(seconds) * 1e9 for seconds in re.findall(r"\[ *([\d.]+)\] nvme nvme0: starting error recovery", case.dmesg)]
    tap.check(len(moments) == CUTS, f"premise: a path was cut {CUTS} times", moments)
    for span in spans:
        number = int(span["tag"].split("/")[1])
        mine = [call for call in calls if call["waiter"] == number]
        cut = under_way(mine, moments, SURE_NS)
        tap.check(cut and len(mine) >= 2 * len(cut), f"{span['tag']}: premise: some of its reads were cut, and others not", len(mine), len(cut))
        told, least, most = case.ns(top, span["tag"], "nvme_reset"), slept(cut), slept(under_way(mine, moments, -SURE_NS))
        tap.check(0.97 * least <= told <= 1.03 * most, f"{span['tag']}: those that were cut are nvme_reset", case.off(told, least), *case.report(top, span["tag"]))
        # The read that the end of the workload finds under way is in no call.
        told, truth = told + case.ns(top, span["tag"], "block_io"), slept(mine)
        tap.check(0.97 * truth <= told <= 1.03 * truth + READ_NS, f"{span['tag']}: and the others block_io", case.off(told, truth), *case.report(top, span["tag"]))
        case.check_ledger(top, span)
    tap.check({row["device"] for row in top["ledger"] if row["cause"] == "nvme_reset"} == {"nvme0n1"}, "the device is the disk, not a path to it", *case.report(top, None))
    case.cell("nvme_reset", top, stalled_ns=case.ns(top, None, "nvme_reset"), clock_ns=slept(under_way(calls, moments, 0)), fault="tcp: one of two paths cut")
