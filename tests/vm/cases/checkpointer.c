/*
 * checkpointer folder=DIR [outside=DIR] [rounds=N] [wait_for=FILE] [push=1] [mapped=1] [renamed=1]: writes files, syncs and reads them, and clocks its own calls. It pushes no
 * tag, but with push=1 "step" around it all. The first file is opened, and written when FILE is there.
 *   FOLDER/run/part-N   1 MiB at a time by write and writev, fsync; then cold by pread, preadv and by page faults
 *   OUTSIDE/other       the same, under another folder
 *   FOLDER/mapped       with mapped=1: is mapped and closed before FILE is there, and read by page faults afterwards
 *   OUTSIDE/saved       with renamed=1: part-0, renamed to FOLDER/run/saved and then moved, written after each
 * Prints for each file and way {"file", "call": "write" or "read", "ns", "clocked_ns", "cpu_ns", "runqueue_ns", "calls"}, and at the end
 * {"wall_ns": of the thread from its first look at the clock to its last}.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tests/e2e/attack/attack.h"

#define BYTES  (1u << 20)
#define BLOCKS 4u
#define PAGE   4096u

struct clocked {
	struct thread_clock *clock;
	struct moment began;
	uint64_t ns;         /* of the calls alone */
	uint64_t clocked_ns; /* … and of the reading of the clocks behind each: what the next two are of */
	uint64_t cpu_ns, runqueue_ns, calls;
};

static char *buffer;

static void begin(struct clocked *calls)
{
	must(thread_clock_read(calls->clock, &calls->began) == 0, "clock");
}

static void end(struct clocked *calls, ssize_t done)
{
	struct moment now;

	must(thread_clock_read(calls->clock, &now) == 0, "clock");
	must(done >= 0, strerror(errno));
	calls->ns += now.first_ns - calls->began.wall_ns;
	calls->clocked_ns += now.wall_ns - calls->began.wall_ns;
	calls->cpu_ns += now.cpu_ns - calls->began.cpu_ns;
	calls->runqueue_ns += now.runqueue_ns - calls->began.runqueue_ns;
	calls->calls++;
}

static void print_calls(const char *file, const char *call, const struct clocked *calls)
{
	printf("{\"file\": \"%s\", \"call\": \"%s\", \"ns\": %" PRIu64 ", \"clocked_ns\": %" PRIu64
	       ", \"cpu_ns\": %" PRIu64 ", \"runqueue_ns\": %" PRIu64 ", \"calls\": %" PRIu64 "}\n",
	       file, call, calls->ns, calls->clocked_ns, calls->cpu_ns, calls->runqueue_ns, calls->calls);
}

static void write_file(int fd, struct clocked *calls)
{
	struct iovec parts[] = { { buffer, BYTES / 2 }, { buffer, BYTES / 2 } };

	for (unsigned int i = 0; i < BLOCKS; i++) {
		begin(calls);
		end(calls, i % 2 ? writev(fd, parts, 2) : write(fd, buffer, BYTES));
		begin(calls);
		end(calls, fsync(fd));
	}
}

/* Each part of the file is read once by each way, when nothing of it is in memory. */
static void read_file(int fd, struct clocked *calls)
{
	struct iovec part = { buffer, PAGE };
	volatile const char *map;
	char seen = 0;

	must(posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM) == 0 &&
	             posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) == 0,
	     "posix_fadvise");
	map = mmap(NULL, BYTES * BLOCKS, PROT_READ, MAP_SHARED, fd, 0);
	must(map != MAP_FAILED && madvise((void *)map, BYTES * BLOCKS, MADV_RANDOM) == 0, "mmap");
	for (off_t i = 0; i < 24; i++) {
		off_t at = i * 32 * PAGE;

		begin(calls);
		if (i % 3 == 2)
			seen ^= map[at];
		end(calls, i % 3 == 0   ? pread(fd, buffer, PAGE, at)
		           : i % 3 == 1 ? preadv(fd, &part, 1, at)
		                        : 0);
	}
	must(munmap((void *)map, BYTES * BLOCKS) == 0 && seen == 0, "munmap");
}

static int open_new(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);

	must(fd >= 0, path);
	return fd;
}

static void one_file(int fd, const char *name, struct thread_clock *clock)
{
	struct clocked writes = { .clock = clock }, reads = { .clock = clock };

	write_file(fd, &writes);
	read_file(fd, &reads);
	close(fd);
	print_calls(name, "write", &writes);
	print_calls(name, "read", &reads);
}

static volatile const char *map_cold(const char *path)
{
	const void *map;
	int fd = open_new(path);

	for (unsigned int i = 0; i < BLOCKS; i++)
		must(write(fd, buffer, BYTES) == BYTES, path);
	must(fsync(fd) == 0 && posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) == 0, path);
	map = mmap(NULL, BYTES * BLOCKS, PROT_READ, MAP_SHARED, fd, 0);
	must(map != MAP_FAILED && madvise((void *)map, BYTES * BLOCKS, MADV_RANDOM) == 0 && close(fd) == 0,
	     path);
	return map;
}

static void read_mapped(volatile const char *map, struct thread_clock *clock)
{
	struct clocked reads = { .clock = clock };

	for (size_t i = 0; i < 16; i++) {
		begin(&reads);
		end(&reads, map[i * 32 * PAGE]);
	}
	print_calls("mapped", "read", &reads);
}

/* By its new name when it is opened by that, and no more when it has left the folder. */
static void rename_file(const char *folder, const char *outside, struct thread_clock *clock)
{
	char from[4096], to[4096];

	snprintf(from, sizeof(from), "%s/run/part-0", folder);
	snprintf(to, sizeof(to), "%s/run/saved", folder);
	must(rename(from, to) == 0, to);
	one_file(open_new(to), "saved", clock);
	snprintf(from, sizeof(from), "%s/other", outside);
	must(rename(to, from) == 0, from);
	one_file(open_new(from), "other", clock);
}

int main(int argc, char **argv)
{
	const char *folder = argument_text(argc, argv, "folder", ""),
	           *outside = argument_text(argc, argv, "outside", "");
	const char *wait_for = argument_text(argc, argv, "wait_for", "");
	long rounds = argument(argc, argv, "rounds", 2);
	char path[4096], name[64];
	struct thread_clock clock;
	volatile const char *map;
	struct held_tag step;
	uint64_t begin_ns;
	int fd;

	buffer = aligned_buffer(BYTES);
	must(thread_clock_open(&clock) == 0, "clock");
	snprintf(path, sizeof(path), "%s/run", folder);
	must(mkdir(path, 0755) == 0 || errno == EEXIST, path);
	snprintf(path, sizeof(path), "%s/run/part-0", folder);
	fd = open_new(path);
	snprintf(path, sizeof(path), "%s/mapped", folder);
	map = argument(argc, argv, "mapped", 0) ? map_cold(path) : NULL;
	while (*wait_for && access(wait_for, F_OK))
		sleep_ms(100);
	begin_ns = monotonic_ns();
	if (argument(argc, argv, "push", 0))
		tag_open(&step, 1, "step");
	for (long i = 0; i < rounds; i++) {
		snprintf(name, sizeof(name), "part-%ld", i);
		snprintf(path, sizeof(path), "%s/run/%s", folder, name);
		one_file(i ? open_new(path) : fd, name, &clock);
	}
	if (map)
		read_mapped(map, &clock);
	if (argument(argc, argv, "renamed", 0))
		rename_file(folder, outside, &clock);
	else if (*outside) {
		snprintf(path, sizeof(path), "%s/other", outside);
		one_file(open_new(path), "other", &clock);
	}
	if (argument(argc, argv, "push", 0))
		tag_close(&step);
	printf("{\"wall_ns\": %" PRIu64 "}\n", monotonic_ns() - begin_ns);
	return 0;
}
