/* What a thread waits for, beyond cause and device: it goes with the sample, as labels (profiler/session/detail_labels.h).
 *
 * It is noted in `t->detail` where it is known: by the hooks of a scope on the thread itself (gpu.bpf.c), in front of a sleep
 * (block.bpf.c), or as the sleep ends, from the request that ended it (detail_decide). It counts for waits of its own cause alone, so that
 * what is left of an earlier wait does no harm: each that may be of the cause writes it anew, or withdraws it. Nothing of this is done
 * for causes that have no details, and nothing at a switch.
 */
#ifndef STALLPROF_DETAIL_BPF_H
#define STALLPROF_DETAIL_BPF_H

#include "bpf/follow.bpf.h"
#include "bpf/scope.bpf.h"

ALWAYS void detail_number(struct abi_detail *detail, u32 which, u64 number)
{
	detail->number[which] = number;
	detail->known |= 1u << which;
}

/* --- requests ------------------------------------------------------------------------------------------------------------ */

ALWAYS u32 tags_depth(struct blk_mq_tags *tags, bool reserved)
{
	struct blk_mq_tags___before_5_16 *old = (void *)tags;

	if (HAS_FIELD(tags, bitmap_tags.sb.depth))
		return reserved ? BPF_CORE_READ(tags, breserved_tags.sb.depth)
		                : BPF_CORE_READ(tags, bitmap_tags.sb.depth);
	return reserved ? BPF_CORE_READ(old, breserved_tags, sb.depth)
	                : BPF_CORE_READ(old, bitmap_tags, sb.depth);
}

/* By the hardware queue that the tag is of. */
ALWAYS void detail_of_tags(struct abi_detail *detail, struct blk_mq_hw_ctx *hctx, bool reserved)
{
	struct blk_mq_tags *tags = BPF_CORE_READ(hctx, sched_tags);
	u64 pool = tags ? ABI_POOL_SCHEDULER : ABI_POOL_HARDWARE;
	u32 depth;

	if (!tags)
		tags = BPF_CORE_READ(hctx, tags);
	depth = tags_depth(tags, reserved);
	detail->cause = ABI_CAUSE_TAG_WAIT;
	detail->known = 0;
	detail_number(detail, ABI_TAG_HCTX, BPF_CORE_READ(hctx, queue_num));
	detail_number(detail, ABI_TAG_POOL, reserved ? ABI_POOL_RESERVED : pool);
	if (depth)
		detail_number(detail, ABI_TAG_DEPTH, depth);
}

/* What a thread asks for that is in blk_mq_get_tag: its blk_mq_alloc_data, on its own stack. */
ALWAYS void detail_of_allocation(struct abi_detail *detail, struct blk_mq_alloc_data *data)
{
	detail_of_tags(detail, BPF_CORE_READ(data, hctx), BPF_CORE_READ(data, flags) & BLK_MQ_REQ_RESERVED);
}

/* Of a request that was or is on `hctx` (0: not known). `state`: as it was when it befell the request. */
ALWAYS void detail_of_nvme(struct abi_detail *detail, u32 cause, struct request *rq, u64 hctx, u32 state)
{
	struct nvme_ctrl *ctrl = rq ? queue_controller(BPF_CORE_READ(rq, q)) : NULL;
	u64 key = (u64)ctrl;
	struct reset *reset =
	        ctrl && cause == ABI_CAUSE_NVME_RESET ? bpf_map_lookup_elem(&resets, &key) : NULL;

	detail->cause = cause;
	detail->known = 0;
	if (ctrl && hctx) /* the controller's queue 0 is for the driver's own commands */
		detail_number(detail, ABI_NVME_QID,
		              BPF_CORE_READ((struct blk_mq_hw_ctx *)hctx, queue_num) + 1);
	if (reset && reset->state)
		state = reset->state;
	if (state)
		detail_number(detail, ABI_NVME_STATE, state);
}

ALWAYS bool is_nvme_cause(u32 cause)
{
	return cause >= ABI_CAUSE_NVME_TIMEOUT && cause <= ABI_CAUSE_NVME_RESET;
}

/* The sleep was a stall, and `from` ended it (NULL: nobody followed). To be asked before the thread's hint is forgotten. */
NOW_AND_THEN void detail_decide(struct thread *t, const struct carried *from)
{
	u32 cause = t->row.cause;
	u64 hctx = from ? from->hctx : 0;

	if (t->goes_on)
		hctx = (u64)BPF_CORE_READ(last_request(t), mq_hctx);
	if (is_nvme_cause(cause)) {
		if (t->expect == EXPECT_UNINTERRUPTIBLE || t->expect == EXPECT_SCOPE)
			hctx = 0; /* it waited, or may have, for the device to take requests again, on no queue yet */
		detail_of_nvme(&t->detail, cause, from ? (struct request *)from->request : last_request(t),
		               hctx, from ? from->state : ABI_NVME_UNKNOWN);
		return;
	}
	if (cause != ABI_CAUSE_TAG_WAIT || t->hint == cause || t->scopes.depth[ABI_CAUSE_TAG_WAIT])
		return; /* its own hooks tell */
	if (hctx)       /* where a tag was freed */
		detail_of_tags(&t->detail, (struct blk_mq_hw_ctx *)hctx, false);
	else
		t->detail.cause = 0;
}

/* --- samples ------------------------------------------------------------------------------------------------------------- */

ALWAYS bool cause_has_details(const struct abi_event *event)
{
	return event->state != ABI_SLEEP && event->cause >= ABI_CAUSE_TAG_WAIT;
}

/* For the sample in the buffer of a wait, or of what the thread does in a scope. Returns 0. */
VERIFIED_ONCE int detail_take(struct stack_buffer *buffer, struct thread *t)
{
	u32 cause;

	if (!buffer || !t)
		return 0;
	cause = buffer->event.cause;
	if (cause == ABI_CAUSE_TAG_WAIT && t->scopes.depth[ABI_CAUSE_TAG_WAIT] && t->allocating)
		detail_of_allocation(&buffer->detail, (struct blk_mq_alloc_data *)t->allocating);
	else if (t->detail.cause == cause)
		buffer->detail = t->detail;
	else
		return 0;
	buffer->event.has_detail = 1;
	return 0;
}

/* For that of a wait that goes on, for the request. */
NOW_AND_THEN void detail_take_inflight(struct stack_buffer *buffer, struct thread *t, struct request *rq)
{
	u32 cause = buffer->event.cause;
	struct request_info *known;

	if (!is_nvme_cause(cause)) {
		detail_take(buffer, t);
		return;
	}
	if (!rq)
		return;
	known = request_known(rq);
	detail_of_nvme(&buffer->detail, cause, rq, (u64)BPF_CORE_READ(rq, mq_hctx), known ? known->state : 0);
	buffer->event.has_detail = 1;
}

#endif
