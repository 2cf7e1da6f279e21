"""What the programs of each family of probes take, ns an event, by the kernel's own count (kernel.bpf_stats_enabled): one family is armed at a
time, by --no-cause for all others, while something happens that it looks at. A guest emulates its CPU: what it takes here says how the families
compare, and that each can be switched off, not what they cost on hardware (make bench's part "families" does, for those that the host has).
The kernel's own way to a program, some 20 to 50 ns on hardware, is not in the count, nor is the trap of a probe on a library's function."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "e2e", "libraries"))
import libraries  # noqa: E402

BUILD = sys.argv[1]
SECONDS = 900
MACHINE = "-drive file=null-co://,file.size=1G,format=raw,if=none,id=nv -device nvme,drive=nv,serial=nv,id=nv0 -device virtio-gpu-pci"
APPEND = "swiotlb=force"
CUDA = libraries.build(BUILD, "standin_cuda", sources=["standin_cuda.c"], library="libcuda.so.1")
WAITS = libraries.build(BUILD, "gpu_waits")

# What happens, and how often.
READS, SYNCS, NFS, FILES, JOBS, FENCES = 1500, 100, 200, 2000, 2 * 64 * 2, 8 * 4
LOADS = {
    "read": (f"dd if=/dev/nvme0n1 of=/dev/null bs=4k count={READS} iflag=direct", READS, "4 KiB read of NVMe"),
    "sync": (f"dd if=/dev/zero of=/vm-disk/synced bs=4k count={SYNCS} oflag=dsync", SYNCS, "synced write of ext4"),
    "nfs": (f"dd if=/dev/zero of=/mnt/nfs/direct bs=4k count={NFS} oflag=direct", NFS, "direct write to NFS"),
    "files": (f"dd if=/vm-disk/tagged/data of=/dev/null bs=4k count={FILES}", FILES, "buffered read of a tagged file"),
    "ring": ("\\$GPU_WAITERS how=ring threads=3 rounds=2 file=/dev/dri/card1", JOBS, "job of virtio_gpu"),
    "fence": ("\\$GPU_WAITERS how=fence threads=4 rounds=8 hold_ms=20 file=/dev/dri/card0", FENCES, "wait for a fence of vgem"),
    "calls": (f"{WAITS} library={CUDA} how=sleep ms=20 rounds=20 tagged_ms=5000", 20, "call of a driver's library"),
}
NVME = ["nvme_reset", "nvme_reset_queue", "nvme_paths", "nvme_worker", "nvme_worker_tcp", "nvme_timeout", "nvme_abort"]
DMA = ["dma_request", "dma_map"]
# [what it is called, the causes that are armed, the load]
FAMILIES = [
    ("core", [], "read"),
    ("block_io", ["block_io"], "read"),
    ("… and throttle", ["block_io", "throttle"], "read"),
    ("… and requests", ["block_io", "throttle", "requests"], "read"),
    ("tag_wait", ["tag_wait"], "read"),
    ("nvme", NVME, "read"),
    ("dma_map", DMA, "read"),
    ("dma_bounce", ["dma_request", "dma_bounce", "dma_bounce_full"], "read"),
    ("iommu_fault", ["iommu_fault", "iommu_fault_intel"], "read"),
    ("writeback, journal", ["writeback", "journal"], "sync"),
    ("nfs", ["nfs_read", "nfs_write"], "nfs"),
    ("files", ["tag_files"], "files"),
    ("gpu_fence", ["gpu_fence", "gpu_fence_names", "gpu_fence_any", "gpu_fence_syncobj"], "fence"),
    ("gpu_ring", ["gpu_ring_virtio"], "ring"),
    ("gpu_jobs", ["gpu_jobs", "gpu_jobs_ioctl", "gpu_jobs_virtio"], "ring"),
    ("gpu_sync", ["gpu_sync"], "calls"),
]
CAUSES = sorted({cause for _, causes, _ in FAMILIES for cause in causes} | {"collective", "cpu"})
# Nothing of theirs happens in here.
WITHOUT_EVENTS = {"iommu_fault": "no fault"}


def line_of(number):
    name, causes, load = FAMILIES[number]
    off = " ".join(f"--no-cause {cause}" for cause in CAUSES if cause not in causes)
    files = "--tag-files /vm-disk/tagged" if "tag_files" in causes else ""
    return f'measure {number} "{off} {files}" "{LOADS[load][0]}"'


GUEST = """
modprobe nvme && modprobe -a vgem nfsd nfs || exit 1
modprobe virtio_gpu
until_true 20 test -b /dev/nvme0n1
until_true 20 test -e /dev/dri/card1
mkdir -p /vm-disk/export /vm-disk/tagged /mnt/nfs /var/lib/nfs/rpc_pipefs /var/lib/nfs/v4recovery
dd if=/dev/zero of=/vm-disk/tagged/data bs=1M count=8 2>/dev/null
mount -t nfsd nfsd /proc/fs/nfsd
echo 10 >/proc/fs/nfsd/nfsv4leasetime
echo 10 >/proc/fs/nfsd/nfsv4gracetime
echo "/vm-disk/export 127.0.0.1(rw,async,no_subtree_check,no_root_squash,fsid=0)" >/etc/exports
exportfs -ra
rpc.mountd -N 3 && rpc.nfsd -N 3 4
mount -t nfs4 -o vers=4.2 127.0.0.1:/ /mnt/nfs || exit 1
touch /mnt/nfs/began # not before the server's time of grace is over
export GPU_WAITERS
echo 1 >/proc/sys/kernel/bpf_stats_enabled
measure()
{
	"$STALLPROF" record $2 -o /tmp/measured.pb.gz -- sh -c "$3; bpftool -j prog show >/vm-out/$1.programs" >/vm-out/$1.log 2>&1
	echo $? >/vm-out/$1.code
}
%s
""" % "\n".join(line_of(number) for number in range(len(FAMILIES)))


def programs(case, number):
    """{program: (ns, runs)}"""
    return {program.get("name", ""): (program.get("run_time_ns", 0), program.get("run_cnt", 0)) for program in case.json(f"{number}.programs")}


def check(case):
    core, table = {}, {}
    case.tap.note(f"{case.kernel}, emulated:", f"{'family':<20} {'events':>7} {'runs':>8} {'ns a run':>9} {'ns an event':>12}  event")
    for number, (name, _, load) in enumerate(FAMILIES):
        case.tap.check(case.text(f"{number}.code").strip() == "0", f"{name}: recorded", case.text(f"{number}.log")[-1500:])
        seen = programs(case, number)
        core = core or seen
        own = seen if number == 0 else {program: spent for program, spent in seen.items() if program not in core}
        ns, runs, (_, events, what) = sum(spent[0] for spent in own.values()), sum(spent[1] for spent in own.values()), LOADS[load]
        table[name] = {"events": events, "runs": runs, "ns": ns, "programs": own}
        case.tap.note(f"{name:<20} {events:>7} {runs:>8} {ns / max(runs, 1):>9.0f} {ns / events:>12.0f}  {what}")
        if name in WITHOUT_EVENTS:
            case.tap.check(own and not runs, f"{name}: armed, and does nothing: {WITHOUT_EVENTS[name]}", own)
        else:
            case.tap.check(own and runs >= events, f"{name}: its programs run at each event, and are not there without it", own)
    with open(f"{case.out}/overhead.json", "w") as file:
        json.dump(table, file, indent=1)
