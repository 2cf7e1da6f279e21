"""What becomes of a GPU's jobs: QEMU's virtio GPU gets buffers of 32 MiB, one at a time, each waited for (run), and one larger than its
resource, which it refuses; then more than its ring has room for, by four threads (queue). By the threads' own clocks."""
TCG = "multi"
MACHINE = "-device virtio-gpu-pci"
GUEST = """
modprobe virtio_gpu
until_true 20 test -e /dev/dri/card0
record jobs "$GPU_WAITERS" how=jobs threads=1 rounds=20
record ring "$GPU_WAITERS" how=ring threads=4 rounds=4
"""
HOOKS = ["tp_btf/virtio_gpu_cmd_queue", "tp_btf/virtio_gpu_cmd_response", "tp_btf/dma_fence_signaled", "fentry/drm_ioctl", "fexit/drm_ioctl"]
# What a driver does of a call before its first clock, or behind its last, is in no phase.
PART = 0.05


def row_of(case, top, name):
    rows = [row for row in top["gpu_jobs"] if row["class"] == "gpu"]
    case.tap.check(len(rows) == 1 and rows[0]["driver"] == "virtio_gpu" and rows[0]["ring"] == "control", f"{name}: a row of virtio_gpu's ring", top["gpu_jobs"])
    return rows[0]


def clock_of(calls, what):
    return sum(call["call_ns"] for call in calls if call["what"] == what)


def check_time(case, what, told, truth):
    case.tap.check(case.near(told, truth, PART), f"{what} is what the thread clocked", case.off(told, truth))
    case.cell("gpu_jobs", stalled_ns=told, clock_ns=truth, hooks=HOOKS, fault=what)


def check_sum(case, row, name):
    """Where all is known, the phases add up."""
    parts = row["submit"]["ns"] + row["queue"]["ns"] + row["run"]["ns"]
    case.tap.check(row["submit"]["jobs"] == row["queue"]["jobs"] == row["run"]["jobs"] == row["jobs"] and parts == row["total_ns"],
                   f"{name}: submit, queue and run of each job add up to its whole time", row)
    case.tap.check(row["wait"] is None and row["preempted"] is None, f"{name}: what no hook tells is not told as 0", row)


def check(case):
    top, _, calls = case.recorded("jobs")
    case.check_hooks(top, *HOOKS)
    row = row_of(case, top, "jobs")
    check_time(case, "jobs: run", row["run"]["ns"], clock_of(calls, "fence"))
    check_sum(case, row, "jobs")
    case.tap.check(row["jobs"] >= 20 and row["faults"] == 1, "jobs: one failed", row)
    case.tap.check(row["queue"]["slow"] == 0, "jobs: none stood long in the queue", row)
    top, _, calls = case.recorded("ring")
    row = row_of(case, top, "ring")
    check_time(case, "ring: submit and queue", row["submit"]["ns"] + row["queue"]["ns"], clock_of(calls, "ring"))
    check_sum(case, row, "ring")
    case.tap.check(row["faults"] == 0 and row["queue"]["slow"] + row["submit"]["slow"] > 0, "ring: jobs stood long in the queue, none failed", row)
    case.check_no_loss(top)
