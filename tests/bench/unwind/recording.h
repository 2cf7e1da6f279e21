/*
 * A recorded stack, as unwind/record writes it into a folder:
 *	maps	/proc/PID/maps
 *	regs	the registers by DWARF's numbers of x86-64, rip last, one hexadecimal number a line
 *	stack	the address of the first byte copied (8 bytes), then the bytes
 * and the loop that times walks over it. All drivers read the same recordings and print the same lines.
 */
#ifndef STALLPROF_BENCH_RECORDING_H
#define STALLPROF_BENCH_RECORDING_H

#include <err.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define RECORDING_REGISTERS 17
#define RECORDING_SP        7
#define RECORDING_IP        16
#define RECORDING_MAX_MAPS  4096
#define RECORDING_MAX_PCS   4096

struct recording_map {
	uint64_t start, end, offset;
	bool executable;
	char path[512];
};

struct recording {
	uint64_t regs[RECORDING_REGISTERS];
	uint64_t stack_start;
	size_t stack_len;
	char *stack;
	char maps_path[4096];
	struct recording_map maps[RECORDING_MAX_MAPS];
	size_t n_maps;
};

static inline FILE *recording_file(const char *folder, const char *name)
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "r");
	if (!file)
		err(1, "%s", path);
	return file;
}

static inline void recording_read_maps(struct recording *r, FILE *file)
{
	char line[8192], flags[8];

	while (fgets(line, sizeof(line), file) && r->n_maps < RECORDING_MAX_MAPS) {
		struct recording_map *m = &r->maps[r->n_maps];

		m->path[0] = 0;
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %*s %*s %511[^\n]", &m->start,
		           &m->end, flags, &m->offset, m->path) < 4)
			continue;
		m->executable = flags[2] == 'x';
		r->n_maps++;
	}
	fclose(file);
}

static inline struct recording *recording_load(const char *folder)
{
	static struct recording r;
	size_t room = 16 << 20;
	FILE *file;
	int i;

	snprintf(r.maps_path, sizeof(r.maps_path), "%s/maps", folder);
	recording_read_maps(&r, recording_file(folder, "maps"));
	file = recording_file(folder, "regs");
	for (i = 0; i < RECORDING_REGISTERS; i++)
		if (fscanf(file, "%" SCNx64, &r.regs[i]) != 1)
			errx(1, "%s/regs is short", folder);
	fclose(file);
	file = recording_file(folder, "stack");
	r.stack = malloc(room);
	if (!r.stack || fread(&r.stack_start, 8, 1, file) != 1)
		errx(1, "%s/stack is short", folder);
	r.stack_len = fread(r.stack, 1, room, file);
	fclose(file);
	return &r;
}

static inline uint64_t recording_clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static inline size_t recording_rss_kib(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	size_t pages = 0;

	if (file) {
		if (fscanf(file, "%*s %zu", &pages) != 1)
			pages = 0;
		fclose(file);
	}
	return pages * 4;
}

static inline uint64_t recording_now_ns(void)
{
	return recording_clock_ns(CLOCK_MONOTONIC);
}

/* Resident memory in KiB: our own ("RssAnon") or pages of files ("RssFile"). */
static inline long recording_resident_kib(const char *kind)
{
	FILE *file = fopen("/proc/self/status", "r");
	char line[256];
	long kib = 0;

	while (file && fgets(line, sizeof(line), file))
		if (strncmp(line, kind, strlen(kind)) == 0)
			kib = strtol(line + strlen(kind) + 1, NULL, 10);
	if (file)
		fclose(file);
	return kib;
}

/* A profiler that meets another process has run for a while: the memory that malloc() gives out has been used before. */
static inline void recording_use_heap(void)
{
	enum { N = 64, BYTES = 16384 };
	char *pieces[N];
	size_t i;

	mallopt(M_TRIM_THRESHOLD, 16 * N * BYTES); /* keep it */
	for (i = 0; i < N; i++) {
		pieces[i] = malloc(BYTES);
		if (pieces[i])
			memset(pieces[i], 1, BYTES);
	}
	for (i = 0; i < N; i++)
		free(pieces[i]);
}

/* Fills pcs[], the innermost frame's first; returns how many. */
typedef size_t (*recording_walk)(void *context, uint64_t *pcs);

/* Walks for `seconds` and prints: frames, CPU ns of the first walk, ns of a walk when warm (the best tenth), the pcs. */
static inline void recording_time(recording_walk walk, void *context, double seconds)
{
	static uint64_t pcs[RECORDING_MAX_PCS];
	uint64_t cold, until, batch, best = UINT64_MAX;
	size_t n, i, rounds = 0;

	if (!getenv("FRESH"))
		recording_use_heap();
	cold = recording_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	n = walk(context, pcs);
	cold = recording_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cold;
	until = recording_now_ns() + (uint64_t)(seconds * 1e9);
	while (recording_now_ns() < until || rounds < 3) {
		batch = recording_now_ns();
		for (i = 0; i < 50; i++)
			walk(context, pcs);
		batch = recording_now_ns() - batch;
		best = batch < best ? batch : best;
		rounds++;
	}
	printf("%zu %" PRIu64 " %.1f %zu\n", n, cold, (double)best / 50, recording_rss_kib());
	for (i = 0; i < n; i++)
		printf("%" PRIx64 "\n", pcs[i]);
}

#endif
