/* The options of `stallprof diff`. */
#ifndef STALLPROF_PROFILER_DIFF_OPTIONS_H
#define STALLPROF_PROFILER_DIFF_OPTIONS_H

#include <stddef.h>

#include "profiler/diff/diff_result.h"

enum diff_format { DIFF_FORMAT_TEXT, DIFF_FORMAT_MARKDOWN, DIFF_FORMAT_JSON, DIFF_FORMAT_JUNIT };

struct diff_options {
	struct diff_task task;
	struct diff_rule *rules; /* what the task points to */
	enum diff_format format;
	const char *output; /* NULL: standard output */
	size_t limit;       /* rows; 0: all */
};

/* Fills `options`, or prints what is wrong and exits with 64. argv[0] is the subcommand's name. */
void diff_options_parse(int argc, char **argv, struct diff_options *options);
void diff_options_release(struct diff_options *options);

#endif
