/*
 * The clock of a thread's log. clock_gettime() takes half of the time that a change may cost. So moments are values
 * of the CPU's own counter while its rate is known, else nanoseconds of CLOCK_MONOTONIC. Either way a struct
 * stalltag_log_clock converts moments to nanoseconds.
 */
#ifndef STALLTAG_LOG_CLOCK_H
#define STALLTAG_LOG_CLOCK_H

#include "stalltag/stalltag.h"

#pragma GCC visibility push(hidden)

/* The current moment, in the unit of the log's entries. */
static inline uint64_t log_moment(const struct stalltag_log *log);

/* Whether the log was last set to the clock STALLTAG_LOG_STALE_NS ago or earlier, or never. */
static inline int log_is_stale(const struct stalltag_log *log, uint64_t moment)
{
	return moment - log->set_at >= log->stale_after;
}

/* Sets the log to the clock. The unit of its moments changes only if `is_read`: readers have read all of its
 * entries. */
void log_clock_set(struct stalltag_log *log, int is_read);

#if defined(__x86_64__)
static inline uint64_t cpu_counter(void)
{
	return __builtin_ia32_rdtsc();
}
#elif defined(__aarch64__)
static inline uint64_t cpu_counter(void)
{
	uint64_t value;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(value));
	return value;
}
#endif

uint64_t log_clock_ns(void);

static inline uint64_t log_moment(const struct stalltag_log *log)
{
	return log->by_counter ? cpu_counter() : log_clock_ns();
}

#pragma GCC visibility pop

#endif
