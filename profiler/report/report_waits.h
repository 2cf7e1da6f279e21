/* What a loop waits for that is no stall: other threads, peers, timers. It has no cause that could be to blame, and still may be what to look
 * at first. */
#ifndef STALLPROF_PROFILER_REPORT_WAITS_H
#define STALLPROF_PROFILER_REPORT_WAITS_H

#include <stdbool.h>
#include <stdint.h>

#include "profiler/report/report_chain.h"

struct loaded_classes;
struct loaded_profiles;
struct loaded_tags;
struct report_loop;

/* Of the loop's classes (report_loop.h), the one that was blocked longest. */
struct report_wait {
	const char *class;         /* NULL: none was, or not for long enough to be told */
	int64_t ns;                /* blocked, in all */
	double share;              /* of the time of all classes of the loop */
	char kind[32], line[1024]; /* of the heaviest line of code: lock, pipe ...; "": none has a stack */
	bool gil;                  /* it is a lock there, and that CPython's GIL */
	int64_t line_ns;           /* there; for the GIL, at whatever line */
	char waker[64];            /* who ended most of these; "": not known */
	int64_t waker_ns;          /* what it ended */
	struct report_chain chain; /* what most of these were for through others; ns 0: not known */
};

/* Names stay those of the classes. 0 or -ENOMEM. */
int report_waits_find(struct report_wait *wait, const struct loaded_profiles *input,
                      const struct loaded_tags *tags, const struct loaded_classes *classes,
                      const struct report_loop *loop);

#endif
