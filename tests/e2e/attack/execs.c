/*
 * Processes that execute this program anew right after their fork, some ms apart, while the tag library is known
 * already: each has threads that hold one tag after the other, in which they compute and sleep.
 *
 *	execs processes=60 threads=3 tags=4 gap_us=5000
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/e2e/attack/attack.h"

#define THREADS_MAX 16
#define WARM_UP_MS  1000 /* until whoever listens to the library has come to it */

static long n_tags;

static void *hold_tags(void *unused)
{
	(void)unused;
	for (long i = 0; i < n_tags; i++) {
		struct held_tag tag;
		char name[64];

		snprintf(name, sizeof(name), "held/%d.%ld", (int)thread_id(), i);
		tag_open(&tag, 0, name);
		compute_us(1000);
		sleep_ms(4);
		tag_close(&tag);
	}
	return NULL;
}

static int be_child(long threads)
{
	pthread_t thread[THREADS_MAX];

	for (long i = 0; i < threads; i++)
		must(pthread_create(&thread[i], NULL, hold_tags, NULL) == 0, "pthread_create");
	for (long i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	return 0;
}

/* Its own arguments again, and one more. */
static void execute_anew(char **argv, int argc)
{
	char **again = calloc((size_t)argc + 2, sizeof(*again));

	must(again != NULL, "calloc");
	memcpy(again, argv, (size_t)argc * sizeof(*again));
	again[argc] = (char *)"child=1";
	execv("/proc/self/exe", again);
	must(false, "execv");
}

int main(int argc, char **argv)
{
	long threads = argument(argc, argv, "threads", 3), processes = argument(argc, argv, "processes", 60);
	struct held_tag warm;

	n_tags = argument(argc, argv, "tags", 4);
	must(threads <= THREADS_MAX, "threads");
	if (argument(argc, argv, "child", 0))
		return be_child(threads);
	tag_open(&warm, 0, "warm");
	wait_until_heard();
	sleep_ms(WARM_UP_MS);
	tag_close(&warm);
	for (long i = 0; i < processes; i++) {
		pid_t child = fork();

		must(child >= 0, "fork");
		if (!child)
			execute_anew(argv, argc);
		sleep_us((unsigned int)argument(argc, argv, "gap_us", 5000));
	}
	while (wait(NULL) > 0)
		;
	return 0;
}
