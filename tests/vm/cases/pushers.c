/*
 * pushers [threads=N] [rounds=N] [cpu=N] [name=NAME]: threads on one CPU (0) that push a tag with an id not used before, hold it for some CPU
 * time, and pop it, over and over: the programs on the tag library's probes are interrupted by each other. Each thread's tags have its name,
 * "NAME/NUMBER" (pusher/NUMBER).
 * Prints for each thread
 *   {"tag", "low_ns", "high_ns"}: how long it held its tags, without and with what push and pop themselves took
 */
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>

#include "stalltag/stalltag.h"
#include "tests/e2e/attack/attack.h"

#define THREADS_MAX 256

struct pusher {
	pthread_t thread;
	unsigned int number;
	char name[32];
	uint64_t low_ns, high_ns;
};

static unsigned int rounds;
static pthread_barrier_t ready;

static void spin_us(unsigned int us)
{
	uint64_t until = thread_cpu_ns() + us * UINT64_C(1000);

	while (thread_cpu_ns() < until)
		;
}

static void *push_on(void *arg)
{
	struct pusher *pusher = arg;
	uint64_t outer, inner, end;

	pthread_barrier_wait(&ready);
	for (unsigned int i = 1; i <= rounds; i++) {
		outer = monotonic_ns();
		stalltag_push((uint64_t)pusher->number << 32 | i, pusher->name);
		inner = monotonic_ns();
		spin_us(300);
		end = monotonic_ns();
		stalltag_pop();
		pusher->low_ns += end - inner;
		pusher->high_ns += monotonic_ns() - outer;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static struct pusher pushers[THREADS_MAX];
	unsigned int threads = (unsigned int)argument(argc, argv, "threads", 48), i;
	const char *name = argument_text(argc, argv, "name", "pusher");
	cpu_set_t one;

	rounds = (unsigned int)argument(argc, argv, "rounds", 100);
	must(threads <= THREADS_MAX, "threads");
	CPU_ZERO(&one);
	CPU_SET((size_t)argument(argc, argv, "cpu", 0), &one);
	must(sched_setaffinity(0, sizeof(one), &one) == 0, "sched_setaffinity");
	must(pthread_barrier_init(&ready, NULL, threads) == 0, "pthread_barrier_init");
	for (i = 0; i < threads; i++) {
		pushers[i].number = i + 1;
		snprintf(pushers[i].name, sizeof(pushers[i].name), "%s/%u", name, i);
		must(pthread_create(&pushers[i].thread, NULL, push_on, &pushers[i]) == 0, "pthread_create");
	}
	for (i = 0; i < threads; i++) {
		pthread_join(pushers[i].thread, NULL);
		printf("{\"tag\": \"%s\", \"low_ns\": %" PRIu64 ", \"high_ns\": %" PRIu64 "}\n",
		       pushers[i].name, pushers[i].low_ns, pushers[i].high_ns);
	}
	return 0;
}
