"""Fences of vgem, a DRM driver without hardware: each of four threads hands a buffer with a fence on it to the CPU (DMA_BUF_IOCTL_SYNC), and
waits in dma_fence_wait until another thread signals the fence. What they slept in those calls is gpu_fence, and each sample says for which
fence."""
KERNEL = "sid"
GUEST = """
modprobe vgem
until_true 20 test -e /dev/dri/card0
record fences "$GPU_WAITERS" how=fence threads=4 rounds=12 hold_ms=250
"""
HOLD_NS = 250e6
FRAMES = ("dma_fence_wait_timeout", "dma_buf_ioctl")


def check(case):
    tap = case.tap
    top, spans, calls = case.recorded("fences")
    tap.check({"tp_btf/dma_fence_wait_start", "tp_btf/dma_fence_wait_end"} <= case.hooks(top), "the hooks are attached", sorted(case.hooks(top)))
    # The kernel leaves a program out where it has preempted a thread that is in it. The profile says how often, and that many waits are blocked time.
    skipped = top["stamp"]["counters"].get("programs_skipped", 0)
    tap.note(f"{skipped} programs were skipped")
    for span in spans:
        number = int(span["tag"].split("/")[1])
        truth, told = sum(call["slept_ns"] for call in calls if call["waiter"] == number), case.ns(top, span["tag"], "gpu_fence")
        lost = round((truth - told) / HOLD_NS)
        tap.check(0 <= lost <= skipped and case.near(told + lost * HOLD_NS, truth), f"{span['tag']}: gpu_fence is what it slept in its calls",
                  case.off(told, truth), *case.report(top, span["tag"]))
        case.check_ledger(top, span)
    stacks = [stack for stack in top["stacks"] if stack["stall"] == "gpu_fence" and stack["delay_ns"]]
    case.check_frames(stacks, FRAMES)
    labels = [stack["labels"] for stack in stacks]
    tap.check(labels and all(label.get("driver") == "vgem" and label.get("timeline") == "unbound" and label.get("seqno") == 1 for label in labels),
              "each sample names driver, timeline and number of its fence", labels[:4])
    contexts = {label.get("context") for label in labels}
    tap.check(len(calls) - skipped <= len(contexts) <= len(calls), f"… and its context: {len(calls)} waits, {len(contexts)} contexts", sorted(map(str, contexts)))
    case.check_no_loss(top)
    case.cell("gpu_fence", top, stalled_ns=case.ns(top, None, "gpu_fence"), clock_ns=sum(call["slept_ns"] for call in calls), fault="a vgem fence signalled late")
