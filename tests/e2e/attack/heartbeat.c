/*
 * heartbeat nested=N: on a host where nothing is tagged, a tag that is held for a tenth of a millisecond, and then a sleep of SLEEP_MS without one.
 * With nested=1 a tag, and at once another in it, under which the sleep is. Prints {"held_ns", "slept_ns"} by its own clock.
 */
#include <inttypes.h>
#include <stdio.h>

#include "attack.h"
#include "stalltag/stalltag.h"
#include "tests/e2e/workload/clocks.h"

#define HELD_NS  100000
#define SLEEP_MS 3000
#define REST_MS  12000 /* the hooks are detached after 10 s */

static uint64_t spin(uint64_t ns)
{
	uint64_t began = monotonic_ns();

	while (monotonic_ns() - began < ns)
		;
	return monotonic_ns() - began;
}

int main(int argc, char **argv)
{
	long nested = argument(argc, argv, "nested", 0);
	uint64_t held, slept;

	sleep_ms(1000); /* the library is listened to by then */
	stalltag_push(1, "first");
	stalltag_pop();
	sleep_ms(REST_MS);
	stalltag_push(1, "beat");
	held = spin(HELD_NS);
	if (nested)
		stalltag_push(2, "within");
	else
		stalltag_pop();
	slept = monotonic_ns();
	sleep_ms(SLEEP_MS);
	slept = monotonic_ns() - slept;
	if (nested) {
		stalltag_pop();
		stalltag_pop();
	}
	printf("{\"held_ns\": %" PRIu64 ", \"slept_ns\": %" PRIu64 "}\n", held, slept);
	return 0;
}
