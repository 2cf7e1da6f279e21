/*
 * waiters how=read|buffered|mapped|write|append|fsync|close file=FILE [name=NAME] [threads=N] [bytes=N] [seconds=S] [long_ms=N] [errors=end]: threads that
 * wait for a file's device, each under a tag of its own, "NAME/NUMBER" (waiter/NUMBER), and clock themselves.
 *   read      O_DIRECT reads
 *   buffered  reads by the page cache, without readahead, each of bytes that nobody has read before
 *   mapped    the same by page faults
 *   write     O_DIRECT writes
 *   append    writes to the page cache; each to a file of its own, FILE.NUMBER
 *   fsync     the same, and fsync
 *   close     the file is opened, written to the page cache and closed
 * Prints tag_close()'s line a thread (tests/e2e/attack/attack.h), and for each call that took long_ms (500) or more
 *   {"waiter": NUMBER, "call_begin_ns", "call_ns", "busy_ns": of these on the CPU and its run queue, "cpu_ns": on the CPU, "error": errno, 0 if
 *   it did not fail}
 * and a line {"waiter": NUMBER, "slept": how often it went to sleep while it held its tag, as the kernel counts}.
 * SIGTERM ends it early. With errors=end a thread ends at its first call that fails, which is printed however short it was.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/e2e/attack/attack.h"

#define THREADS_MAX 64
#define CALLS_MAX   1024

struct call {
	uint64_t begin_ns, ns, busy_ns, cpu_ns;
	int error; /* errno, 0 none */
};

struct waiter {
	pthread_t thread;
	int number, fd;
	char name[32], path[4096];
	const volatile char *map; /* the file */
	size_t map_bytes;
	struct call call[CALLS_MAX];
	size_t n_calls;
	long slept;
};

static const char *how;
static size_t bytes, threads;
static uint64_t long_ns, until_ns;
static bool ends_at_error;
static volatile sig_atomic_t stop;

static void on_term(int number)
{
	(void)number;
	stop = 1;
}

/* Bytes that no call before has had. */
static off_t fresh_at(const struct waiter *waiter, unsigned int round)
{
	return (off_t)((round * threads + (unsigned int)waiter->number) * bytes);
}

static ssize_t append(int fd, const char *buffer)
{
	ssize_t done = write(fd, buffer, bytes);

	return strcmp(how, "fsync") || done < 0 ? done : fsync(fd);
}

static ssize_t open_and_close(const struct waiter *waiter, const char *buffer)
{
	int fd = open(waiter->path, O_WRONLY | O_CREAT | O_APPEND, 0644);
	ssize_t done = fd < 0 ? -1 : append(fd, buffer);

	if (fd >= 0)
		close(fd);
	return done;
}

/* Returns the call's errno, 0 if it did not fail. */
static int call_once(const struct waiter *waiter, char *buffer, unsigned int round)
{
	off_t at = (off_t)((round * 64 + (unsigned int)waiter->number) % 1024 * bytes);
	ssize_t done;

	if (!strcmp(how, "buffered"))
		done = pread(waiter->fd, buffer, bytes, fresh_at(waiter, round));
	else if (!strcmp(how, "mapped"))
		done = waiter->map[(size_t)fresh_at(waiter, round) % waiter->map_bytes];
	else if (!strcmp(how, "read"))
		done = pread(waiter->fd, buffer, bytes, at);
	else if (!strcmp(how, "write"))
		done = pwrite(waiter->fd, buffer, bytes, at);
	else if (!strcmp(how, "close"))
		done = open_and_close(waiter, buffer);
	else
		done = append(waiter->fd, buffer);
	return done < 0 ? errno
	                : 0; /* a device that goes away fails them: that is no fault of the workload's */
}

/* How often the thread has gone to sleep so far. */
static long sleeps(void)
{
	struct rusage usage;

	must(getrusage(RUSAGE_THREAD, &usage) == 0, "getrusage");
	return usage.ru_nvcsw;
}

static struct call clocked_call(const struct waiter *waiter, struct thread_clock *clock, char *buffer,
                                unsigned int round)
{
	struct moment begin, end;
	uint64_t busy_ns, behind_ns;
	int error;

	must(!thread_clock_read(clock, &begin), "clocks");
	error = call_once(waiter, buffer, round);
	must(!thread_clock_read(clock, &end), "clocks");
	busy_ns = end.cpu_ns - begin.cpu_ns + end.runqueue_ns - begin.runqueue_ns;
	/* The CPU may be taken from the thread for seconds while it reads the clocks. It does not sleep there. */
	behind_ns = end.wall_ns - end.first_ns;
	return (struct call){
		.begin_ns = begin.wall_ns,
		.ns = end.first_ns - begin.wall_ns,
		.busy_ns = busy_ns > behind_ns ? busy_ns - behind_ns : 0,
		.cpu_ns = end.cpu_ns - begin.cpu_ns,
		.error = error,
	};
}

static void *wait_on(void *arg)
{
	struct waiter *waiter = arg;
	char *buffer = aligned_buffer(bytes);
	struct thread_clock clock;
	struct held_tag tag;

	must(!thread_clock_open(&clock), "schedstat");
	tag_open(&tag, (uint64_t)waiter->number + 1, waiter->name);
	waiter->slept = -sleeps();
	for (unsigned int round = 0; !stop && monotonic_ns() < until_ns; round++) {
		struct call call = clocked_call(waiter, &clock, buffer, round);
		bool ends = call.error && ends_at_error;

		if ((call.ns >= long_ns || ends) && waiter->n_calls < CALLS_MAX)
			waiter->call[waiter->n_calls++] = call;
		if (ends)
			break;
	}
	waiter->slept += sleeps();
	tag_close(&tag);
	thread_clock_close(&clock);
	free(buffer);
	return NULL;
}

static void map_file(struct waiter *waiter)
{
	struct stat status;

	must(fstat(waiter->fd, &status) == 0, "fstat");
	waiter->map_bytes = (size_t)status.st_size;
	waiter->map = mmap(NULL, waiter->map_bytes, PROT_READ, MAP_SHARED, waiter->fd, 0);
	must(waiter->map != MAP_FAILED, "mmap");
	must(madvise((void *)waiter->map, waiter->map_bytes, MADV_RANDOM) == 0, "madvise");
}

static void open_for(struct waiter *waiter, const char *file)
{
	bool appends = !strcmp(how, "append") || !strcmp(how, "fsync") || !strcmp(how, "close");
	int flags = O_RDONLY;

	if (!strcmp(how, "read"))
		flags = O_RDONLY | O_DIRECT;
	else if (!strcmp(how, "write"))
		flags = O_RDWR | O_DIRECT;
	else if (appends)
		flags = O_WRONLY | O_CREAT | O_APPEND;
	snprintf(waiter->path, sizeof(waiter->path), appends ? "%s.%d" : "%s", file, waiter->number);
	waiter->fd = open(waiter->path, flags, 0644);
	must(waiter->fd >= 0, "open");
	if (!strcmp(how, "buffered"))
		must(posix_fadvise(waiter->fd, 0, 0, POSIX_FADV_RANDOM) == 0, "posix_fadvise");
	if (!strcmp(how, "mapped"))
		map_file(waiter);
}

int main(int argc, char **argv)
{
	static struct waiter waiters[THREADS_MAX];
	size_t i;
	struct sigaction action = { .sa_handler = on_term };

	threads = (size_t)argument(argc, argv, "threads", 8);
	must(threads <= THREADS_MAX, "threads");
	how = argument_text(argc, argv, "how", "read");
	bytes = (size_t)argument(argc, argv, "bytes", 4096);
	long_ns = (uint64_t)argument(argc, argv, "long_ms", 500) * 1000000;
	ends_at_error = !strcmp(argument_text(argc, argv, "errors", ""), "end");
	until_ns = monotonic_ns() + (uint64_t)argument(argc, argv, "seconds", 10) * 1000000000;
	must(sigaction(SIGTERM, &action, NULL) == 0, "sigaction");
	for (i = 0; i < threads; i++) {
		waiters[i].number = (int)i;
		snprintf(waiters[i].name, sizeof(waiters[i].name), "%s/%zu",
		         argument_text(argc, argv, "name", "waiter"), i);
		open_for(&waiters[i], argument_text(argc, argv, "file", ""));
	}
	for (i = 0; i < threads; i++)
		must(pthread_create(&waiters[i].thread, NULL, wait_on, &waiters[i]) == 0, "thread");
	for (i = 0; i < threads; i++)
		pthread_join(waiters[i].thread, NULL);
	for (i = 0; i < threads; i++)
		printf("{\"waiter\": %zu, \"slept\": %ld}\n", i, waiters[i].slept);
	for (i = 0; i < threads; i++)
		for (size_t n = 0; n < waiters[i].n_calls; n++)
			printf("{\"waiter\": %zu, \"call_begin_ns\": %" PRIu64 ", \"call_ns\": %" PRIu64
			       ", \"busy_ns\": %" PRIu64 ", \"cpu_ns\": %" PRIu64 ", \"error\": %d}\n",
			       i, waiters[i].call[n].begin_ns, waiters[i].call[n].ns,
			       waiters[i].call[n].busy_ns, waiters[i].call[n].cpu_ns,
			       waiters[i].call[n].error);
	return 0;
}
