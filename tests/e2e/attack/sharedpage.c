/*
 * sharedpage file=PATH [how=fault|read] [threads=8] [pages=300] [cgroup=PATH]: threads touch one cold page of a mapped file together (or
 * read it with pread), then the next. They meet at a barrier before each, where they hold no tag. Moves itself into the control group
 * first. Prints for each thread what it slept and what it waited for a CPU in that, by the scheduler's own counts:
 *   {"tag": "page/0", "slept_ns", "runqueue_ns"}
 */
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "attack.h"
#include "stalltag/stalltag.h"

#define THREADS_MAX 64
#define STEP        65536 /* between pages, so that none is read ahead for another */

static struct {
	int fd;
	const char *map;
	long pages;
	int faults;
	pthread_barrier_t barrier;
} all;

static void touch(long page)
{
	char byte;

	if (all.faults)
		byte = *(volatile const char *)(all.map + page * STEP);
	else
		must(pread(all.fd, &byte, 1, page * STEP) == 1, "pread");
	(void)byte;
}

static void *run(void *number)
{
	struct thread_clock clock;
	struct moment before, after;
	uint64_t slept_ns = 0, runqueue_ns = 0, queued_ns;
	char name[32];

	snprintf(name, sizeof(name), "page/%ld", (long)number);
	must(!thread_clock_open(&clock), "schedstat");
	for (long page = 0; page < all.pages; page++) {
		pthread_barrier_wait(&all.barrier);
		stalltag_push((uint64_t)(long)number + 1, name);
		thread_clock_read(&clock, &before);
		touch(page);
		thread_clock_read(&clock, &after);
		stalltag_pop();
		queued_ns = after.runqueue_ns - before.runqueue_ns;
		runqueue_ns += queued_ns;
		slept_ns += after.wall_ns - before.wall_ns - (after.cpu_ns - before.cpu_ns) - queued_ns;
	}
	thread_clock_close(&clock);
	printf("{\"tag\": \"%s\", \"slept_ns\": %" PRIu64 ", \"runqueue_ns\": %" PRIu64 "}\n", name, slept_ns,
	       runqueue_ns);
	return NULL;
}

static void join_cgroup(const char *path)
{
	char file[512];
	FILE *out;

	if (!*path)
		return;
	snprintf(file, sizeof(file), "%s/cgroup.procs", path);
	out = fopen(file, "w");
	must(out && fprintf(out, "%d", (int)getpid()) > 0 && !fclose(out), file);
}

int main(int argc, char **argv)
{
	long threads = argument(argc, argv, "threads", 8);
	pthread_t ids[THREADS_MAX];

	all.pages = argument(argc, argv, "pages", 300);
	all.faults = !strcmp(argument_text(argc, argv, "how", "fault"), "fault");
	all.fd = open(argument_text(argc, argv, "file", ""), O_RDONLY);
	must(all.fd >= 0 && threads > 0 && threads <= THREADS_MAX, "file, threads");
	must(!posix_fadvise(all.fd, 0, 0, POSIX_FADV_DONTNEED) &&
	             !posix_fadvise(all.fd, 0, 0, POSIX_FADV_RANDOM),
	     "fadvise");
	all.map = mmap(NULL, (size_t)all.pages * STEP, PROT_READ, MAP_SHARED, all.fd, 0);
	must(all.map != MAP_FAILED && !madvise((void *)all.map, (size_t)all.pages * STEP, MADV_RANDOM),
	     "mmap");
	join_cgroup(argument_text(argc, argv, "cgroup", ""));
	pthread_barrier_init(&all.barrier, NULL, (unsigned int)threads);
	for (long i = 0; i < threads; i++)
		must(!pthread_create(&ids[i], NULL, run, (void *)i), "pthread_create");
	for (long i = 0; i < threads; i++)
		pthread_join(ids[i], NULL);
	return 0;
}
