/* The options of `stallprof record`. */
#ifndef STALLPROF_PROFILER_RECORD_OPTIONS_H
#define STALLPROF_PROFILER_RECORD_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct config;

#define RECORD_PIDS_MAX 64

struct record_options {
	struct config *config;
	const char *output;
	const char *name; /* of the process tag; NULL: the program's file name */
	uint64_t id;
	uint32_t pids[RECORD_PIDS_MAX];
	size_t n_pids;
	bool whole_host, quiet, strict;
	bool has_service_name;
	bool has_push;
	const char *of_push;     /* an option given that needs --push; NULL: none */
	uint64_t window_seconds; /* 0: as the output wants it */
	double duration_seconds;
	int ready_fd;   /* READY_FD_NONE */
	size_t top;     /* rows at the end; 0: all; TOP_FITS */
	char **command; /* NULL: none */
};

/* Fills `options`, or prints what is wrong and exits with 64. config_free(options->config) is the caller's.
 */
void record_options_parse(int argc, char **argv, struct record_options *options);

#endif
