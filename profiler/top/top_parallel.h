/*
 * Whether threads of a process were under tags at the same time, as far as the timeline tells. It tells the time of
 * classes, not of processes, and of waits that are no stalls only those with stacks: so it can show that there were
 * several threads, never that there was one.
 */
#ifndef STALLPROF_PROFILER_TOP_PARALLEL_H
#define STALLPROF_PROFILER_TOP_PARALLEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct timeline;

/* A process's tagged time. */
struct top_parallel {
	bool (*has_class)(const void *process, const char *class);
	const void *process;
	int64_t ns;
	size_t n_processes; /* which have time in one of these classes, this one among them */
};

/* True: the tagged time is more than lies between the first and the last time of its classes, or more in one bucket than so
 * many threads have. Without lanes of its classes, and without memory, false. */
bool top_parallel(const struct timeline *timeline, const struct top_parallel *time);

#endif
