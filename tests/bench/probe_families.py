"""The families of probes whose cost is told one by one (tests/bench/families, tests/vm/cases/overhead.py): their causes, armed by switching all
others off, and what a recording's programs took, by the kernel's own count (kernel.bpf_stats_enabled)."""
NVME = ["nvme_reset", "nvme_reset_queue", "nvme_paths", "nvme_worker", "nvme_worker_tcp", "nvme_timeout", "nvme_abort"]
# [what it is called, the causes that are armed, what happens meanwhile]
FAMILIES = [
    ("core", [], "read"),
    ("block_io", ["block_io"], "read"),
    ("… and throttle", ["block_io", "throttle"], "read"),
    ("… and requests", ["block_io", "throttle", "requests"], "read"),
    ("tag_wait", ["tag_wait"], "read"),
    ("nvme", NVME, "read"),
    ("dma_map", ["dma_request", "dma_map"], "read"),
    ("dma_bounce", ["dma_request", "dma_bounce", "dma_bounce_full"], "read"),
    ("iommu_fault", ["iommu_fault", "iommu_fault_intel"], "read"),
    ("writeback, journal", ["writeback", "journal"], "sync"),
    ("nfs", ["nfs_read", "nfs_write"], "nfs"),
    ("files", ["tag_files"], "files"),
    ("gpu_fence", ["gpu_fence", "gpu_fence_names", "gpu_fence_any", "gpu_fence_syncobj"], "fence"),
    ("gpu_ring", ["gpu_ring_virtio"], "ring"),
    ("gpu_jobs", ["gpu_jobs", "gpu_jobs_ioctl", "gpu_jobs_virtio"], "ring"),
    ("gpu_sync", ["gpu_sync"], "calls"),
    ("cpu", ["cpu"], "read"),
]
CAUSES = sorted({cause for _, causes, _ in FAMILIES for cause in causes} | {"collective"})
# Nothing of theirs happens unless something fails.
WITHOUT_EVENTS = {"iommu_fault": "no fault", "nvme": "no recovery"}
HEAD = f"{'family':<20} {'events':>7} {'runs':>8} {'ns a run':>9} {'ns an event':>12}  event"


def options_of(causes):
    """What arms these alone."""
    return [word for cause in CAUSES if cause not in causes for word in ("--no-cause", cause)]


def spent_of(programs):
    """{program: (ns, runs)} of what `bpftool -j prog show` lists."""
    found = {}
    for program in programs:
        ns, runs = found.get(program.get("name", ""), (0, 0))
        found[program.get("name", "")] = ns + program.get("run_time_ns", 0), runs + program.get("run_cnt", 0)
    return found


def own_of(spent, core):
    """Those that are not there without the family. `core`: None for that itself."""
    return spent if core is None else {program: took for program, took in spent.items() if program not in core}


def line_of(name, own, events, what):
    ns, runs = (sum(took[i] for took in own.values()) for i in (0, 1))
    return f"{name:<20} {events:>7} {runs:>8} {ns / max(runs, 1):>9.0f} {ns / max(events, 1):>12.0f}  {what}"
