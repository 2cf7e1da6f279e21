"""An NVMe controller (PCI) that is slow for so long that reads time out, but not for so long that it is reset: the driver sends abort
commands. A call that was aborted is nvme_abort, whole."""
MACHINE = "-drive file=null-co://,file.size=1G,format=raw,if=none,id=nv -device nvme,drive=nv,serial=nv,id=nv0"
ROUNDS = 3
GUEST = """
modprobe nvme_core io_timeout=2 && modprobe nvme
until_true 20 test -b /dev/nvme0n1
record waiters "$WAITERS" how=read file=/dev/nvme0n1 threads=4 bytes=32768 seconds=90 long_ms=1900 &
until_true 60 pgrep -x waiters
sleep 4
for round in %s; do
	before=$(dmesg | grep -c 'timeout, aborting')
	throttle nv 24000
	until_true 20 sh -c "[ \\$(dmesg | grep -c 'timeout, aborting') -gt $before ]"
	throttle nv 0
	sleep 2
done
pkill -TERM -x waiters
wait
""" % " ".join(map(str, range(ROUNDS)))


def longest(calls, waiter, count):
    """ns of the waiter's longest calls. The driver looks once a second for what is late, so that no call is aborted before a longer one."""
    return sum(sorted((call["call_ns"] for call in calls if call["waiter"] == waiter), reverse=True)[:count])


def check(case):
    top, spans, calls = case.recorded("waiters")
    aborts = case.dmesg.count("timeout, aborting")
    case.tap.check(aborts >= ROUNDS, f"premise: {aborts} aborts", case.dmesg[-3000:])
    case.tap.check("reset controller" not in case.dmesg, "premise: no reset", case.dmesg[-3000:])
    told = case.ns(top, None, "nvme_abort", "nvme_timeout")
    aborted = case.ns(top, None, "nvme_abort")
    rows = [row for row in top["ledger"] if row["state"] == "stall" and row["cause"] == "nvme_abort"]
    case.tap.check(sum(row["count"] for row in rows) >= aborts, f"each of the {aborts} requests that were aborted is told", rows, case.dmesg[-2000:])
    truth = 0
    for span in spans:
        rows = [row for row in top["ledger"] if row["tag"] == span["tag"] and row["cause"] in ("nvme_abort", "nvme_timeout")]
        truth += longest(calls, int(span["tag"].split("/")[1]), sum(row["count"] for row in rows))
        case.check_ledger(top, span)
    case.tap.check(case.near(told, truth), "the waits that are told are as long as so many of the longest calls", case.off(told, truth), *case.report(top, None))
    case.cell("nvme_abort", top, stalled_ns=aborted, clock_ns=truth, fault=f"{aborts} aborts")
