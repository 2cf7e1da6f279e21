"""An NVMe controller whose memory is always mapped through bounce buffers (swiotlb=force): eight threads read from it, slowed. The wait of
each is dma_bounce, whole. Without that hook (--no-cause) it is block_io."""
KERNEL = "6.1"
MACHINE = "-drive file=null-co://,file.size=1G,format=raw,if=none,id=nv -device nvme,drive=nv,serial=nv,id=nv0"
APPEND = "swiotlb=force"
GUEST = """
modprobe nvme
until_true 20 test -b /dev/nvme0n1
throttle nv 8000000
record waiters "$WAITERS" how=read file=/dev/nvme0n1 threads=8 bytes=131072 seconds=15 long_ms=20
"""


def check(case):
    tap = case.tap
    top, spans, calls = case.recorded("waiters")
    tap.check("software IO TLB" in case.dmesg, "premise: there are bounce buffers", case.dmesg[-3000:])
    case.check_hooks(top, "tp_btf/swiotlb_bounced")
    for span in spans:
        number = int(span["tag"].split("/")[1])
        truth = sum(call["call_ns"] for call in calls if call["waiter"] == number)
        told = case.ns(top, span["tag"], "dma_bounce")
        busy = case.busy_ns(top, span["tag"])
        tap.check(case.all_of(told, busy, truth), f"{span['tag']}: its long calls are dma_bounce's, but for its time on the CPU and its queue",
                  case.off(told, truth), *case.report(top, span["tag"]))
        case.check_ledger(top, span)
    case.cell("dma_bounce", top, stalled_ns=case.ns(top, None, "dma_bounce"), clock_ns=sum(call["call_ns"] for call in calls), fault="swiotlb=force")
