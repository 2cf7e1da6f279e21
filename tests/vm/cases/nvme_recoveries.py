"""Twenty resets of an NVMe controller (PCI) in a row, asked for through sysfs, under eight threads that always have a read under way: each
reset is seen by each of them, and afterwards nothing of it is left in the BPF maps."""
import json

import exact

MACHINE = "-drive file=null-co://,file.size=1G,format=raw,if=none,id=nv -device nvme,drive=nv,serial=nv,id=nv0"
RESETS = 20
THREADS = 8
TOLD_MS = 5  # calls of that length are told
RESET_MS = 100  # … and of that length are a reset's; shorter ones behind it may be: the driver closes the queues once more then
GUEST = f"""
modprobe nvme
until_true 20 test -b /dev/nvme0n1
record_windows waiters 2 "$WAITERS" how=read file=/dev/nvme0n1 threads={THREADS} seconds=300 long_ms={TOLD_MS} &
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


def is_behind(call, resets):
    """Whether the call is one of the resets', or begins within a second of one's end."""
    return any(0 <= call["call_begin_ns"] - reset["call_begin_ns"] <= reset["call_ns"] + 10**9 for reset in resets)


def check(case):
    tap = case.tap
    top, spans, calls = case.recorded("waiters")
    truths = []
    for span in spans:
        number = int(span["tag"].split("/")[1])
        mine = [call for call in calls if call["waiter"] == number]
        told = case.ns(top, span["tag"], "nvme_reset")
        rows = [row for row in top["ledger"] if row["tag"] == span["tag"] and row["cause"] == "nvme_reset"]
        tap.check(sum(row["count"] for row in rows) >= RESETS, f"{span['tag']}: charged with each of {RESETS} resets", rows)
        resets = [call for call in mine if call["call_ns"] >= RESET_MS * 1e6]
        low, high = sum(call["call_ns"] for call in resets), sum(call["call_ns"] for call in mine if is_behind(call, resets))
        off = exact.off_by(told, low, high)
        tap.check(abs(off) <= 0.03 * low, f"{span['tag']}: its calls during resets are theirs, whole", case.off(told, low), *case.report(top, span["tag"]))
        truths.append(low)
        case.check_ledger(top, span)
    for name in ("resets", "requests"):
        tap.check(json.loads(case.text(f"{name}.json") or "null") == [], f"nothing is left in the map {name}", case.text(f"{name}.json")[:500])
    case.cell("nvme_reset", top, stalled_ns=case.ns(top, None, "nvme_reset"), clock_ns=sum(truths), fault=f"{RESETS} resets by sysfs")
