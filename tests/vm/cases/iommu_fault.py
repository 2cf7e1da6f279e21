"""An NVMe controller behind an IOMMU that reads memory which is not mapped for it, while eight threads wait for it. The controller gives up,
and its driver resets it once a request has timed out. The calls that were under way at the fault are iommu_fault, whole; calls of another
device (the disk of the guest), and those before and after, are not. Where the queue keeps no statistics newer kernels leave a request
with the start of an earlier use, so that another recording sees a reset there."""
import json
import re

MACHINE = ("-machine q35 -device intel-iommu,intremap=off,caching-mode=on "
           "-drive file=null-co://,file.size=1G,format=raw,if=none,id=nv -device nvme,drive=nv,serial=nv,id=nv0,max_ioqpairs=530")
APPEND = "intel_iommu=on iommu.passthrough=0 iommu.strict=1 iomem=relaxed"
GUEST = """
modprobe nvme_core io_timeout=4 admin_timeout=10 && modprobe nvme
until_true 20 test -b /dev/nvme0n1
record waiters "$WAITERS" how=read file=/dev/nvme0n1 threads=8 bytes=32768 seconds=90 &
until_true 60 pgrep -x waiters
sleep 4
throttle nv 20000
sleep 3
"$BAD_QUEUE" controller=/dev/nvme0 registers="/sys/class/nvme/nvme0/device/resource0" >/vm-out/fault
until_true 30 sh -c "dmesg | grep -q 'will reset\\|reset controller'"
throttle nv 0
sleep 3
pkill -TERM -x waiters
wait
echo 0 >/sys/block/nvme0n1/queue/iostats
record unkept "$WAITERS" how=read file=/dev/nvme0n1 threads=8 bytes=32768 seconds=60 &
until_true 60 pgrep -x waiters
sleep 4
echo 1 >/sys/class/nvme/nvme0/reset_controller
sleep 6
pkill -TERM -x waiters
wait
"""


def under_way(calls, at_ns):
    return sum(call["call_ns"] for call in calls if call["call_begin_ns"] < at_ns < call["call_begin_ns"] + call["call_ns"])


def check_unkept(case):
    """A reset is over within a moment; of six seconds behind it nearly all belongs to requests that it did not meet."""
    top, _, _ = case.recorded("unkept")
    reset, plain = (case.ns(top, None, cause) / 1e9 for cause in ("nvme_reset", "block_io"))
    case.tap.check(plain > 1 and reset < 0.3 * plain, "a queue without statistics: requests behind a reset are plain ones",
                   f"nvme_reset {reset:.3f} s, block_io {plain:.3f} s", *case.report(top, None))


def check(case):
    tap = case.tap
    top, spans, calls = case.recorded("waiters")
    fault_ns = json.loads(case.text("fault"))["fault_ns"]
    tap.check("DMAR: [DMA Read" in case.dmesg, "premise: the kernel tells of the fault", case.dmesg[-3000:])
    tap.check("reset" in case.dmesg, "premise: the controller is reset after it", case.dmesg[-3000:])
    case.check_hooks(top, "tp_btf/io_page_fault", "fentry/dmar_fault")
    faults, truth = top["stamp"]["counters"]["iommu_faults"], case.dmesg.count("DMAR: [DMA ")
    tap.check(faults == truth, "the faults are counted", f"told {faults}, truth {truth}", *case.report(top, None))
    place, address = re.search(r"DMA Read.*Request device \[(?:0000:)?([0-9a-f:.]+)\] fault addr (0x[0-9a-f]+)", case.dmesg).groups()
    tap.check(f"IOMMU fault: 0000:{place}: read of {address} refused, reason 0x06" in case.text("waiters.log"), "and told: device, address, reason",
              case.text("waiters.log"))
    for span in spans:
        number = int(span["tag"].split("/")[1])
        truth = sum(call["call_ns"] for call in calls if call["waiter"] == number and call["call_begin_ns"] < fault_ns < call["call_begin_ns"] + call["call_ns"])
        told = case.ns(top, span["tag"], "iommu_fault")
        tap.check(case.near(told, truth), f"{span['tag']}: the call under way at the fault is iommu_fault", case.off(told, truth),
                  *case.report(top, span["tag"]))
        case.check_ledger(top, span)
    told = case.ns(top, None, "iommu_fault")
    truth = under_way(calls, fault_ns)
    check_unkept(case)
    case.cell("iommu_fault", top, stalled_ns=told, clock_ns=truth, fault="a read of what is not mapped")
