/*
 * waiters how=read|write|fsync file=FILE [threads=N] [bytes=N] [seconds=S] [long_ms=N]: threads that wait for a file's device, each
 * under a tag of its own, "waiter/NUMBER", and clock themselves.
 *   read    O_DIRECT reads
 *   write   O_DIRECT writes
 *   fsync   an append, and fsync; each to a file of its own, FILE.NUMBER
 * Prints tag_close()'s line a thread (tests/e2e/attack/attack.h), and for each call that took long_ms (500) or more
 *   {"waiter": NUMBER, "call_begin_ns", "call_ns"}
 * SIGTERM ends it early.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/e2e/attack/attack.h"

#define THREADS_MAX 64
#define CALLS_MAX   1024

struct call {
	uint64_t begin_ns, ns;
};

struct waiter {
	pthread_t thread;
	int number, fd;
	char name[32];
	struct call call[CALLS_MAX];
	size_t n_calls;
};

static const char *how;
static size_t bytes;
static uint64_t long_ns, until_ns;
static volatile sig_atomic_t stop;

static void on_term(int number)
{
	(void)number;
	stop = 1;
}

static void call_once(const struct waiter *waiter, char *buffer, unsigned int round)
{
	off_t at = (off_t)((round * 64 + (unsigned int)waiter->number) % 1024 * bytes);
	ssize_t done;

	if (!strcmp(how, "read"))
		done = pread(waiter->fd, buffer, bytes, at);
	else if (!strcmp(how, "write"))
		done = pwrite(waiter->fd, buffer, bytes, at);
	else
		done = write(waiter->fd, buffer, bytes);
	if (!strcmp(how, "fsync") && done > 0)
		done = fsync(waiter->fd) ? -1 : done;
	(void)done; /* a device that goes away fails them: that is no fault of the workload's */
}

static void *wait_on(void *arg)
{
	struct waiter *waiter = arg;
	char *buffer = aligned_buffer(bytes);
	struct held_tag tag;

	tag_open(&tag, (uint64_t)waiter->number + 1, waiter->name);
	for (unsigned int round = 0; !stop && monotonic_ns() < until_ns; round++) {
		uint64_t begin_ns = monotonic_ns(), ns;

		call_once(waiter, buffer, round);
		ns = monotonic_ns() - begin_ns;
		if (ns >= long_ns && waiter->n_calls < CALLS_MAX)
			waiter->call[waiter->n_calls++] = (struct call){ begin_ns, ns };
	}
	tag_close(&tag);
	free(buffer);
	return NULL;
}

static int open_for(int number, const char *file)
{
	char path[4096];

	if (!strcmp(how, "read"))
		return open(file, O_RDONLY | O_DIRECT);
	if (!strcmp(how, "write"))
		return open(file, O_RDWR | O_DIRECT);
	snprintf(path, sizeof(path), "%s.%d", file, number);
	return open(path, O_WRONLY | O_CREAT | O_APPEND, 0644);
}

int main(int argc, char **argv)
{
	static struct waiter waiters[THREADS_MAX];
	long threads = argument(argc, argv, "threads", 8), i;
	struct sigaction action = { .sa_handler = on_term };

	how = argument_text(argc, argv, "how", "read");
	bytes = (size_t)argument(argc, argv, "bytes", 4096);
	long_ns = (uint64_t)argument(argc, argv, "long_ms", 500) * 1000000;
	until_ns = monotonic_ns() + (uint64_t)argument(argc, argv, "seconds", 10) * 1000000000;
	must(sigaction(SIGTERM, &action, NULL) == 0, "sigaction");
	threads = threads < THREADS_MAX ? threads : THREADS_MAX;
	for (i = 0; i < threads; i++) {
		waiters[i].number = (int)i;
		snprintf(waiters[i].name, sizeof(waiters[i].name), "waiter/%ld", i);
		waiters[i].fd = open_for((int)i, argument_text(argc, argv, "file", ""));
		must(waiters[i].fd >= 0, "open");
	}
	for (i = 0; i < threads; i++)
		must(pthread_create(&waiters[i].thread, NULL, wait_on, &waiters[i]) == 0, "thread");
	for (i = 0; i < threads; i++)
		pthread_join(waiters[i].thread, NULL);
	for (i = 0; i < threads; i++)
		for (size_t n = 0; n < waiters[i].n_calls; n++)
			printf("{\"waiter\": %ld, \"call_begin_ns\": %" PRIu64 ", \"call_ns\": %" PRIu64
			       "}\n",
			       i, waiters[i].call[n].begin_ns, waiters[i].call[n].ns);
	return 0;
}
