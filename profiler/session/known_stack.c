/* Finds return addresses in a copied stack. */

#include "profiler/session/known_stack.h"

#include <string.h>

/* On x86-64 the caller's stack begins behind the return address. */
static bool find_slot(const struct abi_event *event, uint64_t pc, uint64_t sp, uint16_t *slot)
{
	uint64_t at = sp - 8 - event->regs.sp, word;

	if (sp < event->regs.sp + 8 || at % 8 || at + 8 > event->ustack_len || at / 8 > UINT16_MAX)
		return false;
	memcpy(&word, (const char *)(event + 1) + at, sizeof(word));
	*slot = (uint16_t)(at / 8);
	return word == pc;
}

bool known_stack_of(struct abi_known_stack *known, const struct abi_event *event, const uint64_t *pcs,
                    const uint64_t *sps, size_t n)
{
	if (!event->stack_key || event->flags & (ABI_NO_USER_COPY | ABI_STACK_AS_SENT))
		return false;
	*known = (struct abi_known_stack){ .window = event->window };
	for (size_t i = 1; i < n && known->n < ABI_KNOWN_SLOTS; i++) {
		if (!find_slot(event, pcs[i], sps[i], &known->slot[known->n]))
			return false;
		known->hash = abi_hash_mix(known->hash, pcs[i]);
		known->n++;
	}
	return true;
}
