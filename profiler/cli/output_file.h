/* The file that a command writes: never one that it reads, and never a part of what it should hold. */
#ifndef STALLPROF_PROFILER_OUTPUT_FILE_H
#define STALLPROF_PROFILER_OUTPUT_FILE_H

#include <stddef.h>

/*
 * Ends the program with a usage error if `output` is one of the regular files that are read, by whatever name: an input itself, a window in an
 * input that is a folder, or standard input, whose name is "-". Inputs may be NULL. An output that is NULL or "-" is standard output.
 */
void output_file_check(const char *output, const char *const *inputs, size_t count);

/* Removes what could not be written in full, if it is a regular file; NULL and "-" as above. Leaves errno alone. */
void output_file_remove(const char *output);

#endif
