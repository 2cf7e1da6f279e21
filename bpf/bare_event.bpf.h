/* Events that have nothing behind their head. */
#ifndef STALLPROF_BARE_EVENT_BPF_H
#define STALLPROF_BARE_EVENT_BPF_H

#include "bpf/state.bpf.h"

/* One to be filled and submitted; NULL: the ring is full, which is counted. The ring's memory is not zeroed. */
ALWAYS struct abi_event *bare_event(u32 kind, u64 now)
{
	struct abi_event *event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);

	if (!event) {
		COUNT(ring_full);
		return NULL;
	}
	event->flags = 0;
	event->ustack_len = 0;
	event->n_python = 0;
	event->has_detail = 0;
	event->kind = kind;
	event->time_ns = now;
	return event;
}

#endif
