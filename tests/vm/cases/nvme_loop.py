"""NVMe without a network (nvme-loop), whose controller is reset while threads wait for it: their reads, which the reset gives up and makes again, are
nvme_reset, and what its worker does is sampled. That transport has no function for requests that time out: nothing is nvme_timeout."""
NOT_ON = {"6.1": "Debian's has no module nvme-loop"}
THREADS = 4
RESETS = 4
GUEST = f"""
modprobe -a nvme_loop nvmet && modprobe null_blk queue_mode=2 nr_devices=1 irqmode=2 completion_nsec=500000000 || exit 1
nvme_over_loop /dev/nullb0
echo "transport=loop,nqn=stall" >/dev/nvme-fabrics
until_true 20 test -b /dev/nvme0n1
record waiters "$WAITERS" how=read file=/dev/nvme0n1 threads={THREADS} seconds=300 long_ms=800 &
until_true 60 pgrep -x waiters
sleep 8
for reset in $(seq {RESETS}); do
	echo 1 >/sys/class/nvme/nvme0/reset_controller
	until_true 30 grep -q live /sys/class/nvme/nvme0/state
	sleep 3
done
pkill -TERM -x waiters
wait
grep nvme_loop /proc/kallsyms >/vm-out/functions
"""


def check(case):
    tap = case.tap
    top, spans, calls = case.recorded("waiters")
    case.check_hooks(top, "fexit/nvme_change_ctrl_state", "fentry/nvme_loop_reset_ctrl_work", "fexit/nvme_loop_reset_ctrl_work")
    for span in spans:
        number = int(span["tag"].split("/")[1])
        mine = [call for call in calls if call["waiter"] == number]
        told, truth = case.ns(top, span["tag"], "nvme_reset"), sum(call["call_ns"] for call in mine)
        tap.check(len(mine) >= RESETS - 1 and case.near(told, truth), f"{span['tag']}: its long calls are nvme_reset", case.off(told, truth), len(mine), *case.report(top, span["tag"]))
        case.check_ledger(top, span)
    worked = [stack for stack in top["stacks"] if stack["recovery_ns"] and "nvme_loop_reset_ctrl_work" in {frame["function"] for frame in stack["frames"]}]
    tap.check(worked and all(stack["labels"].get("holds_up") == "waiter" for stack in worked), "the reset's worker is sampled, with whom it holds up", *worked[:2])
    tap.check(case.text("functions") and "nvme_loop_timeout" not in case.text("functions") and not case.ns(top, None, "nvme_timeout", "nvme_abort"),
              "the transport has no function for a timeout, and nothing is one", *case.report(top, None))
    case.cell("nvme_reset", top, stalled_ns=case.ns(top, None, "nvme_reset"), clock_ns=sum(call["call_ns"] for call in calls), fault="loop: reset_controller")
