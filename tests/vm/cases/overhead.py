"""What the programs of each family of probes take, ns an event, by the kernel's own count (kernel.bpf_stats_enabled): one family is armed at a
time, by --no-cause for all others, while something happens that it looks at. A guest emulates its CPU: what it takes here says how the families
compare, and that each can be switched off, not what they cost on hardware (make bench's part "families" does, for those that the host has).
The kernel's own way to a program, some 20 to 50 ns on hardware, is not in the count, nor is the trap of a probe on a library's function."""
import json
import os
import sys

TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path[:0] = [f"{TESTS}/e2e/libraries", f"{TESTS}/bench"]
import libraries  # noqa: E402
from probe_families import FAMILIES, HEAD, WITHOUT_EVENTS, line_of, options_of, own_of, spent_of  # noqa: E402

BUILD = sys.argv[1]
SECONDS = 1800
MACHINE = "-drive file=null-co://,file.size=1G,format=raw,if=none,id=nv -device nvme,drive=nv,serial=nv,id=nv0 -device virtio-gpu-pci"
APPEND = "swiotlb=force"
CUDA = libraries.build(BUILD, "standin_cuda", sources=["standin_cuda.c"], library="libcuda.so.1")
WAITS = libraries.build(BUILD, "gpu_waits")

# What happens, and how often. Of a GPU's jobs, as often as the program runs most that is called for each: some are over before the hooks are there.
READS, SYNCS, NFS, FILES, JOBS, FENCES = 1500, 100, 200, 2000, None, 8 * 4
LOADS = {
    "read": (f"dd if=/dev/nvme0n1 of=/dev/null bs=4k count={READS} iflag=direct", READS, "4 KiB read of NVMe"),
    "sync": (f"dd if=/dev/zero of=/vm-disk/synced bs=4k count={SYNCS} oflag=dsync", SYNCS, "synced write of ext4"),
    "nfs": (f"dd if=/dev/zero of=/mnt/nfs/direct bs=4k count={NFS} oflag=direct", NFS, "direct write to NFS"),
    "files": (f"dd if=/vm-disk/tagged/data of=/dev/null bs=4k count={FILES}", FILES, "buffered read of a tagged file"),
    "ring": ("\\$GPU_WAITERS how=ring threads=3 rounds=2 file=/dev/dri/card1", JOBS, "job of virtio_gpu"),
    "fence": ("\\$GPU_WAITERS how=fence threads=4 rounds=8 hold_ms=20 file=/dev/dri/card0", FENCES, "wait for a fence of vgem"),
    "calls": (f"{WAITS} library={CUDA} how=sleep ms=20 rounds=20 tagged_ms=5000", 20, "call of a driver's library"),
}
# By a tracepoint that comes only where a thread waits for a tag, not by each request's call of a function.
IDLE_ON = {"sid": {"tag_wait": "no wait"}}


def measured(number):
    _, causes, load = FAMILIES[number]
    files = "--tag-files /vm-disk/tagged" if "tag_files" in causes else ""
    return f'measure {number} "{" ".join(options_of(causes))} {files}" "{LOADS[load][0]}"'


GUEST = """
modprobe nvme && modprobe -a vgem nfsd nfs || exit 1
modprobe virtio_gpu
until_true 20 test -b /dev/nvme0n1
until_true 20 test -e /dev/dri/card1
mkdir -p /vm-disk/export /vm-disk/tagged
dd if=/dev/zero of=/vm-disk/tagged/data bs=1M count=8 2>/dev/null
nfs_mounted
export GPU_WAITERS
echo 1 >/proc/sys/kernel/bpf_stats_enabled
measure()
{
	"$STALLPROF" record $2 -o /tmp/measured.pb.gz -- sh -c "$3; bpftool -j prog show >/vm-out/$1.programs" >/vm-out/$1.log 2>&1
	echo $? >/vm-out/$1.code
}
%s
""" % "\n".join(measured(number) for number in range(len(FAMILIES)))


def check(case):
    core, table = None, {}
    case.tap.note(f"{case.kernel}, emulated:", HEAD)
    for number, (name, _, load) in enumerate(FAMILIES):
        case.tap.check(case.text(f"{number}.code").strip() == "0", f"{name}: recorded", case.text(f"{number}.log")[-1500:])
        spent, (_, events, what) = spent_of(case.json(f"{number}.programs")), LOADS[load]
        own = own_of(spent, core)
        core = core or spent
        runs = sum(took[1] for took in own.values())
        events = events or max((took[1] for took in own.values()), default=1)
        table[name] = {"events": events, "event": what, "programs": own}
        case.tap.note(line_of(name, own, events, what))
        idle = {**WITHOUT_EVENTS, **IDLE_ON.get(case.kernel, {})}.get(name)
        if idle:
            case.tap.check(own and not runs, f"{name}: armed, and does nothing: {idle}", own)
        else:
            case.tap.check(own and runs >= (1 if name == "cpu" else events), f"{name}: its programs run, and are not there without it", own)
    with open(f"{case.out}/overhead.json", "w") as file:
        json.dump(table, file, indent=1)
