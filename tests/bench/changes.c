/*
 * changes: works and changes its tag some 100,000 times a second, to measure what frequent changes cost.
 *
 *   changes [SECONDS [new]]     prints steps of work a second, and by second of its own CPU time
 *
 * The tags come again, as those of a model's layers do, or with "new" never, as those of its steps.
 * A step is a few ns and is the same in each run; how many of them make 10 us is found first, while nothing is pushed.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "stalltag/stalltag.h"

#define CHANGE_S 10e-6
#define IDS      16

static uint64_t state = 1;

static double clock_s(clockid_t id)
{
	struct timespec now;

	clock_gettime(id, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void work(unsigned long steps)
{
	for (unsigned long i = 0; i < steps; i++)
		state = state * 6364136223846793005u + 1442695040888963407u;
	__asm__ volatile("" ::"r"(state) : "memory");
}

/* The fastest of ten, as whatever else runs makes it slower only. */
static unsigned long steps_a_change(void)
{
	unsigned long steps = 1000000;
	double best = 1e9;

	for (int i = 0; i < 10; i++) {
		double began = clock_s(CLOCK_THREAD_CPUTIME_ID), took;

		work(steps);
		took = clock_s(CLOCK_THREAD_CPUTIME_ID) - began;
		best = took < best ? took : best;
	}
	return (unsigned long)((double)steps * CHANGE_S / best) + 1;
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? strtod(argv[1], NULL) : 3, began, cpu, ended;
	unsigned long steps = steps_a_change(), done = 0;
	uint64_t id = 0, ids = argc > 2 && !strcmp(argv[2], "new") ? UINT64_MAX : IDS;

	began = clock_s(CLOCK_MONOTONIC);
	cpu = clock_s(CLOCK_PROCESS_CPUTIME_ID);
	do {
		for (int i = 0; i < 500; i++, done += 2 * steps) {
			stalltag_push(1 + id++ % ids, "layer");
			work(steps);
			stalltag_pop();
			work(steps);
		}
		ended = clock_s(CLOCK_MONOTONIC);
	} while (ended - began < seconds);
	printf("%.1f %.1f\n", (double)done / (ended - began),
	       (double)done / (clock_s(CLOCK_PROCESS_CPUTIME_ID) - cpu));
	return 0;
}
