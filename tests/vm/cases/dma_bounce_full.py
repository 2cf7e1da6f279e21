"""Bounce buffers (swiotlb) of 1 MiB, and sixteen threads that read 128 KiB each from an NVMe controller: some maps find no room there, which
is counted, and their requests are tried again. All waits are dma_bounce."""
MACHINE = "-drive file=null-co://,file.size=1G,format=raw,if=none,id=nv -device nvme,drive=nv,serial=nv,id=nv0"
APPEND = "swiotlb=512,force"
GUEST = """
modprobe nvme
until_true 20 test -b /dev/nvme0n1
throttle nv 16000000
tracing=/sys/kernel/tracing
echo 'r:map_single swiotlb_tbl_map_single address=$retval' >$tracing/kprobe_events
echo 'address == 0xffffffffffffffff' >$tracing/events/kprobes/map_single/filter
echo 1 >$tracing/events/kprobes/enable
record waiters "$WAITERS" how=read file=/dev/nvme0n1 threads=16 bytes=131072 seconds=12 long_ms=20
grep -c 'map_single: ' $tracing/trace >/vm-out/full
"""


def check(case):
    tap = case.tap
    top, spans, calls = case.recorded("waiters")
    full = top["stamp"]["counters"]["swiotlb_full"]
    case.check_hooks(top, "tp_btf/swiotlb_bounced")
    tap.check("attached" in (case.hook(top, "fexit/swiotlb_tbl_map_single")[0], case.hook(top, "fexit/swiotlb_map")[0]), "the hook on maps without room is attached")
    truth = int(case.text("full"))
    tap.check(truth > 0 and abs(full - truth) <= 0.03 * truth, "maps without room are counted, as a kprobe counts them", f"told {full}, truth {truth}")
    tap.check("found no room in the bounce buffers" in case.text("waiters.log"), "and told", case.text("waiters.log"))
    truth, told = sum(call["call_ns"] for call in calls), case.ns(top, None, "dma_bounce")
    busy = case.busy_ns(top)
    tap.check(case.all_of(told, busy, truth), "the long calls are dma_bounce's, but for time on the CPU and its queue", case.off(told, truth),
              *case.report(top, None))
    for span in spans:
        case.check_ledger(top, span)
    case.cell("dma_bounce", top, stalled_ns=told, clock_ns=truth, fault=f"no room for {full} maps")
