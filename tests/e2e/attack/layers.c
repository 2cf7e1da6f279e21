/*
 * layers hz=N seconds=S: tags like those of a training loop: 50 steps a second, each under its own tag, and within
 * each step N/50 tags of 16 layers, one after the other. Prints {"pid", "tagged_ns", "pushes"}; tagged_ns is the sum
 * of the steps, by their own clock.
 */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "attack.h"
#include "stalltag/stalltag.h"
#include "tests/e2e/workload/clocks.h"

#define STEPS_HZ   50
#define LAYERS     16
#define LAYER_WORK 300

static uint64_t step(uint64_t number, long layers)
{
	uint64_t began = monotonic_ns();
	volatile uint64_t sink = 0;

	stalltag_push(number, "step");
	for (long i = 0; i < layers; i++) {
		stalltag_push(1 + (uint64_t)i % LAYERS, "layer");
		for (int turn = 0; turn < LAYER_WORK; turn++)
			sink += (uint64_t)turn;
		stalltag_pop();
	}
	sleep_ms(1000 / STEPS_HZ / 2);
	stalltag_pop();
	return monotonic_ns() - began;
}

int main(int argc, char **argv)
{
	long hz = argument(argc, argv, "hz", 20000), seconds = argument(argc, argv, "seconds", 30);
	uint64_t began, now, steps = 0, tagged_ns = 0;

	wait_until_heard();
	sleep_ms(1000); /* a profiler of the whole host finds the program meanwhile */
	began = monotonic_ns();
	for (now = began; now < began + (uint64_t)seconds * 1000000000; now = monotonic_ns()) {
		uint64_t next = began + (steps + 1) * (1000000000 / STEPS_HZ);

		tagged_ns += step(++steps, hz / STEPS_HZ);
		now = monotonic_ns();
		if (next > now)
			nanosleep(&(struct timespec){ .tv_nsec = (long)(next - now) }, NULL);
	}
	printf("{\"pid\": %d, \"tagged_ns\": %" PRIu64 ", \"pushes\": %" PRIu64 "}\n", (int)getpid(),
	       tagged_ns, steps * (uint64_t)(1 + hz / STEPS_HZ));
	return 0;
}
