/*
 * Whether threads of a process were under tags at the same time, as far as the timeline tells. It tells the time of
 * classes, not of processes, and of waits that are no stalls only those with stacks: so it can show that there were
 * several threads, never that there was one.
 *
 * A process cannot have had more than there is from its begin on, nor, of what came before the next process with its classes began, more than
 * that took. So of a job that ended and began anew each process is looked at by itself.
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
	uint64_t begin_ns;  /* Unix time at which it began; 0: not known */
	uint64_t next_ns;   /* and the first of the others that began after it; 0: none did, or not known */
	int64_t older_ns;   /* what those that began before it have of its classes */
};

/* True: the tagged time is more than lies between the first and the last time of its classes, or from its begin on; or more in one bucket than so
 * many threads have; or more came before the next one began than it and the older ones can have had. Without lanes of its classes, and without memory, false. */
bool top_parallel(const struct timeline *timeline, const struct top_parallel *time);

#endif
