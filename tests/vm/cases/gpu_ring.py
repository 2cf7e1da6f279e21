"""QEMU's virtio GPU: three threads hand it buffers of 32 MiB faster than it copies them, and wait until its control queue has room
(gpu_ring); a fourth makes a small buffer behind those, and waits until the device has it (a fence on that queue: gpu_fence)."""
TCG = "multi"
MACHINE = "-device virtio-gpu-pci"
GUEST = """
modprobe virtio_gpu
until_true 20 test -e /dev/dri/card0
record ring "$GPU_WAITERS" how=ring threads=4 rounds=6
"""
RING = {"fentry/virtio_gpu_queue_fenced_ctrl_buffer", "fexit/virtio_gpu_queue_fenced_ctrl_buffer"}
FRAMES = {"gpu_ring": ("virtio_gpu_queue_fenced_ctrl_buffer",), "gpu_fence": ("dma_fence_wait_timeout", "virtio_gpu_wait_ioctl")}
# A row whose waits were all too short for a sample has stacks of like waits, and then no labels.
LABELS = {"gpu_ring": {"driver": "virtio_gpu"}, "gpu_fence": {"driver": "virtio_gpu", "timeline": "controlq"}}


def check_cause(case, top, calls, cause):
    told = case.ns(top, None, cause)
    truth = sum(call["slept_ns"] for call in calls if f"gpu_{call['what']}" == cause)
    case.tap.check(truth > 1e8, f"premise: threads waited for {cause}", f"{truth / 1e9:.6f} s")
    case.tap.check(case.near(told, truth), f"{cause} is what the threads slept in those calls", case.off(told, truth), *case.report(top, None))
    stacks = [stack for stack in top["stacks"] if stack["stall"] == cause and stack["delay_ns"]]
    case.check_frames(stacks, FRAMES[cause])
    says = [stack for stack in stacks if LABELS[cause].items() <= stack["labels"].items()]
    part = sum(stack["delay_ns"] for stack in says) / max(1, sum(stack["delay_ns"] for stack in stacks))
    case.tap.check(part >= 0.97, f"{cause}: the samples say whose: {part:.1%}", *[stack["labels"] for stack in stacks[:5]])
    if cause == "gpu_fence":
        case.tap.check(says and all(stack["labels"].get("seqno") for stack in says), "gpu_fence: each has its fence's number", *[stack["labels"] for stack in says[:5]])
    case.cell(cause, top, stalled_ns=told, clock_ns=truth, fault="more transfers than virtio-gpu's queue has room for")


def check(case):
    top, spans, calls = case.recorded("ring")
    case.tap.check(RING <= case.hooks(top), "the hooks are attached", sorted(case.hooks(top)))
    for cause in FRAMES:
        check_cause(case, top, calls, cause)
    for span in spans:
        number = int(span["tag"].split("/")[1])
        truth = sum(call["slept_ns"] for call in calls if call["waiter"] == number)
        told = case.ns(top, span["tag"], *FRAMES)
        case.tap.check(case.near(told, truth), f"{span['tag']}: its stalls are what it slept in its calls", case.off(told, truth), *case.report(top, span["tag"]))
        case.check_ledger(top, span)
    case.check_no_loss(top)
