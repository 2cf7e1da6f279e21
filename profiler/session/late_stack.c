/* Reads stacks, or what is missing of them, when their event has come. */

#include "profiler/session/late_stack.h"

#include <string.h>

#include "profiler/session/remote_stack.h"
#include "symbolizer/base/clock.h"

#define WORD_BYTES   8
#define SECOND_NS    1000000000ULL
#define SPENT_MAX_NS (SECOND_NS / 10)

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

bool late_stack_lacks_pages(const struct abi_event *event)
{
	return event->flags & ABI_USER_FAULTED && !(event->flags & ABI_NO_USER_COPY);
}

/* Where the outermost frame that was found begins, its return address included, as an offset into the copy; all of it: it has none of that. */
static size_t outermost(const struct abi_event *event, const uint64_t *sps, size_t n)
{
	uint64_t sp = event->regs.sp, end = sp + event->ustack_len;

	if (n < 2 || sps[n - 1] < sp + WORD_BYTES || sps[n - 1] > end)
		return event->ustack_len;
	return (size_t)(sps[n - 1] - WORD_BYTES - sp);
}

/* How much of the stack there is. */
static size_t whole_bytes(const struct late_stack *late, const struct abi_event *event)
{
	uint64_t bytes = event->stack_top > event->regs.sp ? event->stack_top - event->regs.sp : 0;

	return bytes < sizeof(late->bytes) ? (size_t)bytes : sizeof(late->bytes);
}

static bool may_read(struct late_stack *late, uint64_t now)
{
	if (now - late->second_ns >= SECOND_NS) {
		late->second_ns = now;
		late->spent_ns = 0;
	}
	return late->spent_ns < SPENT_MAX_NS;
}

size_t late_stack_complete(struct late_stack *late, const struct abi_event *event, const uint64_t *sps,
                           size_t n, const void **copy)
{
	size_t has = event->ustack_len, from = outermost(event, sps, n), all = whole_bytes(late, event);
	uint64_t now = monotonic_ns();
	ssize_t read;

	if (!late_stack_lacks_pages(event) || from >= has || all <= has || !may_read(late, now))
		return 0;
	read = remote_stack_pages(event->tgid, event->regs.sp + from, late->bytes + from, all - from);
	late->spent_ns += monotonic_ns() - now;
	if (read <= (ssize_t)(has - from) ||
	    memcmp(late->bytes + from, (const uint8_t *)(event + 1) + from, has - from) != 0)
		return 0;
	memcpy(late->bytes, event + 1, from);
	*copy = late->bytes;
	return from + (size_t)read;
}
