/*
 * pingpong seconds=N: two threads on one CPU pass a byte back and forth through pipes, each under its own tag: ping,
 * pong.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

#include "attack.h"

static int there[2], back[2];
static uint64_t until_ns;

static void stay_on_one_cpu(void)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(0, &one);
	must(sched_setaffinity(0, sizeof(one), &one) == 0, "affinity");
}

static void *pong(void *unused)
{
	struct held_tag tag = { 0 };
	char byte;

	(void)unused;
	stay_on_one_cpu();
	tag_open(&tag, 2, "pong");
	while (read(there[0], &byte, 1) == 1 && byte)
		must(write(back[1], &byte, 1) == 1, "write");
	tag_close(&tag);
	return NULL;
}

int main(int argc, char **argv)
{
	struct held_tag tag = { 0 };
	pthread_t thread;
	char byte = 1;

	must(pipe(there) == 0 && pipe(back) == 0, "pipe");
	stay_on_one_cpu();
	must(pthread_create(&thread, NULL, pong, NULL) == 0, "thread");
	until_ns = monotonic_ns() + (uint64_t)argument(argc, argv, "seconds", 3) * 1000000000ull;
	tag_open(&tag, 1, "ping");
	while (monotonic_ns() < until_ns)
		must(write(there[1], &byte, 1) == 1 && read(back[0], &byte, 1) == 1, "pass");
	byte = 0;
	must(write(there[1], &byte, 1) == 1, "write");
	tag_close(&tag);
	pthread_join(thread, NULL);
	return 0;
}
