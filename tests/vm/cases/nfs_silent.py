"""A program lies on an NFS server that falls silent (no packet comes through any more). What it does is recorded in time none the less, SIGTERM
is obeyed, and its names are found once the server answers."""
import json

KERNEL = "6.12"
GUEST = """
modprobe -a nfsd nfs sch_netem
mkdir -p /vm-disk/export
cp "$SAVES" /vm-disk/export/saves
nfs_mounted
/mnt/nfs/saves /vm-disk/saved &
load=$!
until_true 30 test -s /vm-disk/saved || exit 1
# recorded NAME: begins to; ended: ends it.
recorded()
{
	name=$1
	mkdir /vm-out/$name
	"$STALLPROF" record -p $load --name saves -w 2 -o /vm-out/$name/ 2>/vm-out/$name.log &
	profiler=$!
}
windows()
{
	[ "$(ls /vm-out/$name | wc -l)" -ge "$1" ]
}
ended()
{
	cat /proc/uptime >/vm-out/$name.told
	kill -TERM $profiler
	until_true 60 sh -c "! kill -0 $profiler" || kill -KILL $profiler
	cat /proc/uptime >/vm-out/$name.ended
	wait $profiler
	echo $? >/vm-out/$name.code
}
# It falls silent when the recording has begun. To close a file is a question to the server, too.
recorded meanwhile
until_true 90 windows 2
tc qdisc add dev lo root netem loss 100% || exit 1
n=$(ls /vm-out/meanwhile | wc -l)
until_true 90 windows $((n + 3)) && echo yes >/vm-out/in_time
kill -TERM $profiler
until_true 30 grep -q "profiles are in" /vm-out/meanwhile.log && echo yes >/vm-out/said
cat /mnt/nfs/began &
reader=$!
sleep 1
kill -0 $reader && echo waits >/vm-out/reader
recorded silent
until_true 90 windows 3
ended
recorded again
until_true 60 grep -q "does not answer" /vm-out/again.log
tc qdisc del dev lo root
until_true 150 grep -q "answers again" /vm-out/again.log
n=$(ls /vm-out/again | wc -l)
until_true 90 windows $((n + 3))
ended
kill $load
for name in silent again; do
	for window in /vm-out/$name/*.pb.gz; do
		"$STALLPROF" top $window -n 0 --json >$window.json
		echo $window.json >>/vm-out/$name.windows
	done
done
"""
MOST_S = 10  # of what takes a tenth of that outside of QEMU


def took(case, name):
    """How long it took to end."""
    return float(case.text(f"{name}.ended").split()[0]) - float(case.text(f"{name}.told").split()[0])


def tops(case, name):
    return [json.loads(case.text(path.removeprefix("/vm-out/").strip())) for path in case.text(f"{name}.windows").splitlines()]


def names(top):
    return {frame["function"] for stack in top["stacks"] for frame in stack["frames"]}


def check(case):
    case.tap.check(case.text("reader").strip() == "waits", "premise: who reads a file there waits")
    case.tap.check(case.text("in_time") and case.text("said"), "meanwhile: windows come, and after SIGTERM all is said", case.text("meanwhile.log"))
    for name in ("silent", "again"):
        case.tap.check(case.text(f"{name}.code").strip() == "0" and took(case, name) < MOST_S, f"{name}: it ends {took(case, name):.2f} s after SIGTERM",
                       case.text(f"{name}.code"), case.text(f"{name}.log"))
    silent, again = tops(case, "silent"), tops(case, "again")
    counted = [top["stamp"]["counters"].get("file_systems_silent") for top in silent]
    # The guest's root is no disk either (9p): it counts, too, where it is slower than the 20 ms that others have meanwhile.
    case.tap.check(len(silent) >= 3 and set(counted) <= {1, 2}, "silent: windows come, and each says so", counted, case.text("silent.log"))
    stalled = sum(case.ns(top, None, "block_io", "writeback", "journal") for top in silent)
    case.tap.check(stalled > 0, "silent: the stalls are told", f"{stalled / 1e9:.3f} s", *case.report(silent[0], None))
    case.tap.check("answers again" in case.text("again.log"), "again: that it answers is said", case.text("again.log"))
    case.tap.check("save_block" in names(again[-1]) and not again[-1]["stamp"]["counters"].get("file_systems_silent"),
                   "again: then its names are found", sorted(names(again[-1])))
