"""NVMe over TCP, on loopback, whose packets are lost for some seconds: reads time out, and the controller is reset and connected again. A
second recording begins in mid-recovery: what it sees of the calls that last until the end is nvme_reset, too. Before that the disk is well,
and reads that it splits are no wait for a path."""
THREADS = 4
ROUNDS = 2
GUEST = f"""
modprobe -a nvme_tcp nvmet_tcp null_blk sch_netem
echo 2 >/sys/module/nvme_core/parameters/io_timeout
nvme_over_tcp /dev/nullb0
echo "transport=tcp,traddr=127.0.0.1,trsvcid=4420,nqn=stall,reconnect_delay=1,keep_alive_tmo=30" >/dev/nvme-fabrics
until_true 20 test -b /dev/nvme0n1
echo 64 >/sys/block/nvme0n1/queue/max_sectors_kb
record split "$WAITERS" how=read file=/dev/nvme0n1 name=split threads=1 bytes=1048576 seconds=2 long_ms=60000
record waiters "$WAITERS" how=read file=/dev/nvme0n1 threads={THREADS} seconds=300 long_ms=2800 &
until_true 60 pgrep -x waiters
sleep 4
for round in $(seq {ROUNDS}); do
	tc qdisc add dev lo root netem loss 100%
	until_true 30 grep -q 'resetting\\|connecting' /sys/class/nvme/nvme0/state
	[ $round -lt {ROUNDS} ] || {{
		"$STALLPROF" record -q -o /vm-out/late.pb.gz -p $(pgrep -x waiters) 2>/vm-out/late.log &
		late=$!
		until_true 60 listens $late
		sleep 1
	}}
	tc qdisc del dev lo root
	until_true 30 grep -q live /sys/class/nvme/nvme0/state
	sleep 2
done
kill -TERM $late
wait $late
"$STALLPROF" top /vm-out/late.pb.gz -n 0 --json >/vm-out/late.top.json
pkill -TERM -x waiters
wait
"""
CAUSES = {"nvme_reset", "nvme_timeout"}


def check_split(case):
    top, spans, _ = case.recorded("split")
    waits = case.ns(top, spans[0]["tag"], "block_io")
    case.tap.check(waits > 0 and not case.ns(top, None, *CAUSES), "split: what a disk in good health splits is block_io", *case.report(top, None))


def check(case):
    tap = case.tap
    check_split(case)
    top, spans, calls = case.recorded("waiters")
    for span in spans:
        number = int(span["tag"].split("/")[1])
        mine = [call for call in calls if call["waiter"] == number]
        told, truth = case.ns(top, span["tag"], *CAUSES), sum(call["call_ns"] - call["busy_ns"] for call in mine)
        tap.check(len(mine) >= ROUNDS and case.near(told, truth), f"{span['tag']}: its long calls are the recovery's", case.off(told, truth),
                  len(mine), *case.report(top, span["tag"]))
        reset = case.ns(top, span["tag"], "nvme_reset")
        tap.check(reset >= 0.9 * told, f"{span['tag']}: the worst that befell them is the reset", case.off(reset, told))
        case.check_ledger(top, span)
    late = case.json("late.top.json")
    end = late["stamp"]["last_ns"] - case.realtime_offset(top, spans)
    for span in spans:
        begin = end - sum(row["ns"] for row in late["ledger"] if row["tag"] == span["tag"])  # when its thread was adopted
        number = int(span["tag"].split("/")[1])
        ends = [call["call_begin_ns"] + call["call_ns"] for call in calls if call["waiter"] == number and call["call_begin_ns"] < begin]
        truth = max(ends) - begin
        told = case.ns(late, span["tag"], "nvme_reset")
        tap.check(truth > 1e9 and abs(told - truth) <= 0.03 * truth + 20e6, f"late: {span['tag']}: what is left of the recovery is nvme_reset",
                  case.off(told, truth), *case.report(late, span["tag"]))
    case.cell("nvme_reset", top, stalled_ns=case.ns(top, None, "nvme_reset"), clock_ns=sum(call["call_ns"] for call in calls), fault="tcp: packets lost")
