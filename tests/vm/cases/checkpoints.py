"""Files that are saved as checkpoints, well and badly (saver.c): what is told of each is what the program that saved it knows: what it wrote, which calls
failed, when it was renamed, and whether its data was on the device by then. On ext4 and, of the ways that do not need its own devices, on XFS."""
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
"""


def check(case):
    for name in ("ext4", "xfs"):
        saved_files.check_saved(case, name)
    said = case.text("ext4.txt")
    case.tap.check("Checkpoint files with something wrong" in said and "/early " in said and "/good " not in said, "top says which files have something wrong", said[:3000])
