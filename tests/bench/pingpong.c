/*
 * pingpong: two threads on one CPU pass a byte to each other through two pipes: nothing but context switches, the
 * hardest load for a hook on the scheduler.
 *
 *   pingpong [SECONDS] [CPU]     prints round trips a second, and by second of its own CPU time
 *
 * A round trip is two switches and two wake-ups.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static int there[2], back[2];

static double clock_s(clockid_t id)
{
	struct timespec now;

	clock_gettime(id, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int pass(int in, int out)
{
	char byte;

	return read(in, &byte, 1) == 1 && write(out, &byte, 1) == 1;
}

static void *answer(void *arg)
{
	while (pass(there[0], back[1]))
		;
	return arg;
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? strtod(argv[1], NULL) : 3, began, ended;
	unsigned long rounds = 0;
	pthread_t partner;
	cpu_set_t one;
	char byte = 1;

	CPU_ZERO(&one);
	CPU_SET(argc > 2 ? strtoul(argv[2], NULL, 10) : 0, &one);
	if (sched_setaffinity(0, sizeof(one), &one) || pipe(there) || pipe(back) ||
	    pthread_create(&partner, NULL, answer, NULL)) {
		perror("pingpong");
		return 1;
	}
	began = clock_s(CLOCK_MONOTONIC);
	do {
		for (int i = 0; i < 500; i++, rounds++)
			if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
				return 1;
		ended = clock_s(CLOCK_MONOTONIC);
	} while (ended - began < seconds);
	close(there[1]);
	pthread_join(partner, NULL);
	printf("%.1f %.1f\n", (double)rounds / (ended - began),
	       (double)rounds / clock_s(CLOCK_PROCESS_CPUTIME_ID));
	return 0;
}
