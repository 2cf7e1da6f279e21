/*
 * symbolize_kernel FOLDER RELEASE: FOLDER has proc/, sys/ and debug/ as a kernel of that release has them. Reads
 * run-time addresses (hex, one a line) and prints frames as symbolize_file does.
 */
#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "symbolizer/symbolizer.h"

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void print_result(const struct sym_result *result)
{
	size_t i;

	for (i = 0; i < result->n_frames; i++)
		printf("%s\n%s:%" PRIu32 "\n", result->frames[i].function,
		       result->frames[i].file ? result->frames[i].file : "??", result->frames[i].line);
	printf("\n");
}

int main(int argc, char **argv)
{
	char proc[4096], sys[4096], debug[4096], line[64];
	struct symbolizer_opts opts = {
		.proc = proc, .sys = sys, .debug_dir = debug, .root = "/nonexistent"
	};
	struct symbolizer_stats stats;
	struct sym_result result;
	struct symbolizer *s;
	double began;
	size_t n = 0;

	if (argc < 3)
		errx(2, "usage: symbolize_kernel FOLDER RELEASE < ADDRESSES");
	snprintf(proc, sizeof(proc), "%s/proc", argv[1]);
	snprintf(sys, sizeof(sys), "%s/sys", argv[1]);
	snprintf(debug, sizeof(debug), "%s/debug", argv[1]);
	opts.kernel_release = argv[2];
	s = symbolizer_new(&opts);
	began = now();
	while (fgets(line, sizeof(line), stdin)) {
		symbolizer_kernel(s, strtoull(line, NULL, 16), false, &result);
		print_result(&result);
		n++;
	}
	symbolizer_stats(s, &stats);
	fprintf(stderr, "%zu addresses in %.3f ms, %zu bytes, %" PRIu64 " DWARF errors\n", n,
	        (now() - began) * 1e3, stats.memory_bytes, stats.dwarf_errors);
	symbolizer_free(s);
	return 0;
}
