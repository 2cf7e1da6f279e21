/* Who is whose child. */
#ifndef STALLPROF_PROFILER_PROCESS_TREE_H
#define STALLPROF_PROFILER_PROCESS_TREE_H

#include <stdint.h>

/* The parent's pid, from /proc/PID/stat; 0 when there is no such process. */
uint32_t process_tree_parent(uint32_t pid);

#endif
