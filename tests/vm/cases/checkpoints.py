"""Files that are saved as checkpoints, well and badly: what is told of each is what the program that saved it knows: what it wrote, which calls
failed, when it was renamed, and whether its data was on the device by then. On ext4 and, of the ways that do not need its own devices, on XFS."""
import json

import profiled

KERNEL = "6.1"

GUEST = """
modprobe null_blk nr_devices=0
mount -t configfs configfs /sys/kernel/config 2>/dev/null
for disk in 1 2; do
	mkdir /sys/kernel/config/nullb/nullb$disk && cd /sys/kernel/config/nullb/nullb$disk || exit 1
	echo 512 >size; echo 1 >memory_backed; echo 1 >power; cd /
done
mkfs.ext4 -q /dev/nullb1 && mkdir /mnt/ext4 /mnt/small /mnt/xfs && mount /dev/nullb1 /mnt/ext4 || exit 1
truncate -s 8M /mnt/ext4/small && mkfs.ext4 -q /mnt/ext4/small && mount -o loop /mnt/ext4/small /mnt/small || exit 1
mkdir /mnt/ext4/saves /mnt/ext4/elsewhere && echo old >/mnt/ext4/elsewhere/old
python3 -c 'import os; os.setxattr("/mnt/ext4/elsewhere/old", "user.ai.checkpoint", b"x")' || exit 1
sync
RECORD_OPTIONS="--tag-files /mnt/ext4/saves --tag-files /mnt/small=tight --tag-files xattr:user.ai.checkpoint=found"
record ext4 "$SAVER" folder=/mnt/ext4/saves outside=/mnt/ext4/elsewhere small=/mnt/small bad=/sys/kernel/config/nullb/nullb1/badblocks
mkfs.xfs -q -m crc=1 /dev/nullb2 && mount /dev/nullb2 /mnt/xfs && mkdir /mnt/xfs/saves /mnt/xfs/elsewhere || exit 1
echo old >/mnt/xfs/elsewhere/old
python3 -c 'import os; os.setxattr("/mnt/xfs/elsewhere/old", "user.ai.checkpoint", b"x")' || exit 1
RECORD_OPTIONS="--tag-files /mnt/xfs/saves --tag-files xattr:user.ai.checkpoint=found"
record xfs "$SAVER" folder=/mnt/xfs/saves outside=/mnt/xfs/elsewhere
"$STALLPROF" top /vm-out/ext4.pb.gz >/vm-out/ext4.txt
"""
CLOCK_NS = 2_000_000  # Unix time is told by one look at both clocks
CLASSES = {"saves": "checkpoint_write", "small": "tight_write", "elsewhere": "found_write"}


def within(row, line):
    """Times are in the order in which things were, and the rename when the program made it."""
    if line["renamed_from_ns"] and not line["renamed_from_ns"] - CLOCK_NS <= row["renamed_ns"] <= line["renamed_to_ns"] + CLOCK_NS:
        return False
    if line["folder_synced"] and row["folder_synced_ns"] < row["renamed_ns"]:
        return False
    if row["durable_before_name"] == "yes" and row["syncs"] and not row["last_write_ns"] <= row["sync_end_ns"] <= row["renamed_ns"]:
        return False
    return bool(row["folder_synced_ns"]) == bool(line["folder_synced"])


def told_ranges(row, line):
    """The ranges are those that were written; of a mapping whole blocks. Each has been on the device, where all has."""
    ranges = [[each["offset"], each["length"]] for each in row["ranges"]]
    done = [each["first_done_ns"] and each["first_done_ns"] <= each["last_done_ns"] for each in row["ranges"]]
    return ranges == line["ranges"] and row["extents"] == len(ranges) and (all(done) or not line["synced"])


def check_file(case, name, line, rows):
    file = line["file"].rsplit("/", 1)[1]
    row = rows.get(line["file"])
    if not case.tap.check(row, f"{name}: {file}: there is a row of it", sorted(rows)):
        return
    say = [json.dumps(line), json.dumps(row)]
    case.tap.check((row["durable_before_name"], row["reason"] or "", row["synced"]) == (line["durable"], line["reason"], bool(line["synced"])),
                   f"{name}: {file}: durable before its name: {line['durable']} {line['reason']}", *say)
    counts = {"writes": "writes", "bytes": "written_bytes", "short": "short_writes", "failed": "failed_writes", "syncs": "syncs", "failed_syncs": "failed_syncs"}
    off = {key: (line[key], row[told]) for key, told in counts.items() if line[key] != row[told]}
    case.tap.check(not off and bool(line["error"]) == bool(row["error"]) and (line["failed_syncs"] or line["error"] == row["error"]),
                   f"{name}: {file}: its calls are counted, and which failed", off, *say)
    case.tap.check(told_ranges(row, line), f"{name}: {file}: the ranges are those that it wrote", *say)
    case.tap.check(within(row, line), f"{name}: {file}: what was when", *say)
    case.tap.check(row["class"] == CLASSES[line["file"].split("/")[-2 if "step" not in line["file"] else -3]], f"{name}: {file}: its class", *say)


def check(case):
    for name in ("ext4", "xfs"):
        lines = profiled.json_lines(case.text(f"{name}.lines"))
        if not case.tap.check(case.text(f"{name}.code").strip() == "0" and lines, f"{name}: record and its command exit with 0", case.text(f"{name}.log")[-2000:]):
            continue
        top = json.loads(case.text(f"{name}.top.json"))
        rows = {row["path"]: row for row in top["checkpoints"]}
        for line in lines:
            check_file(case, name, line, rows)
        saved = [row for row in top["checkpoints"] if row["path"] not in {line["file"] for line in lines}]
        case.tap.check(not saved, f"{name}: there are no other rows", *map(str, saved))
        direct = next((row for path, row in rows.items() if path.endswith("/direct")), {})
        case.tap.check(direct.get("completions") == 4 and direct.get("out_of_order") == 3, f"{name}: direct writes end in the order in which they were made", direct)
        counters = top["stamp"]["counters"]
        case.tap.check(not counters["file_events_lost"] and not counters["checkpoint_files_dropped"], f"{name}: no event is lost", counters)
        for cause in ("tag_files", "tag_files_order", "tag_files_xattr"):
            case.check_clean(top, cause)
    said = case.text("ext4.txt")
    case.tap.check("Checkpoint files with something wrong" in said and "/early " in said and "/good " not in said, "top says which files have something wrong", said[:3000])
