/* Finds user stacks by thread and place. */

#include "profiler/session/user_stacks.h"

struct place {
	uint64_t process_start_ns, ip, sp, stack_id;
	uint32_t tgid, tid;
};
_Static_assert(sizeof(struct place) == 40, "no padding");

/* Threads that come after each other have the same stack, and a stack_id tells it whole. */
static struct place place_of(const struct abi_event *event, uint64_t stack_id)
{
	return (struct place){ .process_start_ns = event->process_start_ns,
		               .ip = event->regs.ip,
		               .sp = event->regs.sp,
		               .stack_id = stack_id,
		               .tgid = event->tgid,
		               .tid = stack_id ? 0 : event->tid };
}

void user_stacks_put(struct stack_memo *memo, const struct abi_event *event, uint64_t stack_id,
                     const int64_t *ids, size_t n)
{
	struct place place = place_of(event, stack_id);

	if (event->flags & ABI_NO_USER_COPY || event->kind == ABI_EVENT_CPU || (event->n_python && !stack_id))
		return;
	stack_memo_put(memo, &place, sizeof(place), ids, n);
}

bool user_stacks_take(struct stack_memo *memo, const struct abi_event *event, int64_t *ids, size_t *n,
                      size_t room)
{
	struct place place = place_of(event, event->stack_id);
	const int64_t *known = NULL;
	size_t n_known, i;

	if (event->kind == ABI_EVENT_WAIT && event->flags & (ABI_NO_USER_COPY | ABI_STACK_AS_SENT))
		known = stack_memo_get(memo, &place, sizeof(place), &n_known);
	if (!known)
		return false;
	for (i = 0; i < n_known && *n < room; i++)
		ids[(*n)++] = known[i];
	return true;
}
