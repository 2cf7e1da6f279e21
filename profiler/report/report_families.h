/*
 * What each cause and signal belongs to: the disk, the CPUs, the network, the GPU, or other threads; which signals of the host
 * speak for it; and what to do about it.
 */
#ifndef STALLPROF_PROFILER_REPORT_FAMILIES_H
#define STALLPROF_PROFILER_REPORT_FAMILIES_H

#include <stdbool.h>
#include <stddef.h>

#include "profiler/format/timeline.h"

enum report_family {
	FAMILY_DISK,
	FAMILY_CPU,
	FAMILY_NETWORK,
	FAMILY_GPU,
	FAMILY_MEMORY,
	FAMILY_THREADS, /* waits for other threads: an effect of what those do */
	FAMILY_UNKNOWN,
	FAMILIES
};

/* disk, cpu, network, gpu, memory, threads, unknown */
const char *report_family_name(enum report_family family);

/* Of a lane that is no signal. */
enum report_family report_family_of(enum timeline_kind kind, const char *name);

/* Whether waits of this name are for other threads or peers, so that what those did comes before it. */
bool report_is_indirect(enum timeline_kind kind, const char *name);

/* Whether waits of this name are for a device's recovery, which is never usual. */
bool report_is_fault(const char *name);

/* What the stamp's hooks are for that tell which signals could be read. */
#define REPORT_SIGNALS "host_signals"

/* What a signal of the host says (host_signals.h has the names). */
struct report_signal {
	const char *name;
	enum report_family family;
	const char *what; /* "blocks waiting in the disk's queue" */
	const char *unit; /* of its rate: "at a time", "/s" */
	double scale;     /* from value per nanosecond to that unit */
	double least;     /* a growth below this is none, in that unit */
	bool tells_cause; /* it is seen in the host alone, so it says what made the family slow: see verdict */
	const char *verdict;
};

extern const struct report_signal report_signals[];
extern const size_t report_signal_count;

/* NULL: not known. */
const struct report_signal *report_signal_of(const char *name);

/* What stands for the cause "lock" where the lock is CPython's GIL. */
#define REPORT_GIL "gil"

/* What to do about a cause; NULL-terminated, at most REPORT_ADVICE_MAX. `name` as in the label `stall`, or "runqueue", a
 * signal, or REPORT_GIL. Never NULL. */
#define REPORT_ADVICE_MAX 4
const char *const *report_advice(const char *name);

/* In words: "waiting for requests of a disk". */
const char *report_cause_words(const char *name);

#endif
