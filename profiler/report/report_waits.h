/* What a loop waits for that is no stall: other threads, peers, timers. It has no cause that could be to blame, and still may be what to look
 * at first. */
#ifndef STALLPROF_PROFILER_REPORT_WAITS_H
#define STALLPROF_PROFILER_REPORT_WAITS_H

#include <stdint.h>

struct report;

/* Of the classes whose tags come as often as the loop's steps, and of these, the one that was blocked longest. */
struct report_wait {
	const char *class;
	int64_t ns;                /* blocked, in all */
	double share;              /* of the time of all such classes */
	char kind[32], line[1024]; /* of the heaviest line of code: lock, pipe ...; "": none has a stack */
	int64_t line_ns;
	char waker[64]; /* who ended the longest of these; "": not known */
};

/* 0; -ENODATA: there is none, or it has too small a share to be told; -ENOMEM. */
int report_waits_find(struct report_wait *wait, const struct report *report);

#endif
