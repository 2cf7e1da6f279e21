/*
 * deep: threads that wait at the bottom of a stack of known shape, for unwinders and symbolizers.
 *
 *   deep --seconds S --dir DIR [--threads N] [--wait direct|fsync] [--throttle-cgroup CGROUP]
 *
 * From the thread's start to the system call (inlined levels in brackets):
 *
 *   deep_thread > deep_epoch > [deep_batch] > deep_shard > [deep_encode > [deep_block]] > deep_level x 8
 *   > deep_wide (a frame of 12 KiB) > [deep_bottom] > pwrite or fsync
 *
 * Built -O2 -fomit-frame-pointer. In a CGROUP with a write limit a wait lasts CHUNK / limit seconds. Prints
 * one line of JSON when all threads run: {"pid", "tids", "call"}, and at the end {"calls", "waited_ns"}.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "stalltag/stalltag.h"
#include "tests/e2e/workload/clocks.h"
#include "tests/e2e/workload/coldfile.h"

#define MOST_THREADS 8
#define LEVELS       8
#define WIDE_BYTES   (12u << 10)
#define FILE_BYTES   (16u << 20)
#define CHUNK_BYTES  (512u << 10)
#ifdef __clang__
#define NEVER_INLINE __attribute__((noinline))
#else
#define NEVER_INLINE __attribute__((noinline, noclone))
#endif
#define INLINE static inline __attribute__((always_inline))

struct deep {
	int fd;
	bool syncs;
	char *buffer;
	size_t at;
	uint64_t until_ns, calls, waited_ns;
	pid_t tid;
	pthread_t thread;
};

static const char *directory;
static const char *throttle_cgroup;
static bool wait_is_fsync;
static pthread_barrier_t all_ready;

int deep_level(struct deep *deep, int levels);
int deep_wide(struct deep *deep);
int deep_shard(struct deep *deep);
int deep_epoch(struct deep *deep);
void *deep_thread(void *arg);

INLINE int deep_bottom(struct deep *deep)
{
	uint64_t began = monotonic_ns();
	ssize_t put = pwrite(deep->fd, deep->buffer, CHUNK_BYTES, (off_t)deep->at);

	if (deep->syncs && put > 0 && fsync(deep->fd))
		put = -1;
	deep->waited_ns += monotonic_ns() - began;
	deep->calls++;
	deep->at = (deep->at + CHUNK_BYTES) % FILE_BYTES;
	return put > 0 ? 0 : -EIO; /* a debugger that stops us may cut a write short */
}

NEVER_INLINE int deep_wide(struct deep *deep)
{
	volatile char wide[WIDE_BYTES];
	int err;

	wide[0] = (char)deep->calls;
	wide[WIDE_BYTES - 1] = 1;
	err = deep_bottom(deep);
	return wide[WIDE_BYTES - 1] == 1 ? err : -EFAULT;
}

NEVER_INLINE int deep_level(struct deep *deep, int levels)
{
	int err = levels ? deep_level(deep, levels - 1) : deep_wide(deep);

	__asm__ volatile("" : "+r"(err)); /* something to do after the call: no jump instead of it */
	return err;
}

INLINE int deep_block(struct deep *deep)
{
	deep->buffer[0]++;
	return deep_level(deep, LEVELS - 1);
}

INLINE int deep_encode(struct deep *deep)
{
	int err = deep_block(deep);

	deep->buffer[1] ^= (char)err;
	return err;
}

NEVER_INLINE int deep_shard(struct deep *deep)
{
	int err = deep_encode(deep);

	__asm__ volatile("" : "+r"(err));
	return err;
}

INLINE int deep_batch(struct deep *deep)
{
	int err = deep_shard(deep);

	deep->buffer[2] ^= (char)err;
	return err;
}

NEVER_INLINE int deep_epoch(struct deep *deep)
{
	int err = 0;

	while (!err && monotonic_ns() < deep->until_ns)
		err = deep_batch(deep);
	return err;
}

static void cgroup_join(void)
{
	char path[4096];
	FILE *tasks;

	snprintf(path, sizeof(path), "%s/tasks", throttle_cgroup);
	tasks = fopen(path, "we");
	if (!tasks || fprintf(tasks, "%d", (int)syscall(SYS_gettid)) < 0 || fclose(tasks))
		fprintf(stderr, "deep: %s: %s\n", path, strerror(errno));
}

void *deep_thread(void *arg)
{
	struct deep *deep = arg;
	int err;

	deep->tid = (pid_t)syscall(SYS_gettid);
	deep->syncs = wait_is_fsync;
	deep->buffer = coldfile_buffer(CHUNK_BYTES);
	deep->fd = coldfile_make(directory, "deep", FILE_BYTES, wait_is_fsync ? 0 : O_DIRECT);
	if (throttle_cgroup && *throttle_cgroup)
		cgroup_join();
	pthread_barrier_wait(&all_ready);
	stalltag_push(1, "deep_write/c");
	err = deep->buffer && deep->fd >= 0 ? deep_epoch(deep) : -EIO;
	stalltag_pop();
	if (err)
		fprintf(stderr, "deep: %s\n", strerror(-err));
	free(deep->buffer);
	close(deep->fd);
	return (void *)(intptr_t)err;
}

static int run(double seconds, unsigned int threads)
{
	static struct deep deeps[MOST_THREADS];
	uint64_t calls = 0, waited_ns = 0, began = monotonic_ns();
	void *err = NULL, *one;

	pthread_barrier_init(&all_ready, NULL, threads + 1);
	for (unsigned int i = 0; i < threads; i++) {
		deeps[i].until_ns = began + (uint64_t)(seconds * 1e9);
		if (pthread_create(&deeps[i].thread, NULL, deep_thread, &deeps[i]))
			return 1;
	}
	pthread_barrier_wait(&all_ready);
	printf("{\"pid\": %d, \"call\": \"%s\", \"tids\": [", (int)getpid(),
	       wait_is_fsync ? "fsync" : "pwrite");
	for (unsigned int i = 0; i < threads; i++)
		printf("%s%d", i ? ", " : "", (int)deeps[i].tid);
	printf("]}\n");
	fflush(stdout);
	for (unsigned int i = 0; i < threads; i++) {
		pthread_join(deeps[i].thread, &one);
		err = one ? one : err;
		calls += deeps[i].calls;
		waited_ns += deeps[i].waited_ns;
	}
	printf("{\"calls\": %" PRIu64 ", \"waited_ns\": %" PRIu64 "}\n", calls, waited_ns);
	return err ? 1 : 0;
}

int main(int argc, char **argv)
{
	static const struct option known[] = {
		{ "seconds", required_argument, NULL, 's' },         { "dir", required_argument, NULL, 'd' },
		{ "threads", required_argument, NULL, 't' },         { "wait", required_argument, NULL, 'w' },
		{ "throttle-cgroup", required_argument, NULL, 'c' }, { NULL, 0, NULL, 0 },
	};
	unsigned long threads = 2;
	double seconds = 5;
	int found;

	while ((found = getopt_long(argc, argv, "", known, NULL)) != -1) {
		if (found == 's')
			seconds = strtod(optarg, NULL);
		else if (found == 'd')
			directory = optarg;
		else if (found == 't')
			threads = strtoul(optarg, NULL, 10);
		else if (found == 'w')
			wait_is_fsync = !strcmp(optarg, "fsync");
		else if (found == 'c')
			throttle_cgroup = optarg;
		else
			return 2;
	}
	if (!directory || threads < 1 || threads > MOST_THREADS || optind != argc) {
		fprintf(stderr, "usage: deep --seconds S --dir DIR [--threads N] [--wait direct|fsync] "
		                "[--throttle-cgroup CGROUP]\n");
		return 2;
	}
	return run(seconds, (unsigned int)threads);
}
