/* Whether a process that was met still runs. */
#ifndef STALLPROF_PROFILER_PROCESS_LIFE_H
#define STALLPROF_PROFILER_PROCESS_LIFE_H

#include <stdbool.h>
#include <stdint.h>

#include "symbolizer/base/process_stat.h"

enum process_life {
	PROCESS_RUNS,    /* or nothing can be read just now */
	PROCESS_GONE,    /* nobody has its pid, or it is a zombie */
	PROCESS_ANOTHER, /* has its pid by now */
};

/* `start_ticks` is when it started, as process_stat.h has it, known to within `slack_ticks`. */
enum process_life process_life(uint32_t pid, uint64_t start_ticks, uint64_t slack_ticks);

/* The same for a stat that was read. */
bool process_life_started(const struct process_stat *stat, uint64_t start_ticks, uint64_t slack_ticks);
bool process_life_is_dead(const struct process_stat *stat);

#endif
