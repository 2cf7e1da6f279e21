"""Files that are saved as checkpoints, well and badly (saver.c): what is told of each is what the program that saved it knows: what it wrote, which calls
failed, when it was renamed, and whether its data was on the device by then. On ext4 and, of the ways that do not need its own devices, on XFS."""
import json

import profiled
import saved_files

GUEST = """
modprobe null_blk nr_devices=0
mount -t configfs configfs /sys/kernel/config 2>/dev/null
for disk in 1:512 2:512 3:8; do
	config=/sys/kernel/config/nullb/nullb${disk%:*}
	mkdir $config && echo ${disk#*:} >$config/size && echo 1 >$config/memory_backed && echo 1 >$config/power || exit 1
done
mkfs.ext4 -q /dev/nullb1 && mkdir /mnt/ext4 /mnt/small /mnt/xfs && mount /dev/nullb1 /mnt/ext4 || exit 1
mkfs.ext4 -q /dev/nullb3 && mount /dev/nullb3 /mnt/small || exit 1
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
mkdir /mnt/ext4/sums
RECORD_OPTIONS="--tag-files /mnt/ext4/sums --checkpoint-sha256"
record sums python3 "$SCRIPTS"/sum_saver.py /mnt/ext4/sums
"$STALLPROF" top /vm-out/sums.pb.gz >/vm-out/sums.txt
"$STALLPROF" report /vm-out/sums.pb.gz >/vm-out/sums.report
"""


def check_sums(case):
    """sum_saver.py's files: their sums, what is told of them, and that the reading of them is nobody's."""
    lines = profiled.json_lines(case.text("sums.lines"))
    if not case.tap.check(case.text("sums.code").strip() == "0" and lines, "sums: record and its command exit with 0", case.text("sums.log")[-2000:]):
        return
    top = json.loads(case.text("sums.top.json"))
    rows = {row["path"]: row for row in top["checkpoints"]}
    for line in lines:
        name, row = line["file"].rsplit("/", 1)[1], rows.get(line["file"], {})
        case.tap.check((row.get("sha256"), row.get("sha256_said"), row.get("sum")) == (line["sha256"], line["said"], line["sum"]),
                       f"sums: {name}: its sha256 is hashlib's, and {line['sum']}", line, row)
        case.tap.check(row.get("writes") == line["writes"] and row.get("events_lost") == 0, f"sums: {name}: its writes are counted", line, row)
        case.tap.check(row.get("wrong") == (line["sum"] == "differs" or row.get("durable_before_name") == "no"), f"sums: {name}: whether something is wrong", row)
    case.tap.check(rows.keys() == {line["file"] for line in lines}, "sums: there are no other rows", sorted(rows))
    counters = top["stamp"]["counters"]
    case.tap.check(not counters["file_events_lost"] and not counters["checkpoint_sums_refused"], "sums: nothing is lost", counters)
    own = [row for row in top["ledger"] if row["comm"].startswith("stallprof")]
    case.tap.check(not own, "sums: the reading has no tag", *map(str, own))
    said, report = case.text("sums.txt"), case.text("sums.report")
    case.tap.check("/wrong " in said and "its sha256 is not its xattr's" in said and "/sums/right " not in said, "sums: top says which differ", said[:3000])
    case.tap.check("differs from the one in the xattr" in report and "matches the xattr" in report, "sums: so does the report", report[-3000:])


def check(case):
    check_sums(case)
    for name in ("ext4", "xfs"):
        saved_files.check_saved(case, name)
    log = [hook for hook in json.loads(case.text("xfs.top.json"))["stamp"]["hooks"] if hook["cause"] == "journal_xfs"]
    case.tap.check(log and {hook["state"] for hook in log} == {"attached"}, "xfs, a module here: the hooks on its log are attached", *map(str, log))
    said = case.text("ext4.txt")
    case.tap.check("Checkpoint files with something wrong" in said and "/early " in said and "/good " not in said, "top says which files have something wrong", said[:3000])
