"""NVMe without a network (nvme-loop), whose controller is reset while threads read from it: what they wait for that is nvme_reset, no longer than
the resets took, and what the reset's worker does is sampled. The transport has no function for requests that time out, so nothing is
nvme_timeout. The device behind it is fast: with requests under way there, Linux 6.12 crashes in the reset, and sometimes even so."""
NOT_ON = {"6.1": "Debian's has no module nvme-loop"}
APPEND = "oops=panic"
CRASH = "nvme_loop_queue_response"
THREADS = 4
RESETS = 4
GUEST = f"""
modprobe -a nvme_loop nvmet && modprobe null_blk queue_mode=2 nr_devices=1 || exit 1
nvme_over_loop /dev/nullb0
echo "transport=loop,nqn=stall" >/dev/nvme-fabrics
until_true 20 test -b /dev/nvme0n1
record waiters "$WAITERS" how=read file=/dev/nvme0n1 threads={THREADS} seconds=300 long_ms=100000 &
until_true 60 pgrep -x waiters
sleep 8
for reset in $(seq {RESETS}); do
	date +%s%N >>/vm-out/resets
	echo 1 >/sys/class/nvme/nvme0/reset_controller
	until_true 30 grep -q live /sys/class/nvme/nvme0/state
	date +%s%N >>/vm-out/resets
	sleep 2
done
pkill -TERM -x waiters
wait
grep nvme_loop /proc/kallsyms >/vm-out/functions
"""


def check(case):
    tap = case.tap
    top, spans, _ = case.recorded("waiters")
    case.check_hooks(top, "fexit/nvme_change_ctrl_state", "fentry/nvme_loop_reset_ctrl_work", "fexit/nvme_loop_reset_ctrl_work")
    moments = [int(line) for line in case.text("resets").split()]
    longest = sum(end - begin for begin, end in zip(moments[::2], moments[1::2]))
    for span in spans:
        told = case.ns(top, span["tag"], "nvme_reset")
        tap.check(len(moments) == 2 * RESETS and 0 < told <= 1.03 * longest, f"{span['tag']}: it waited for the resets", case.off(told, longest), *case.report(top, span["tag"]))
        case.check_ledger(top, span)
    worked = [stack for stack in top["stacks"] if stack["recovery_ns"] and "nvme_loop_reset_ctrl_work" in {frame["function"] for frame in stack["frames"]}]
    tap.check(worked and all(stack["labels"].get("holds_up") == "waiter" for stack in worked), "the reset's worker is sampled, with whom it holds up", *worked[:2])
    tap.check(case.text("functions") and "nvme_loop_timeout" not in case.text("functions") and not case.ns(top, None, "nvme_timeout", "nvme_abort"),
              "the transport has no function for a timeout, and nothing is one", *case.report(top, None))
    case.cell("nvme_reset", top, fault="loop: reset_controller", stalled_ns=sum(case.ns(top, span["tag"], "nvme_reset") for span in spans))
