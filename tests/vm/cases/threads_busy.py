"""Readers of one byte at a time preempt each other in the programs on their calls, so that a kernel before 6.2 refuses to find their threads: that is
counted, and on later ones it does not happen."""
APPEND = "preempt=full"
GUEST = """
mount -t tmpfs none /mnt && mkdir /mnt/read && head -c 4000000 /dev/zero >/mnt/read/file || exit 1
RECORD_OPTIONS="--tag-files /mnt/read"
record readers sh -c 'for i in 1 2 3 4 5 6; do timeout 8 dd if=/mnt/read/file of=/dev/null bs=1 2>/dev/null & done; wait; true'
"""


def check(case):
    busy = case.recorded("readers")[0]["stamp"]["counters"].get("threads_busy", 0)
    old = case.kernel == "6.1"
    case.tap.check(busy > 0 if old else not busy, "threads that the kernel did not let be found are counted" if old else "all threads are found", busy)
    case.tap.note(f"{case.kernel}: {busy} times")
