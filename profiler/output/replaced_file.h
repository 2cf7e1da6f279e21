/* Files that can be written beside what is there, and put in its place. */
#ifndef STALLPROF_PROFILER_REPLACED_FILE_H
#define STALLPROF_PROFILER_REPLACED_FILE_H

#include <stdbool.h>

/* Whether a later write replaces an earlier one: a regular file, or a path that nothing is at. A reader of a pipe would get both, and so would
 * one of a file that is open, as /dev/stdout is. */
bool file_can_be_replaced(const char *path);

#endif
