/*
 * trainer: a program with two kinds of stalls, for the study of `stallprof diff`.
 *
 *   trainer gpu DIR ROUNDS LIBRARY   waits in the calls of a stand-in for libcuda (standin_cuda.c): as long as is said
 *                                    there, however busy the host is
 *   trainer disk DIR ROUNDS          direct writes and reads of a disk, throttled by who starts it: with all the noise that a disk has
 *
 * Four functions wait, two in each of two threads. PLANT_<function>=5 at compile time makes that function wait 5 % longer, or move 5 %
 * more bytes.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

/* How much a call waits for on average: in units of 250 us, or of 512 bytes. */
enum { LARGE = 80, SMALL = 40 };

struct place {
	int fd;
	void *buffer;
	unsigned int seed;
};

static int rounds;
static bool on_gpu;
static int (*synchronize)(long microseconds);

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void wait_for(struct place *place, int units, int percent_more, bool writes)
{
	/* A tenth more or less each time, as no two calls are equal. */
	int size = units + rand_r(&place->seed) % (units / 5 + 1) - units / 10;
	off_t at = rand_r(&place->seed) % 64 * 65536;
	ssize_t moved;

	if (on_gpu) {
		synchronize((long)size * (100 + percent_more) * 5 / 2);
		return;
	}
	size = (size * (100 + percent_more) + 50) / 100 * SECTOR;
	moved = writes ? pwrite(place->fd, place->buffer, (size_t)size, at)
	               : pread(place->fd, place->buffer, (size_t)size, at);
	if (moved != size)
		fail("disk");
}

#define WAITS(name, units, writes)                                                                           \
	__attribute__((noinline)) static void name(struct place *place)                                      \
	{                                                                                                    \
		wait_for(place, units, PLANT_##name, writes);                                                \
		__asm__ volatile("" ::: "memory");                                                           \
	}

WAITS(save_shard, LARGE, true)
WAITS(save_index, SMALL, true)
WAITS(load_batch, LARGE, false)
WAITS(load_labels, SMALL, false)

static void open_place(struct place *place, const char *folder, const char *name)
{
	char path[4096];

	*place = (struct place){ .seed = (unsigned int)getpid() };
	if (on_gpu)
		return;
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	place->fd = open(path, O_RDWR | O_DIRECT);
	place->buffer = aligned_alloc(4096, 1 << 17);
	if (place->fd < 0 || !place->buffer)
		fail(path);
}

static void *saves(void *folder)
{
	struct place place;

	open_place(&place, folder, "saved");
	for (int i = 0; i < rounds; i++) {
		stalltag_push((uint64_t)i + 1, "save");
		save_shard(&place);
		save_index(&place);
		stalltag_pop();
	}
	return NULL;
}

static void *loads(void *folder)
{
	struct place place;

	open_place(&place, folder, "data");
	for (int i = 0; i < rounds; i++) {
		stalltag_push((uint64_t)i + 1, "load");
		load_batch(&place);
		load_labels(&place);
		stalltag_pop();
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[2];
	void *library;

	if (argc < 4)
		fail("trainer gpu|disk DIR ROUNDS [LIBRARY]");
	rounds = (int)strtol(argv[3], NULL, 10);
	on_gpu = !strcmp(argv[1], "gpu");
	if (on_gpu) {
		library = argc > 4 ? dlopen(argv[4], RTLD_NOW) : NULL;
		synchronize = library ? (int (*)(long))dlsym(library, "cuStreamSynchronize") : NULL;
		if (!synchronize)
			fail("the library");
		sleep(3); /* until the profiler has found it, however busy the host is */
	}
	if (pthread_create(&threads[0], NULL, saves, argv[2]) ||
	    pthread_create(&threads[1], NULL, loads, argv[2]))
		fail("thread");
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	return 0;
}
