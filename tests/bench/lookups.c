/*
 * lookups FILE CACHE REPEATS: reads ELF addresses (hex, one a line), looks each up in FILE and prints the frames as
 * addr2line -f -i does. CACHE is the folder of indexes, "" for none. Then it looks them all up REPEATS times
 * more without printing. Prints the time and memory that took on stderr, as `key value` lines.
 */
#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "symbolizer/symbolizer.h"

#define MAX_ADDRESSES 65536

static uint64_t addresses[MAX_ADDRESSES];

static double now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

static size_t read_addresses(void)
{
	char line[64];
	size_t n = 0;

	while (n < MAX_ADDRESSES && fgets(line, sizeof(line), stdin))
		addresses[n++] = strtoull(line, NULL, 16);
	return n;
}

static void look_up(struct sym_file *file, uint64_t address, bool print)
{
	struct sym_result result;
	size_t i;
	int err = symbolizer_file_find(file, NULL, address, &result);

	if (err)
		errx(1, "%#" PRIx64 ": %s", address, strerror(-err));
	for (i = 0; i < result.n_frames && print; i++)
		printf("%s\n%s:%" PRIu32 "\n", result.frames[i].function,
		       result.frames[i].file ? result.frames[i].file : "??", result.frames[i].line);
	if (print)
		printf("\n");
}

static void tell_memory(void)
{
	FILE *status = fopen("/proc/self/status", "re");
	char line[256];

	while (status && fgets(line, sizeof(line), status))
		if (strncmp(line, "VmHWM:", 6) == 0)
			fprintf(stderr, "peak_kib %llu\n", strtoull(line + 6, NULL, 10));
	if (status)
		fclose(status);
}

int main(int argc, char **argv)
{
	struct symbolizer_opts opts = { .cache_dir = argc > 2 ? argv[2] : NULL };
	double began = now_ms(), first, warm;
	unsigned long repeats, r;
	struct symbolizer_stats stats;
	struct sym_file *file;
	struct symbolizer *s;
	size_t n, i;
	int err;

	if (argc != 4)
		errx(2, "usage: lookups FILE CACHE REPEATS < ADDRESSES");
	repeats = strtoul(argv[3], NULL, 10);
	n = read_addresses();
	s = symbolizer_new(&opts);
	err = s ? symbolizer_file(s, argv[1], &file) : -1;
	if (err)
		errx(1, "%s: %s", argv[1], strerror(-err));
	for (i = 0; i < n; i++)
		look_up(file, addresses[i], true);
	first = now_ms();
	for (r = 0; r < repeats; r++)
		for (i = 0; i < n; i++)
			look_up(file, addresses[i], false);
	warm = now_ms();
	tell_memory();
	err = symbolizer_save(s, true);
	if (err)
		warnx("%s: %s", opts.cache_dir, strerror(-err));
	symbolizer_stats(s, &stats);
	fprintf(stderr, "first_ms %.3f\nwarm_ms %.6f\nsave_ms %.3f\n", first - began,
	        repeats ? (warm - first) / (double)repeats : 0, now_ms() - warm);
	fprintf(stderr,
	        "memory_bytes %zu\nblocks_used %" PRIu64 "\nblocks_saved %" PRIu64 "\nblocks_refused %" PRIu64
	        "\nindex_errors %" PRIu64 "\ndwarf_errors %" PRIu64 "\n",
	        stats.memory_bytes, stats.index_blocks_used, stats.index_blocks_saved,
	        stats.index_blocks_refused, stats.index_errors, stats.dwarf_errors);
	symbolizer_free(s);
	return 0;
}
