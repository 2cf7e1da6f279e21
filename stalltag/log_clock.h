/*
 * The clock of a thread's log. clock_gettime() takes half of what a change may cost, so once it is known how fast the CPU's
 * own counter runs, and as long as that is so, moments are the counter's; else they are CLOCK_MONOTONIC's nanoseconds.
 * Either way a struct stalltag_log_clock says how one becomes the other.
 */
#ifndef STALLTAG_LOG_CLOCK_H
#define STALLTAG_LOG_CLOCK_H

#include "stalltag/stalltag.h"

#pragma GCC visibility push(hidden)

/* Now, as the log's entries have it. */
static inline uint64_t log_moment(const struct stalltag_log *log);

/* Whether the log was set to the clock STALLTAG_LOG_STALE_NS ago, or longer, or never. */
static inline int log_is_stale(const struct stalltag_log *log, uint64_t moment)
{
	return moment - log->set_at >= log->stale_after;
}

/* Sets the log to the clock. Only while it has no entries that a reader may want may its moments become others. */
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
