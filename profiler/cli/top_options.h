/* The options of `stallprof top`. */
#ifndef STALLPROF_PROFILER_TOP_OPTIONS_H
#define STALLPROF_PROFILER_TOP_OPTIONS_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>

#include "profiler/loaded/loaded_sample.h"
#include "profiler/top/top_table.h"

struct top_options {
	char **files;
	size_t file_count;
	bool by_given; /* or --cum or --flat, which ask for a table, too; else the first screen */
	enum top_by by;
	const char *type; /* NULL: not given */
	struct loaded_filter filter;
	regex_t focus, ignore; /* what filter points to, if given */
	size_t limit;          /* TOP_FITS unless given */
	bool sort_given, by_cum;
	bool json, native, verbose;
};

/* Fills `options`, or prints what is wrong and exits with 64. argv[0] is the subcommand's name. */
void top_options_parse(int argc, char **argv, struct top_options *options);
void top_options_release(struct top_options *options);

#endif
