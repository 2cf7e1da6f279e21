"""Programs that push no tag write, sync and read files in a folder that was given: what they do there has the files' tags, by their own clocks of
those calls, and nothing else has. So it is for a command, for one that pushes a tag and renames its file, and for a process whose files were
open, or mapped, before the recording. And what became of files that are saved as checkpoints (saver.c); checkpoints.py has more of that."""
import json

import exact
import profiled
import saved_files

KERNEL = "6.12"

GUEST = """
modprobe null_blk queue_mode=2 nr_devices=1 irqmode=2 completion_nsec=50000000 memory_backed=1 gb=1
mkfs.ext4 -q /dev/nullb0 && mount /dev/nullb0 /mnt && mkdir /mnt/checkpoints /mnt/elsewhere || exit 1
RECORD_OPTIONS="--tag-files /mnt/checkpoints"
record command "$CHECKPOINTER" folder=/mnt/checkpoints outside=/mnt/elsewhere
record pushes "$CHECKPOINTER" folder=/mnt/checkpoints outside=/mnt/elsewhere renamed=1 rounds=1 push=1
mkdir /mnt/saves && echo old >/mnt/elsewhere/old || exit 1
python3 -c 'import os; os.setxattr("/mnt/elsewhere/old", "user.ai.checkpoint", b"x")' || exit 1
RECORD_OPTIONS="--tag-files /mnt/saves --tag-files xattr:user.ai.checkpoint=found"
record saves "$SAVER" folder=/mnt/saves outside=/mnt/elsewhere
RECORD_OPTIONS="--tag-files /mnt/checkpoints"
"$CHECKPOINTER" folder=/mnt/checkpoints wait_for=/vm-out/go rounds=1 mapped=1 >/vm-out/open.lines &
checkpointer=$!
sleep 1
"$STALLPROF" record -a $RECORD_OPTIONS=model -o /mnt/checkpoints/open.pb.gz 2>/vm-out/open.log &
profiler=$!
until_true 100 listens $profiler
touch /vm-out/go
wait $checkpointer
kill -TERM $profiler
wait $profiler
echo $? >/vm-out/open.code
"$STALLPROF" top /mnt/checkpoints/open.pb.gz -n 0 --json >/vm-out/open.top.json
"""
PART, WALL_PART = 0.03, 0.005


def wall(top, tag):
    return sum(row["ns"] for row in top["ledger"] if row["tag"] == tag)


def outside(case, line):
    """What calls run before their tag is there, and after it: next to nothing of their time, unless the guest's CPUs stand still meanwhile (a
    quarter of what they ran has been seen)."""
    return line["cpu_ns"] // 2 if case.is_starved else 0


def check_calls(case, name, top, lines, prefix):
    """Each file's tags have the time of its calls, and of that what was slept is a stall."""
    for line in lines:
        tag = f"{prefix}_{line['call']}/{line['file']}"
        told, stalled = wall(top, tag), sum(row["ns"] for row in top["ledger"] if row["tag"] == tag and row["state"] == "stall")
        slept = line["clocked_ns"] - line["cpu_ns"] - line["runqueue_ns"]
        if line["file"] == "other":
            case.tap.check(not told, f"{name}: {tag}: there is no such tag")
            continue
        off = exact.off_by(told, line["ns"] - outside(case, line), line["ns"])
        case.tap.check(abs(off) <= PART * line["ns"], f"{name}: {tag}: its wall time is that of the calls", case.off(told, line["ns"]), *case.report(top, tag))
        # One wait whose end was not seen, which the profile says, is blocked on "other".
        lost = 0 < top["stamp"]["counters"]["iowaits_unexplained"] <= 2
        stalled += sum(row["ns"] for row in top["ledger"] if row["tag"] == tag and row["cause"] == "other") if lost else 0
        case.tap.check(case.near_sleep(stalled, line["clocked_ns"], line["cpu_ns"], line["runqueue_ns"]), f"{name}: {tag}: it is stalled as long as it slept", case.off(stalled, slept), *case.report(top, tag))
        case.tap.note(f"{name}: {tag}: {case.off(told, line['ns'])}")


def check_whole(case, name, top, total):
    """The tags of files and the tag around them are parts of the thread's time, none of it twice."""
    told = sum(row["ns"] for row in top["ledger"])
    case.tap.check((1 - WALL_PART) * total <= told <= 1.5 * total + 500_000_000, f"{name}: all tags together are the command's wall time", case.off(told, total))


def check(case):
    for name, prefix in (("command", "checkpoint"), ("pushes", "checkpoint"), ("open", "model")):
        lines = profiled.json_lines(case.text(f"{name}.lines"))
        calls, total = [line for line in lines if "file" in line], sum(line.get("wall_ns", 0) for line in lines if "file" not in line)
        if not case.tap.check(case.text(f"{name}.code").strip() == "0" and calls, f"{name}: record and its command exit with 0", case.text(f"{name}.log")[-2000:]):
            continue
        top = json.loads(case.text(f"{name}.top.json"))
        check_calls(case, name, top, calls, prefix)
        case.check_clean(top, "tag_files")
        if name == "command":
            check_whole(case, name, top, total)
        if name == "open":
            own = [row for row in top["ledger"] if row["comm"] == "stallprof"]
            case.tap.check(not own, "open: the profiler's own file has no tag", *map(str, own))
        if name == "pushes":
            files = sum(line["ns"] - outside(case, line) for line in calls if line["file"] != "other")
            case.tap.check(wall(top, "step") <= total - (1 - PART) * files, "pushes: the tag around them has none of their time",
                           f"step {wall(top, 'step') / 1e9:.6f} s of {total / 1e9:.6f} s, files {files / 1e9:.6f} s")
    saved_files.check_saved(case, "saves")
