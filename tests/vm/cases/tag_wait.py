"""A device that takes one command at a time, each for 20 ms, and eight threads that read from it: seven wait for its tag. Then the same
with mq-deadline in front of it, which has four tags of its own (and is told to merge nothing: merged reads need no tag). Each sample says
of which queue and pool the tag is."""
GUEST = """
modprobe null_blk nr_devices=1 queue_mode=2 submit_queues=1 hw_queue_depth=1 irqmode=2 completion_nsec=20000000 gb=1
until_true 20 test -b /dev/nullb0
echo none >/sys/block/nullb0/queue/scheduler
record hardware "$WAITERS" how=read file=/dev/nullb0 threads=8 bytes=4096 seconds=6 long_ms=1
modprobe mq-deadline
echo mq-deadline >/sys/block/nullb0/queue/scheduler
echo 4 >/sys/block/nullb0/queue/nr_requests
echo 2 >/sys/block/nullb0/queue/nomerges
record scheduler "$WAITERS" how=read file=/dev/nullb0 threads=8 bytes=4096 seconds=6 long_ms=1
cat /sys/block/nullb0/queue/scheduler /sys/block/nullb0/queue/nr_requests >/vm-out/queue
"""
# What a thread holds while it waits for the device: one command of 1, or of 4 that are done one after the other.
POOLS = {"hardware": 1, "scheduler": 4}


def check_pool(case, pool, depth):
    tap = case.tap
    top, spans, _ = case.recorded(pool)
    waited, read = case.ns(top, None, "tag_wait"), case.ns(top, None, "block_io")
    truth = sum(span["end_ns"] - span["begin_ns"] - span["cpu_ns"] - span["runqueue_ns"] for span in spans)  # they do nothing but read
    tap.check(case.near(waited + read, truth), f"{pool}: tag_wait and block_io are what the threads slept", case.off(waited + read, truth), *case.report(top, None))
    expected = (len(spans) - depth) / len(spans)
    tap.check(abs(waited / truth - expected) <= 0.05, f"{pool}: {waited / truth:.1%} is tag_wait; {len(spans)} threads for {depth} tags, so {expected:.1%}",
              *case.report(top, None))
    for span in spans:
        case.check_ledger(top, span)
    stacks = [stack for stack in top["stacks"] if stack["stall"] == "tag_wait" and stack["delay_ns"]]
    case.check_frames(stacks, ("blk_mq_get_tag",))
    wanted = {"hctx": 0, "pool": pool, "depth": depth}
    lacking = [stack["labels"] for stack in stacks if stack["labels"] != wanted or stack["device"] != "nullb0"]
    tap.check(stacks and not lacking, f"{pool}: the samples' labels are {wanted}", *lacking[:5])
    case.check_no_loss(top)
    case.cell("tag_wait", pool=pool, stalled_ns=waited, share=waited / truth, expected_share=expected, fault=f"8 threads for {depth} tags")


def check(case):
    for pool, depth in POOLS.items():
        check_pool(case, pool, depth)
    case.tap.check("[mq-deadline]" in case.text("queue"), "premise: mq-deadline", case.text("queue"))
