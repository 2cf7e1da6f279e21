/* spinners kib=K threads=N ms=M: N threads, each with K KiB on its stack, use CPUs for M ms. Every third is in other(), the rest in one().
 * Prints the CPU time of each function. */
#include <inttypes.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "attack.h"

#define NEVER_INLINE __attribute__((noinline, noclone))

static long kib, ms;
static uint64_t until_ns, cpu_ns[2]; /* of one(), of other() */

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void work(volatile uint64_t *sum)
{
	while (clock_ns(CLOCK_MONOTONIC) < until_ns)
		for (int i = 0; i < 20000; i++)
			*sum += i;
}

NEVER_INLINE void one(volatile uint64_t *sum);
NEVER_INLINE void other(volatile uint64_t *sum);

void one(volatile uint64_t *sum)
{
	work(sum);
	*sum += 1;
}

void other(volatile uint64_t *sum)
{
	work(sum);
	*sum += 2;
}

static void *spin(void *third)
{
	volatile char full[kib * 1024 + 1];
	volatile uint64_t sum = 0;

	memset((char *)full, 1, sizeof(full));
	(third ? other : one)(&sum);
	__sync_fetch_and_add(&cpu_ns[third != NULL], clock_ns(CLOCK_THREAD_CPUTIME_ID));
	return (void *)(intptr_t)(full[kib * 512] == 0);
}

int main(int argc, char **argv)
{
	long n = argument(argc, argv, "threads", 12);
	pthread_t threads[n];

	kib = argument(argc, argv, "kib", 0);
	ms = argument(argc, argv, "ms", 6000);
	until_ns = clock_ns(CLOCK_MONOTONIC) + (uint64_t)ms * 1000000;
	for (long i = 0; i < n; i++)
		must(!pthread_create(&threads[i], NULL, spin, i % 3 == 2 ? threads : NULL), "pthread_create");
	for (long i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	printf("{\"one_ns\": %" PRIu64 ", \"other_ns\": %" PRIu64 "}\n", cpu_ns[0], cpu_ns[1]);
	return 0;
}
