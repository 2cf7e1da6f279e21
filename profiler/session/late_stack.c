/* Reads stacks, or what is missing of them, when their event has come. */

#include "profiler/session/late_stack.h"

#include <stdbool.h>
#include <string.h>

#include "profiler/session/remote_stack.h"

#define WORD_BYTES 8

size_t late_stack_get(struct late_stack *late, const struct abi_event *event, const void **copy)
{
	ssize_t n;

	*copy = event + 1;
	if (!(event->flags & ABI_NO_USER_COPY))
		return event->ustack_len;
	if (event->kind != ABI_EVENT_INFLIGHT)
		return 0;
	n = remote_stack_read(event->tgid, event->tid, event->switches, event->regs.sp, late->bytes,
	                      sizeof(late->bytes));
	if (n <= 0) {
		late->failed++;
		return 0;
	}
	late->read++;
	*copy = late->bytes;
	return (size_t)n;
}

/* Whether the return address that the frame was found by still stands in its place, below its stack. */
static bool still_there(const struct abi_event *event, uint64_t pc, uint64_t sp)
{
	uint64_t word;

	return sp >= event->regs.sp + WORD_BYTES && sp <= event->regs.sp + event->ustack_len &&
	       remote_stack_pages(event->tgid, sp - WORD_BYTES, &word, sizeof(word)) == sizeof(word) &&
	       word == pc;
}

static size_t read_missing(struct late_stack *late, const struct abi_event *event, const uint64_t *pcs,
                           const uint64_t *sps, size_t n)
{
	size_t has = event->ustack_len;
	ssize_t more;

	if (n < 2 || has >= sizeof(late->bytes))
		return 0;
	memcpy(late->bytes, event + 1, has);
	more = remote_stack_pages(event->tgid, event->regs.sp + has, late->bytes + has,
	                          sizeof(late->bytes) - has);
	/* Looked at when all has been read: it may return meanwhile. */
	return more > 0 && still_there(event, pcs[n - 1], sps[n - 1]) ? has + (size_t)more : 0;
}

size_t late_stack_complete(struct late_stack *late, const struct abi_event *event, const uint64_t *pcs,
                           const uint64_t *sps, size_t n, const void **copy)
{
	size_t all;

	if (!(event->flags & ABI_USER_FAULTED) || event->flags & ABI_NO_USER_COPY)
		return 0;
	all = read_missing(late, event, pcs, sps, n);
	if (!all) {
		late->cut++;
		return 0;
	}
	late->completed++;
	*copy = late->bytes;
	return all;
}
