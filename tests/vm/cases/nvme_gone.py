"""NVMe controllers that never come back, each under eight threads that have a read under way then:
  dead       PCI; its registers are gone, so that reads time out and its reset fails
  removed    PCI; the same, and it is removed through sysfs before that
  unplugged  PCI; the same, and QEMU takes it out
  fabrics    TCP; its target's port is removed, and the host gives up after ctrl_loss_tmo
The last call of each thread fails. It is nvme_reset, whole, and nothing of it is left in the BPF maps."""
import json

import profiled

PCI = ("dead", "removed", "unplugged")
FABRICS = "fabrics"
MACHINE = " ".join(f"-drive file=null-co://,file.size=1G,format=raw,if=none,id={name},throttling.bps-total=200000 -device nvme,drive={name},serial={name},id={name}0"
                   for name in PCI)
THREADS = 8
READS_MS = 164  # eight of 4 KiB at 200,000 B/s
LONG_MS = 1000
GUEST = f"""
modprobe nvme_core io_timeout=4
modprobe -a nvme nvme_tcp nvmet_tcp
modprobe null_blk queue_mode=2 irqmode=2 completion_nsec={READS_MS}000000
nvme_over_tcp /dev/nullb0

# controller SERIAL: its name, such as nvme0
controller()
{{
	grep -l "^$1 *$" /sys/class/nvme/*/serial | cut -d/ -f5
}}

for name in {" ".join(PCI)}; do until_true 20 controller $name; done
echo "transport=tcp,traddr=127.0.0.1,trsvcid=4420,nqn=stall,reconnect_delay=1,ctrl_loss_tmo=3,keep_alive_tmo=30" >/dev/nvme-fabrics
fabrics=$(grep -l tcp /sys/class/nvme/*/transport | cut -d/ -f5)
until_true 20 test -b /dev/${{fabrics}}n1
for name in {" ".join(PCI)}; do
	until_true 20 test -b /dev/$(controller $name)n1
	echo "$name $(controller $name) $(basename $(readlink /sys/class/nvme/$(controller $name)/device))"
done >/vm-out/controllers
echo "{FABRICS} $fabrics" >>/vm-out/controllers
cat >/vm-out/workload <<'END'
"$WAITERS" how=read file=/dev/nullb0 name=first threads=1 seconds=5 >/dev/null # by now the tag library's probe is attached in that program
while read name disk rest; do
	"$WAITERS" how=read file=/dev/${{disk}}n1 name=$name threads={THREADS} seconds=120 long_ms={LONG_MS} errors=end >/vm-out/$name.calls &
done </vm-out/controllers
wait
touch /vm-out/all_failed
until [ -e /vm-out/dumped ]; do sleep 0.2; done
END
export WAITERS
record_windows gone 5 sh /vm-out/workload &
until_true 90 sh -c '[ $(pgrep -cx waiters) = {len(PCI) + 1} ]'
sleep 4
place()
{{
	grep "^$1 " /vm-out/controllers | cut -d' ' -f3
}}

for name in {" ".join(PCI)}; do
	printf '\\000\\000\\000\\000\\000\\000\\000\\000' | dd of=/sys/bus/pci/devices/$(place $name)/config bs=4 seek=4 count=2 conv=notrunc
done
rm /sys/kernel/config/nvmet/ports/1/subsystems/stall
rmdir /sys/kernel/config/nvmet/ports/1
sleep 0.5
qmp '{{"execute": "device_del", "arguments": {{"id": "unplugged0"}}}}'
echo 1 >/sys/bus/pci/devices/$(place removed)/remove
until_true 60 test -e /vm-out/all_failed
sleep 18
for map in resets requests; do
	bpftool -j map dump name $map >/vm-out/$map.json
done
grep . /sys/class/nvme/*/state >/vm-out/left
touch /vm-out/dumped
wait
"""


def check_thread(case, top, span, calls):
    """The thread's last call has failed, and is nvme_reset."""
    tap, tag = case.tap, span["tag"]
    mine = [call for call in calls if call["waiter"] == int(tag.split("/")[1])]
    failed = [call for call in mine if call["error"]]
    tap.check(len(failed) == 1 and failed == mine[-1:] and failed[0]["call_ns"] >= LONG_MS * 1e6, f"{tag}: premise: its last call was long, and failed", *mine)
    truth, told = sum(call["call_ns"] for call in mine), case.ns(top, tag, "nvme_reset")
    tap.check(case.near(told, truth), f"{tag}: that call is nvme_reset", case.off(told, truth), *case.report(top, tag))
    case.check_ledger(top, span)
    return told, truth


def check(case):
    tap = case.tap
    top, _, _ = case.recorded("gone")
    for name in (*PCI, FABRICS):
        lines = profiled.json_lines(case.text(f"{name}.calls"))
        spans, calls = [line for line in lines if "tag" in line], [line for line in lines if "call_ns" in line]
        tap.check(len(spans) == THREADS, f"premise: {name}: {THREADS} threads ended", len(spans))
        pairs = [check_thread(case, top, span, calls) for span in spans]
        told, truth = sum(pair[0] for pair in pairs), sum(pair[1] for pair in pairs)
        tap.note(f"{name}: {case.off(told, truth)}")
        case.cell("nvme_reset", top, stalled_ns=told, clock_ns=truth, of=lambda row, name=name: row["tag"].startswith(f"{name}/"), fault=f"{name}: never back")
    for name in ("resets", "requests"):
        tap.check(json.loads(case.text(f"{name}.json") or "null") == [], f"nothing is left in the map {name}", case.text(f"{name}.json")[:500])
    tap.note(f"left: {case.text('left').split()}")
    case.check_hooks(top, "fentry/nvme_free_ctrl", "fexit/nvme_ns_head_submit_bio")
    lost = {name: top["stamp"]["counters"].get(name, 0) for name in ("ledger_full", "follow_full", "threads_failed", "tags_full", "rows_refused")}
    tap.check(not any(lost.values()), "nothing was lost of the ledger", lost)
