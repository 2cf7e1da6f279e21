"""A FUSE file system whose daemon does not answer when it is asked for an xattr (slowfs.c): the recording goes on, finds the xattrs of another file system
and what is written there, ends when it is told to, and leaves nobody behind once the daemon answers."""
import json

import saved_files

GUEST = """
modprobe fuse
mkdir /tmp/hangs /vm-disk/saves /vm-disk/elsewhere && mkfifo /tmp/say && echo old >/vm-disk/elsewhere/old || exit 1
python3 -c 'import os; os.setxattr("/vm-disk/elsewhere/old", "user.ai.checkpoint", b"x")' || exit 1
"$SLOWFS" /tmp/hangs 1 0 0 1 </tmp/say >/tmp/heard &
exec 9>/tmp/say
until_true 20 grep -q ready /tmp/heard || exit 1
# heard N: the file system has obeyed N times.
heard()
{
	until_true 20 sh -c "[ \\$(grep -c done /tmp/heard) = $1 ]" || exit 1
}
# It has xattrs from then on.
echo 3 >&9
echo 0 >&9
heard 2
# recorded NAME: as record, of the whole host, and NAME.told and NAME.ended: when it was told to end and when it had.
recorded()
{
	"$STALLPROF" record -a --tag-files /vm-disk/saves --tag-files xattr:user.ai.checkpoint=found -o /vm-out/$1.pb.gz 2>/vm-out/$1.log &
	profiler=$!
	until_true 200 listens $profiler || exit 1
	# The kernel's symbols are read by then.
	"$STALLPROF" tag --name warm -- dd if=/dev/zero of=/vm-disk/warm bs=1M count=4 conv=fsync 2>/dev/null
	sleep 3
	cat /tmp/hangs/disk >/dev/null
	"$SAVER" folder=/vm-disk/saves outside=/vm-disk/elsewhere >/vm-out/$1.lines
	cat /proc/uptime >/vm-out/$1.told
	kill -TERM $profiler
	wait $profiler
	echo $? >/vm-out/$1.code
	cat /proc/uptime >/vm-out/$1.ended
	"$STALLPROF" top /vm-out/$1.pb.gz -n 0 --json >/vm-out/$1.top.json
}
recorded answers
echo 3 >&9
heard 3
(sleep 60; echo 0 >&9) &
rm -r /vm-disk/saves/*
recorded saves
ps -e -o comm= >/vm-out/left
echo 0 >&9
until_true 20 sh -c "! pgrep stallprof" && echo none >/vm-out/at_last
umount /tmp/hangs
"""
LATER_S = 1.5  # than without: QEMU is ten times slower than its machine


def took(case, name):
    """How long it took to end."""
    return float(case.text(f"{name}.ended").split()[0]) - float(case.text(f"{name}.told").split()[0])


def check(case):
    saved_files.check_saved(case, "saves")
    without, with_hang = took(case, "answers"), took(case, "saves")
    case.tap.check(with_hang < without + LATER_S, f"it ends {with_hang:.2f} s after SIGTERM, {without:.2f} s where the file system answers")
    case.tap.check("stallprof-files" in case.text("left"), "premise: the process that has asked the file system hangs", case.text("left"))
    case.tap.check(case.text("at_last").strip() == "none", "it ends when it is answered", case.text("left"))
    counters = json.loads(case.text("saves.top.json"))["stamp"]["counters"]
    case.tap.check(not counters["file_xattrs_refused"], "only the file that hangs was not looked at", counters)
