/* The file that a command writes: never one that it reads, and an older one stays until all of it is there. */
#ifndef STALLPROF_PROFILER_OUTPUT_FILE_H
#define STALLPROF_PROFILER_OUTPUT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/*
 * Ends the program with a usage error if `output` is one of the regular files that are read, by whatever name: an input itself, a window in an
 * input that is a folder, or standard input, whose name is "-". Inputs may be NULL. An output that is NULL or "-" is standard output.
 */
void output_file_check(const char *output, const char *const *inputs, size_t count);

/* What a command writes to. */
struct output_file {
	FILE *out;
	const char *path; /* NULL: standard output */
	bool in_memory;   /* until all of it is there */
	char *bytes;
	size_t size;
};

/*
 * Begins to write to `output`, NULL and "-" as above: to file->out. A regular file, or what is to be one, is put in the place of the older one
 * when it is closed; standard output, devices and pipes are written to as they are. 0 or -errno; only after 0 is there something to close.
 */
int output_file_open(struct output_file *file, const char *output);

/* Ends it. `err`: 0, or why not all was written: then the older file stays, and that is returned. Else 0 or -errno. */
int output_file_close(struct output_file *file, int err);

#endif
