"""Twenty resets of an NVMe controller (PCI) in a row, asked for through sysfs, under eight threads that always have a read under way: each
reset is seen by each of them, and afterwards nothing of it is left in the BPF maps."""
import json

MACHINE = "-drive file=null-co://,file.size=1G,format=raw,if=none,id=nv -device nvme,drive=nv,serial=nv,id=nv0"
RESETS = 20
THREADS = 8
QUICK_MS = 25  # no read takes that long, if not for a reset
GUEST = f"""
modprobe nvme
until_true 20 test -b /dev/nvme0n1
record_windows waiters 2 "$WAITERS" how=read file=/dev/nvme0n1 threads={THREADS} seconds=300 long_ms={QUICK_MS} &
until_true 60 pgrep -x waiters
sleep 3
for round in $(seq {RESETS}); do
	echo 1 >/sys/class/nvme/nvme0/reset_controller
	until_true 20 grep -q live /sys/class/nvme/nvme0/state
	sleep 0.3
done
sleep 13
for map in resets requests; do
	bpftool -j map dump name $map >/vm-out/$map.json
done
pkill -TERM -x waiters
wait
"""


def check(case):
    tap = case.tap
    top, spans, calls = case.recorded("waiters")
    for span in spans:
        number = int(span["tag"].split("/")[1])
        mine = [call for call in calls if call["waiter"] == number]
        told = case.ns(top, span["tag"], "nvme_reset")
        rows = [row for row in top["ledger"] if row["tag"] == span["tag"] and row["cause"] == "nvme_reset"]
        tap.check(sum(row["count"] for row in rows) >= RESETS, f"{span['tag']}: charged with each of {RESETS} resets", rows)
        truth = sum(call["call_ns"] for call in mine)
        tap.check(case.near(told, truth), f"{span['tag']}: its calls during resets are theirs, whole", case.off(told, truth), len(mine), *case.report(top, span["tag"]))
        case.check_ledger(top, span)
    for name in ("resets", "requests"):
        tap.check(json.loads(case.text(f"{name}.json") or "null") == [], f"nothing is left in the map {name}", case.text(f"{name}.json")[:500])
    case.cell("nvme_reset", top, stalled_ns=case.ns(top, None, "nvme_reset"), clock_ns=sum(call["call_ns"] for call in calls), fault=f"{RESETS} resets by sysfs")
