/*
 * What the calls of a library took, by the calling thread's own clocks (../workload/clocks.h).
 *
 *	call_clock_open(&calls, "name of the tag");	on the thread that calls
 *	call_begin(&calls); … call_end(&calls);		around each
 *	call_clock_close(&calls);			prints a line of JSON:
 *	  {"of", "calls", "call_ns", "call_cpu_ns", "call_runqueue_ns"}
 */
#ifndef CALL_CLOCK_H
#define CALL_CLOCK_H

#include "tests/e2e/workload/clocks.h"

struct call_clock {
	const char *of;
	struct thread_clock clock;
	struct moment began;
	uint64_t calls, ns, cpu_ns, runqueue_ns;
};

void call_clock_open(struct call_clock *calls, const char *of);
void call_begin(struct call_clock *calls);
void call_end(struct call_clock *calls);
void call_clock_close(struct call_clock *calls);

#endif
