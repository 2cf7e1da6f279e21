"""What becomes of a GPU's jobs: QEMU's virtio GPU gets a buffer of 128 MiB, again and again, one job at a time, each waited for, and one larger than its
resource, which it refuses; then more than its ring has room for, by four threads (queue). By the threads' own clocks."""
TCG = "multi"
MACHINE = "-device virtio-gpu-pci"
GUEST = """
modprobe virtio_gpu
until_true 20 test -e /dev/dri/card0
record jobs "$GPU_WAITERS" how=jobs threads=1 rounds=12
record ring "$GPU_WAITERS" how=ring threads=4 rounds=4
"""
HOOKS = ["tp_btf/virtio_gpu_cmd_queue", "tp_btf/virtio_gpu_cmd_response", "tp_btf/dma_fence_signaled", "fentry/drm_ioctl", "fexit/drm_ioctl"]
PART, AROUND = 0.05, 0.15


def row_of(case, top, name):
    rows = [row for row in top["gpu_jobs"] if row["class"] == "gpu"]
    case.tap.check(len(rows) == 1 and rows[0]["driver"] == "virtio_gpu" and rows[0]["ring"] == "control", f"{name}: a row of virtio_gpu's ring", top["gpu_jobs"])
    return rows[0]


def clock_of(calls, field, *whats):
    return sum(call[field] for call in calls if call["what"] in whats)


def check_phases(case, row, calls):
    """One job at a time. A resource's memory is had in the call that makes it, before its job is handed over. Each transfer is waited for right
    away, by the fence of a command behind it: so its run is a little less than the time from its call to the end of that wait."""
    told, truth = row["submit"]["ns"], clock_of(calls, "call_ns", "made")
    case.tap.check(case.near(told, truth, PART), "jobs: submit is the call that makes the resource", case.off(told, truth), row)
    case.cell("gpu_jobs", stalled_ns=told, clock_ns=truth, hooks=HOOKS, fault="memory to be had first: submit")
    told, truth = row["run"]["ns"], clock_of(calls, "call_ns", "ring", "fence")
    case.tap.check((1 - AROUND) * truth <= told <= (1 + PART) * truth, "jobs: run is what the thread waited for them", case.off(told, truth), row)
    case.cell("gpu_jobs", stalled_ns=told, clock_ns=truth, hooks=HOOKS, fault="one job at a time: run, and the wait's own wake")


def check_queue(case, row, calls):
    """In the queue a thread sleeps; what the call takes besides, of which the driver's kick of the device is the most, is no queue's."""
    low, high = clock_of(calls, "slept_ns", "ring"), clock_of(calls, "call_ns", "ring")
    told = row["queue"]["ns"]
    case.tap.check((1 - PART) * low <= told <= high and low > 1e8, "ring: the queue is where the threads slept in their calls", case.off(told, low), f"calls {high / 1e9:.6f} s")
    case.tap.check(told + row["submit"]["ns"] <= 1.001 * high, "ring: submit and queue are parts of the calls", row, f"calls {high / 1e9:.6f} s")
    case.cell("gpu_jobs", stalled_ns=told, clock_ns=low, hooks=HOOKS, fault="more jobs than the ring has room for: queue")


def check_sum(case, top, row, name):
    """A phase is not known of a job whose hook the kernel left out, as a thread was preempted in its program."""
    phases, skipped = [row[name] for name in ("submit", "queue", "run")], top["stamp"]["counters"]["programs_skipped"]
    case.tap.check(all(phase["jobs"] >= row["jobs"] - skipped for phase in phases) and sum(phase["ns"] for phase in phases) == row["total_ns"],
                   f"{name}: submit, queue and run of the jobs are known, and add up to their whole time", row, f"{skipped} programs left out")
    case.tap.check(row["wait"] is None and row["preempted"] is None, f"{name}: what no hook tells is not told as 0", row)


def check(case):
    top, _, calls = case.recorded("jobs")
    case.check_hooks(top, *HOOKS)
    row = row_of(case, top, "jobs")
    check_phases(case, row, calls)
    check_sum(case, top, row, "jobs")
    case.tap.check(row["jobs"] >= 12 and row["faults"] == 1, "jobs: one failed", row)
    case.tap.check(row["queue"]["slow"] == 0, "jobs: none stood long in the queue", row)
    top, _, calls = case.recorded("ring")
    row = row_of(case, top, "ring")
    check_queue(case, row, calls)
    check_sum(case, top, row, "ring")
    case.tap.check(row["faults"] == 0 and row["queue"]["slow"] + row["submit"]["slow"] > 0, "ring: jobs stood long in the queue, none failed", row)
    case.check_no_loss(top)
