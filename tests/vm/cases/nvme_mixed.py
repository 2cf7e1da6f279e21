"""Three things at once, to sixteen threads that read from an NVMe controller (PCI): its queues have three tags each, its memory is mapped through
bounce buffers (swiotlb=force), and it is reset five times. Each wait is told once: as many as the kernel counts, and as long as the calls took."""
import profiled

MACHINE = "-drive file=null-co://,file.size=1G,format=raw,if=none,id=nv -device nvme,drive=nv,serial=nv,id=nv0"
APPEND = "swiotlb=force"
NOT_ON = {"6.1": "a read that was under way in the first reset never ends there, and the disk is taken away; also without the profiler"}
THREADS = 16
RESETS = 5
WAITS = 1000
CAUSES = ("tag_wait", "nvme_reset", "dma_bounce", "block_io")
GUEST = f"""
modprobe nvme io_queue_depth=4
until_true 20 test -b /dev/nvme0n1
dmesg -w >/vm-out/live &
live=$!
cat /sys/block/nvme0n1/mq/*/nr_tags >/vm-out/tags
throttle nv 1000000
record waiters "$WAITERS" how=read file=/dev/nvme0n1 threads={THREADS} bytes=32768 seconds=300 long_ms=0 &
until_true 60 pgrep -x waiters
sleep 4
for round in $(seq {RESETS}); do
	echo 1 >/sys/class/nvme/nvme0/reset_controller
	until_true 20 grep -q live /sys/class/nvme/nvme0/state
	sleep 4
done
pkill -TERM -x waiters
kill $live
wait
"""


def check_thread(case, top, span, calls, slept):
    """Returns the time of its calls, and what is told of it."""
    tap, tag = case.tap, span["tag"]
    truth = sum(call["call_ns"] for call in calls)
    told, busy = case.ns(top, tag, *CAUSES), case.busy_ns(top, tag)
    tap.check(case.near(told + busy, truth), f"{tag}: its calls' time is the causes', and its own on the CPU and its queue", case.off(told + busy, truth),
              *case.report(top, tag))
    waits = sum(row["count"] for row in top["ledger"] if row["tag"] == tag and row["state"] in ("stall", "blocked"))
    tap.check(abs(waits - slept) <= 2, f"{tag}: each of its {slept} sleeps is told once", f"told {waits}")
    case.check_ledger(top, span)
    return truth, told + busy


def check(case):
    tap = case.tap
    top, spans, calls = case.recorded("waiters")
    slept = {line["waiter"]: line["slept"] for line in profiled.json_lines(case.text("waiters.lines")) if "slept" in line}
    tap.check(set(case.text("tags").split()) == {"3"}, "premise: three tags a queue", case.text("tags"))
    tap.check(sum(slept.values()) >= WAITS, f"premise: {len(calls)} calls, {sum(slept.values())} waits")
    tap.check("software IO TLB" in case.dmesg, "premise: there are bounce buffers")
    case.check_hooks(top, "tp_btf/swiotlb_bounced")
    truth, told = 0, 0
    for span in spans:
        number = int(span["tag"].split("/")[1])
        seen = check_thread(case, top, span, [call for call in calls if call["waiter"] == number], slept[number])
        truth, told = truth + seen[0], told + seen[1]
    tap.note(f"{case.off(told, truth)}", *case.report(top, None))
    for cause in CAUSES[:3]:
        tap.check(case.ns(top, None, cause) > 0.01 * truth, f"{cause} is told", *case.report(top, None))
    case.check_no_loss(top)
    case.cell("tag_wait", top, stalled_ns=told, clock_ns=truth, fault="with resets and bounces")
