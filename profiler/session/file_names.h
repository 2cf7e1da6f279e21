/* The names that an event of a file has behind it (bpf/abi_files.h), as a path. */
#ifndef STALLPROF_PROFILER_FILE_NAMES_H
#define STALLPROF_PROFILER_FILE_NAMES_H

#include <stddef.h>

#include "bpf/abi.h"

/* Writes the place that they are, from the root of the file system, with slashes between and none in front: "run/part-0". 0;
 * -ENAMETOOLONG; -EINVAL: they make no sense, or the first of them are missing. */
int file_names_place(const struct abi_file_event *event, char *place, size_t size);

#endif
