"""Does the report name what was done? A training loop (tests/e2e/report/loop.c) is recorded TRIALS times for each of four faults, which begin in the
middle of it, in random order:
  nvme_reset  the NVMe controller that it reads from is reset, several times in a row
  nvme_abort  that controller is so slow that reads time out, and the driver aborts them
  dma_bounce  other programs' reads fill the bounce buffers that this controller needs
  tag_wait    other programs' reads take all tags of the null_blk device that it reads from
`stallprof report` is to name the cause, the device and the class of tags that lost the time in 19 of 20."""
import json
import random
import sys
import os

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "..", "e2e", "report")]
import disturbances  # noqa: E402

TRIALS = 5
RIGHT = 0.95
FAULTS = {"nvme_reset": "nvme0n1", "nvme_abort": "nvme0n1", "dma_bounce": "nvme0n1", "tag_wait": "nullb0"}
BEFORE, LENGTH = 8, 16  # seconds
MACHINE = "-drive file=null-co://,file.size=1G,format=raw,if=none,id=nv -device nvme,drive=nv,serial=nv,id=nv0"
APPEND = "swiotlb=512,force"
SECONDS = 1500
FASTEST = 40000000  # bytes a second of the controller, when nothing is wrong
ORDER = [fault for fault in FAULTS for _ in range(TRIALS)]
random.shuffle(ORDER)
GUEST = f"""
modprobe nvme_core io_timeout=2 && modprobe nvme
modprobe null_blk queue_mode=2 nr_devices=1 hw_queue_depth=2 submit_queues=1 irqmode=2 completion_nsec=4000000
until_true 20 test -b /dev/nvme0n1
until_true 20 test -b /dev/nullb0
throttle nv {FASTEST}
fault_nvme_reset()
{{
	for round in 1 2 3; do
		echo 1 >/sys/class/nvme/nvme0/reset_controller
		until_true 20 grep -q live /sys/class/nvme/nvme0/state
		sleep 0.3
	done
}}
fault_nvme_abort()
{{
	aborted=$(dmesg | grep -c 'timeout, aborting')
	throttle nv 24000
	until_true 20 sh -c "[ \\$(dmesg | grep -c 'timeout, aborting') -gt $aborted ]"
	throttle nv {FASTEST}
}}
fault_dma_bounce()
{{
	"$WAITERS" how=read file=/dev/nvme0n1 name=hog threads=16 bytes=131072 seconds=3 long_ms=60000 >/dev/null
}}
fault_tag_wait()
{{
	"$WAITERS" how=read file=/dev/nullb0 name=hog threads=16 bytes=4096 seconds=3 long_ms=60000 >/dev/null
}}
number=0
for fault in {" ".join(ORDER)}; do
	number=$((number + 1))
	[ $fault = tag_wait ] && disk=nullb0 || disk=nvme0n1
	record trial$number "$LOOP" {LENGTH} /dev/$disk &
	until_true 60 pgrep -x loop
	sleep {BEFORE}
	date +%s.%N >/vm-out/trial$number.onset
	fault_$fault
	wait
	"$STALLPROF" report /vm-out/trial$number.pb.gz --format json >/vm-out/trial$number.json 2>>/vm-out/trial$number.log
	"$STALLPROF" report /vm-out/trial$number.pb.gz >/vm-out/trial$number.txt 2>&1
done
"""


def programs(build):
    return {"LOOP": disturbances.build(build)[0]}


def check_trial(case, number, fault):
    """Whether the report names it."""
    told = case.json(f"trial{number}.json")
    primary, path = told["primary"] or {}, (told["path"] or [{}])[0]
    seen = (primary.get("name"), primary.get("device"), path.get("class"))
    late = told["incident"]["begin_ns"] / 1e9 - float(case.text(f"trial{number}.onset"))
    right = seen == (fault, FAULTS[fault], "data_load")
    case.tap.note(f"trial {number}: {fault}: report says {seen}, begin {late:+.2f} s, score {primary.get('score', 0):.2f}{'' if right else '   WRONG'}")
    return right


def check(case):
    order = next(line for line in case.text("script").splitlines() if line.startswith("for fault in ")).split(";")[0].split()[3:]
    right = {fault: 0 for fault in FAULTS}
    for number, fault in enumerate(order, 1):
        right[fault] += check_trial(case, number, fault)
    case.tap.check(sum(right.values()) >= RIGHT * len(order), f"the report names cause, device and class of {sum(right.values())} of {len(order)} faults", right)
