/*
 * saver: a program whose stalls are those of a throttled disk, for the study of `stallprof diff`.
 *
 *   saver DIR ROUNDS
 *
 * A writer saves shards and their index, a reader loads batches and labels; each function is a direct read or write of a size of its own,
 * so each waits for its own part of the bytes that the disk lets pass. PLANT_<function> at compile time makes that function's size
 * larger by so many sectors of 512 bytes.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "stalltag/stalltag.h"

#define SECTOR 512

#ifndef PLANT_save_shard
#define PLANT_save_shard 0
#endif
#ifndef PLANT_save_index
#define PLANT_save_index 0
#endif
#ifndef PLANT_load_batch
#define PLANT_load_batch 0
#endif
#ifndef PLANT_load_labels
#define PLANT_load_labels 0
#endif

/* All multiples of 20, so that one twentieth is a number of sectors. */
enum {
	SHARD = 40 + PLANT_save_shard,
	INDEX = 20 + PLANT_save_index,
	BATCH = 40 + PLANT_load_batch,
	LABELS = 20 + PLANT_load_labels
};

static int rounds;

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static int open_file(const char *folder, const char *name)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_RDWR | O_CREAT | O_DIRECT, 0600);
	if (fd < 0)
		fail(path);
	return fd;
}

static void *aligned(void)
{
	void *buffer = aligned_alloc(4096, 1 << 16);

	if (!buffer)
		fail("memory");
	return buffer;
}

/*
 * Sizes go up and down by as many sectors, shuffled anew each ten calls: the throttle lets requests pass at the kernel's ticks, and a loop
 * of equal requests would fall in step with them. Ten calls have the same bytes each time.
 */
struct sizes {
	int more[10]; /* sectors */
	unsigned int at;
};

static int next_size(struct sizes *sizes, int mean)
{
	sizes->at %= 10;
	if (!sizes->at)
		for (int i = 0; i < 10; i++)
			sizes->more[i] = i < 5 ? i - 5 : i - 4;
	for (int i = 9; i > 0 && !sizes->at; i--) {
		int other = (int)(random() % (i + 1)), kept = sizes->more[i];

		sizes->more[i] = sizes->more[other];
		sizes->more[other] = kept;
	}
	return (mean + sizes->more[sizes->at++] * mean / 20) * SECTOR;
}

#define WRITES(name, mean)                                                                                   \
	__attribute__((noinline)) static void name(int fd, const void *buffer, struct sizes *sizes)          \
	{                                                                                                    \
		int size = next_size(sizes, mean);                                                           \
                                                                                                             \
		if (pwrite(fd, buffer, size, random() % 100 * 65536) != size)                                \
			fail(#name);                                                                         \
		__asm__ volatile("" ::: "memory");                                                           \
	}
#define READS(name, mean)                                                                                    \
	__attribute__((noinline)) static void name(int fd, void *buffer, struct sizes *sizes)                \
	{                                                                                                    \
		int size = next_size(sizes, mean);                                                           \
                                                                                                             \
		if (pread(fd, buffer, size, random() % 100 * 65536) != size)                                 \
			fail(#name);                                                                         \
		__asm__ volatile("" ::: "memory");                                                           \
	}

WRITES(save_shard, SHARD)
WRITES(save_index, INDEX)
READS(load_batch, BATCH)
READS(load_labels, LABELS)

static void *writer(void *folder)
{
	int fd = open_file(folder, "saved");
	struct sizes large = { .at = 0 }, small = { .at = 0 };
	void *buffer = aligned();

	for (long i = 0; i < rounds; i++) {
		stalltag_push((uint64_t)i + 1, "save");
		save_shard(fd, buffer, &large);
		save_index(fd, buffer, &small);
		stalltag_pop();
	}
	return NULL;
}

static void *reader(void *folder)
{
	int fd = open_file(folder, "data");
	struct sizes large = { .at = 0 }, small = { .at = 0 };
	void *buffer = aligned();

	for (long i = 0; i < rounds; i++) {
		stalltag_push((uint64_t)i + 1, "load");
		load_batch(fd, buffer, &large);
		load_labels(fd, buffer, &small);
		stalltag_pop();
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[2];

	if (argc != 3) {
		fprintf(stderr, "usage: saver DIR ROUNDS\n");
		return 64;
	}
	rounds = (int)strtol(argv[2], NULL, 10);
	srandom((unsigned int)getpid());
	if (pthread_create(&threads[0], NULL, writer, argv[1]) ||
	    pthread_create(&threads[1], NULL, reader, argv[1]))
		fail("thread");
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	return 0;
}
