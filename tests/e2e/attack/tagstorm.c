/*
 * tagstorm tags=N: N tags one after the other, each with its own id and a short sleep; prints {"wall_ns"}, the time
 * of all.
 */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "attack.h"
#include "stalltag/stalltag.h"

int main(int argc, char **argv)
{
	long tags = argument(argc, argv, "tags", 100000);
	uint64_t began = monotonic_ns();
	volatile uint64_t sink = 0;

	for (long i = 0; i < tags; i++) {
		stalltag_push((uint64_t)i + 1, "storm");
		for (int turn = 0; turn < 2000; turn++)
			sink += (uint64_t)turn;
		if (i % 16 == 0)
			nanosleep(&(struct timespec){ .tv_nsec = 1000 }, NULL);
		stalltag_pop();
	}
	printf("{\"wall_ns\": %" PRIu64 ", \"began_ns\": %" PRIu64 "}\n", monotonic_ns() - began, began);
	return 0;
}
