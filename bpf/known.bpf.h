/* Stacks that user space has: they are not sent again.
 *
 * Which Python frames a stack has, and where it begins, does not say which C functions are in it. User space says where in it return addresses
 * lie, once it has resolved it; where they are the same there, so are the frames. Each profile has its own stacks: a window here is a second,
 * of which user space makes a longer one (stacks_from).
 */
#ifndef STALLPROF_KNOWN_BPF_H
#define STALLPROF_KNOWN_BPF_H

#include "bpf/capture.bpf.h"

struct known_walk {
	struct stack_buffer *buffer;
	const struct abi_known_stack *known;
	u64 hash;
	u32 len; /* of the stack's copy */
	u32 beyond;
};

/* One return address; 1 ends the loop. */
ALWAYS long known_slot(u32 i, struct known_walk *w)
{
	u32 at;

	if (i >= w->known->n || i >= ABI_KNOWN_SLOTS)
		return 1;
	at = (u32)w->known->slot[i & (ABI_KNOWN_SLOTS - 1)] * 8;
	if (at + 8 > w->len) {
		w->beyond = 1;
		return 1;
	}
	w->hash = abi_hash_mix(w->hash, *(u64 *)&w->buffer->ustack[cut_to(at, ABI_USTACK_MAX - 8)]);
	return 0;
}

LOOP_OF(known_slot, struct known_walk)

/* Sets the event's stack_id if user space has its stack. Returns it, 0: it has not. */
VERIFIED_ONCE u64 stack_known(struct stack_buffer *buffer, u32 len)
{
	struct known_walk w = { .buffer = buffer, .len = len };
	u64 key;

	if (!buffer || !buffer->event.stack_key)
		return 0;
	key = buffer->event.stack_key;
	w.known = bpf_map_lookup_elem(&known_stacks, &key);
	if (!w.known || w.known->window < stacks_from)
		return 0;
	known_slot_loop(ABI_KNOWN_SLOTS, &w);
	if (w.beyond || w.hash != w.known->hash)
		return 0;
	buffer->event.stack_id = abi_stack_id(key, w.hash);
	return buffer->event.stack_id;
}

/* Sends the buffer's event without its stack. Not from the buffer itself: a walk may copy that just now, and the detail goes where the stack
 * is. Returns 0. */
VERIFIED_ONCE int send_as_known(struct stack_buffer *buffer)
{
	struct stack_buffer *copy = buffer_scratch();

	if (!buffer || !copy)
		return 0;
	bpf_probe_read_kernel(&copy->event, sizeof(copy->event), &buffer->event);
	bpf_probe_read_kernel(&copy->detail, sizeof(copy->detail), &buffer->detail);
	copy->event.flags |= ABI_STACK_AS_SENT;
	event_send(copy, 0, 0);
	return 0;
}

#endif
