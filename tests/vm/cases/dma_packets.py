"""A host's packets are mapped by the functions that map requests' memory, fragment by fragment (dma_map_page_attrs; network card e1000). Of
what a thread with a tag sends no map is dma_map, however slow; nor of what others send. But a map that it makes itself in a call of a
GPU's driver is, though it is for no request. What the programs take of a map is noted, by the kernel's own count: ns of an emulated CPU."""
MACHINE = "-netdev user,id=net,restrict=on -device e1000,netdev=net -device virtio-gpu-pci,iommu_platform=on"
PACKETS = 2000
PROGRAMS = ("on_page_begins", "on_page_ends")
GUEST = f"""
modprobe e1000 && modprobe virtio_gpu || exit 1
until_true 20 test -e /dev/dri/card0
card=$(basename $(readlink -f /sys/bus/pci/drivers/e1000/*/net/*))
ip address add 10.0.2.15/24 dev $card && ip link set $card up && ip neighbour add 10.0.2.9 lladdr 52:54:00:12:34:99 dev $card || exit 1
cat >/vm-disk/send.py <<'END'
import os, socket, sys
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range({PACKETS}):
    sender.sendto(b"x" * 1000, ("10.0.2.9", 9))
os.system("bpftool -j prog show >/vm-out/%s.programs" % sys.argv[1])
open("/vm-disk/%s.sent" % sys.argv[1], "w")
END
echo 1 >/proc/sys/kernel/bpf_stats_enabled
tracing=/sys/kernel/tracing
echo 'p:mapped dma_map_page_attrs' >$tracing/kprobe_events
echo 'comm == "python3"' >$tracing/events/kprobes/mapped/filter
echo 1 >$tracing/events/kprobes/mapped/enable
RECORD_OPTIONS="--dma-threshold 1 --cpu-hz 0"
record tagged /usr/bin/python3 -I /vm-disk/send.py tagged
grep -c python3- $tracing/trace >/vm-out/tagged.maps
echo >$tracing/trace
{{ until_true 60 test -e /vm-disk/began; /usr/bin/python3 -I /vm-disk/send.py others; }} &
record others sh -c "touch /vm-disk/began; until [ -e /vm-disk/others.sent ]; do sleep 0.1; done"
grep -c python3- $tracing/trace >/vm-out/others.maps
record gpu "$GPU_WAITERS" how=ring threads=2 rounds=2 file=/dev/dri/card0
"""


def check(case):
    tap = case.tap
    for who in ("tagged", "others"):
        top, maps = case.recorded(who)[0], int(case.text(f"{who}.maps"))
        # The others wait in the card's queue, and are sent by whoever comes by.
        tap.check(maps > PACKETS / 2, f"{who}: premise: the sender maps its packets", f"{maps} maps of {PACKETS} packets")
        tap.check(case.ns(top, None, "dma_map") == 0 and case.cpu_ns(top, "dma_map") == 0, f"{who}: nothing is dma_map", *case.report(top, None))
        took = {program["name"]: program for program in case.json(f"{who}.programs") if program.get("name") in PROGRAMS}
        tap.check(set(took) == set(PROGRAMS), f"{who}: the programs were there", str(set(took)))
        tap.note(*[f"{who}: {name}: {program.get('run_time_ns', 0) / max(program.get('run_cnt', 0), 1):.0f} ns a run, {program.get('run_cnt', 0)} runs"
                   for name, program in sorted(took.items())])
    top = case.recorded("gpu")[0]
    tap.check(case.cpu_ns(top, "dma_map") > 0, "gpu: what the driver maps is dma_map", *case.report(top, None))
