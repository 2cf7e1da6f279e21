"""An NVMe controller behind an IOMMU, which makes each map a walk over its tables: eight threads read, and wait for requests whose maps
were all slow by the threshold given. The wait of each is dma_map, whole. The time on the CPU within the maps is checked against kprobes
around them, which see the hooks' programs, too. With a threshold that no map reaches, and with the cause switched off, nothing is dma_map."""
import re
import statistics

MACHINE = ("-machine q35 -device intel-iommu,intremap=off,caching-mode=on "
           "-drive file=null-co://,file.size=1G,format=raw,if=none,id=nv -device nvme,drive=nv,serial=nv,id=nv0")
APPEND = "intel_iommu=on iommu.passthrough=0 iommu.strict=1"
GUEST = """
modprobe nvme
until_true 20 test -b /dev/nvme0n1
throttle nv 8000000
tracing=/sys/kernel/tracing
for function in dma_map_phys dma_map_page_attrs __dma_map_sg_attrs dma_iova_try_alloc dma_iova_link dma_iova_sync; do
	echo "p:map_begin_$function $function" >>$tracing/kprobe_events
	echo "r:map_end_$function $function" >>$tracing/kprobe_events
done
reads="how=read file=/dev/nvme0n1 threads=8 bytes=131072 long_ms=20"
for how in "waiters 12 --dma-threshold 1000 --cpu-hz 0" "none 5 --dma-threshold 1000000000" "off 5 --dma-threshold 1000 --no-cause dma_map"; do
	set -- $how
	name=$1
	seconds=$2
	shift 2
	echo 1 >$tracing/events/kprobes/enable
	RECORD_OPTIONS="$*" record $name "$WAITERS" $reads seconds=$seconds
	echo 0 >$tracing/events/kprobes/enable
	grep waiters- $tracing/trace >/vm-out/$name.maps
	echo >$tracing/trace
done
"""
MAP = re.compile(r"waiters-(\d+)\s.*?(\d+\.\d+): map_(begin|end)_(\w+): ")


# The last of them calls dma_iova_*(), whose own frames 7.2 does not give.
MAPS = {"dma_map_phys", "dma_map_page_attrs", "__dma_map_sg_attrs", "dma_alloc_attrs", "dma_iova_try_alloc", "dma_iova_link", "dma_iova_sync", "blk_dma_map_iter_start"}


def maps_ns(text):
    """How long each call of a mapping function took that a thread of the workload made; a call within a call is the outer one's."""
    begun, lengths = {}, []
    for line in text.splitlines():
        match = MAP.search(line)
        if not match:
            continue
        thread, moment, what, function = match.groups()
        if what == "begin":
            begun.setdefault(thread, (float(moment), function))
        elif thread in begun and begun[thread][1] == function:
            lengths.append((float(moment) - begun.pop(thread)[0]) * 1e9)
    return lengths


def check_cpu(case, top):
    """No more than the calls took, with the programs of the hooks around them, which take most of that when a host interprets them. (Without
    on-CPU samples nothing else on the CPU is told.) What a call takes without hooks is noted."""
    maps = {name: maps_ns(case.text(f"{name}.maps")) for name in ("waiters", "none", "off")}
    told, count = case.cpu_ns(top, "dma_map"), len(maps["waiters"])
    leaves = {stack["frames"][0]["function"] for stack in top["stacks"] if stack["stall"] == "dma_map" and stack["cpu_ns"]} - {"[not sampled]"}
    if not case.tap.check(all(maps.values()), "premise: kprobes see maps", str({name: len(lengths) for name, lengths in maps.items()})):
        return
    truth = sum(maps["waiters"])
    case.tap.check(0.25 * truth < told < truth, "the time on the CPU within maps is a part of what kprobes have for them", case.off(told, truth))
    case.tap.check(leaves and leaves <= MAPS, "its stacks end in the map", str(leaves))
    case.tap.note(f"waiters: told {told / count:.0f} ns a map")
    for name, lengths in maps.items():
        case.tap.note(f"{name}: {len(lengths)} maps, by kprobes {sum(lengths) / len(lengths):.0f} ns each, median {statistics.median(lengths):.0f} ns")


def check(case):
    tap = case.tap
    top, spans, calls = case.recorded("waiters")
    tap.check("DMAR: IOMMU enabled" in case.dmesg or "DMAR: Intel(R) Virtualization Technology for Directed I/O" in case.dmesg,
              "premise: the IOMMU is on", case.dmesg[-3000:])
    for span in spans:
        number = int(span["tag"].split("/")[1])
        truth = sum(call["call_ns"] for call in calls if call["waiter"] == number)
        told = case.ns(top, span["tag"], "dma_map")
        busy = case.busy_ns(top, span["tag"])
        tap.check(case.all_of(told, busy, truth), f"{span['tag']}: its long calls are dma_map's, but for its time on the CPU and its queue",
                  case.off(told, truth), *case.report(top, span["tag"]))
        case.check_ledger(top, span)
    check_cpu(case, top)
    case.cell("dma_map", top, stalled_ns=case.ns(top, None, "dma_map"), clock_ns=sum(call["call_ns"] for call in calls), fault="maps by an IOMMU")
    for name, what in (("none", "a threshold that no map reaches"), ("off", "--no-cause dma_map")):
        top, spans, calls = case.recorded(name)
        tap.check(case.ns(top, None, "dma_map") == 0 and case.cpu_ns(top, "dma_map") == 0 and case.ns(top, None, "block_io") > 0,
                  f"{what}: nothing is dma_map", *case.report(top, None))
    seen = {hook["state"] + ": " + hook["reason"] for hook in top["stamp"]["hooks"] if hook["cause"] == "dma_map"}
    tap.check(seen == {"unused: off by configuration"}, "--no-cause dma_map: its hooks say so", str(seen))
    tap.check("dma_map was not looked for: off by configuration" in case.text("off.log"), "--no-cause dma_map: record says so", case.text("off.log"))
