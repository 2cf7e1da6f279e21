/* A table by a hash of process and address. */

#include "profiler/session/gil_locks.h"

/* The first argument of futex(). */
static uint64_t address_of(const struct abi_event *event)
{
	return event->state == ABI_SLEEP && event->cause == ABI_WAIT_LOCK ? event->regs.di : 0;
}

static size_t place_of(const struct abi_event *event)
{
	uint64_t hash = (address_of(event) ^ event->process_start_ns) * 0x9e3779b97f4a7c15ULL;

	return (size_t)(hash >> 32) % GIL_LOCKS_MAX;
}

void gil_locks_note(struct gil_locks *locks, const struct abi_event *event)
{
	if (address_of(event))
		locks->known[place_of(event)] =
		        (struct gil_lock){ .process_start_ns = event->process_start_ns,
			                   .address = address_of(event),
			                   .tgid = event->tgid };
}

bool gil_locks_has(const struct gil_locks *locks, const struct abi_event *event)
{
	const struct gil_lock *known = &locks->known[place_of(event)];

	return address_of(event) && known->address == address_of(event) && known->tgid == event->tgid &&
	       known->process_start_ns == event->process_start_ns;
}
