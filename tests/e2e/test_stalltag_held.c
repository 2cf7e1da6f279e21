/*
 * Threads that hold tags while a reader looks. Prints one line a thread, "TID ID NAME" ("-" for no name),
 * then "ready"; each line on the input makes the main thread push and pop once ("changed"); its end ends the
 * program.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "stalltag/stalltag.h"

struct holder {
	uint64_t id;
	const char *name;
	pthread_barrier_t *all_told;
};

static void tell(uint64_t id, const char *name)
{
	printf("%d %" PRIu64 " %s\n", gettid(), id, name ? name : "-");
	fflush(stdout);
}

static void *hold(void *argument)
{
	struct holder *holder = argument;

	if (holder->name)
		stalltag_push(holder->id, holder->name);
	tell(holder->id, holder->name);
	pthread_barrier_wait(holder->all_told);
	pause();
	return NULL;
}

int main(void)
{
	pthread_barrier_t all_told;
	struct holder holders[] = {
		{ UINT64_C(0xfedcba9876543210), "shard_read", &all_told },
		{ 0, NULL, &all_told },
		{ 0, "named/but/without/an/id", &all_told },
		{ 9,
		  "a_name_that_leaves_the_fast_path/because/it/is/longer/than/sixty-four/bytes/as/paths/can/"
		  "be",
		  &all_told },
	};
	pthread_t thread;
	char line[80];

	pthread_barrier_init(&all_told, NULL, sizeof(holders) / sizeof(holders[0]) + 1);
	stalltag_push(1, "run42");
	stalltag_push(80000, "checkpoint_write/run42/step80000/shard17");
	tell(80000, "checkpoint_write/run42/step80000/shard17");
	for (size_t i = 0; i < sizeof(holders) / sizeof(holders[0]); i++)
		pthread_create(&thread, NULL, hold, &holders[i]);
	pthread_barrier_wait(&all_told);
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		stalltag_push(UINT64_C(0x0123456789abcdef), "usdt/inner");
		stalltag_pop();
		puts("changed");
		fflush(stdout);
	}
	return 0;
}
