/* Sums what calls took, and prints it. */

#include "tests/e2e/libraries/call_clock.h"

#include <inttypes.h>
#include <stdio.h>

#include "tests/e2e/attack/attack.h"

void call_clock_open(struct call_clock *calls, const char *of)
{
	*calls = (struct call_clock){ .of = of };
	must(thread_clock_open(&calls->clock) == 0, "schedstat");
}

void call_begin(struct call_clock *calls)
{
	must(thread_clock_read(&calls->clock, &calls->began) == 0, "clocks");
}

void call_end(struct call_clock *calls)
{
	struct moment now;

	must(thread_clock_read(&calls->clock, &now) == 0, "clocks");
	calls->calls++;
	calls->ns += now.wall_ns - calls->began.wall_ns;
	calls->cpu_ns += now.cpu_ns - calls->began.cpu_ns;
	calls->runqueue_ns += now.runqueue_ns - calls->began.runqueue_ns;
}

void call_clock_close(struct call_clock *calls)
{
	printf("{\"of\": \"%s\", \"calls\": %" PRIu64 ", \"call_ns\": %" PRIu64 ", \"call_cpu_ns\": %" PRIu64
	       ", \"call_runqueue_ns\": %" PRIu64 "}\n",
	       calls->of, calls->calls, calls->ns, calls->cpu_ns, calls->runqueue_ns);
	fflush(stdout);
	thread_clock_close(&calls->clock);
}
