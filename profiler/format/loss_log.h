/*
 * Sentences for a log about what a window could not hold or see, and what would help. Each kind of loss is logged
 * the first time it occurs; the profiles count every one.
 */
#ifndef STALLPROF_PROFILER_LOSS_LOG_H
#define STALLPROF_PROFILER_LOSS_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profiler/format/say.h"

struct stamp;

#define LOSS_KINDS_MAX 64
#define LOSS_HOOKS_MAX 256

/* Zeroed at first. */
struct loss_log {
	uint64_t total[LOSS_KINDS_MAX];  /* by row of the table of losses */
	uint64_t before[LOSS_KINDS_MAX]; /* those of the log that it goes on from */
	char hooks_said[LOSS_HOOKS_MAX];
};

/* The counters of what is missing from a profile, one after the other; NULL: these are all. */
const char *loss_log_counter(size_t index);

/* Says which losses in this window's stamp were not said before, and which hooks miss: those that do for one reason in a line. */
void loss_log_take(struct loss_log *log, const struct stamp *stamp, say_fn say);

/* For a new configuration: the totals go on, and each loss is said anew. `log` is zeroed. */
void loss_log_go_on(struct loss_log *log, const struct loss_log *old);

/* All losses so far, as "ring_full=12 tags_full=3"; "" when there were none. */
void loss_log_totals(const struct loss_log *log, char *text, size_t size);

#endif
