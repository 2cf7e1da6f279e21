/* Tells whoever started `record` that the recording runs, by a line into a file that it was given open (--ready-fd). */
#ifndef STALLPROF_PROFILER_READY_FD_H
#define STALLPROF_PROFILER_READY_FD_H

#include <stdbool.h>

#define READY_FD_NONE  0
#define READY_FD_LEAST 3

/* False: it is not open for writing. No program that is executed from now on inherits it, so the reader sees its end when we end. */
bool ready_fd_take(int fd);

/* Writes the line, unless it would wait for room, and closes the file. SIGPIPE must be ignored. */
void ready_fd_tell(int fd);

#endif
