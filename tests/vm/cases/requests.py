"""Whose requests a device serves, under a device-mapper target, as far as they are the file system's: by the bytes that a program writes and
reads under its tags, and by the kernel's own counts of the device."""
import json

from request_checks import check_classes, check_counts

EACH_MS = 5
GUEST = """
modprobe -a dm_mod && modprobe null_blk queue_mode=2 nr_devices=1 irqmode=2 completion_nsec=%d000000 memory_backed=1 gb=1 || exit 1
dmsetup create upper --noudevsync --table "0 $(blockdev --getsz /dev/nullb0) linear /dev/nullb0 0" || exit 1
mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 /dev/dm-0 && mount /dev/dm-0 /mnt || exit 1
export STALLTAG_LIBRARY="$STALLTAG"
record requests python3 "$WORKLOADS/requests.py" /mnt nullb0
""" % EACH_MS


def check(case):
    top, _, _ = case.recorded("requests")
    truth = json.loads(case.text("requests.lines").splitlines()[-1])
    case.tap.note(f"nullb0: {truth}")
    check_classes(case.tap, top["requests"], "nullb0", truth)
    check_counts(case.tap, top["requests"], "nullb0", truth, 0.97 * (truth["write_ms"] if case.kernel == "6.1" else truth["writes"] * EACH_MS))
    case.check_clean(top, "requests")
