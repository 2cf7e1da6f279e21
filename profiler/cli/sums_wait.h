/* Waits at the end of a recording until the last checkpoint files are summed. */
#ifndef STALLPROF_PROFILER_SUMS_WAIT_H
#define STALLPROF_PROFILER_SUMS_WAIT_H

#include "profiler/format/say.h"

struct event_loop;

/* Lets the loop go on until nothing is to be summed any more, a signal ends it, or half a minute is over; what is waited for is said if that
 * takes long (`say` NULL: it is not). 0 or -errno. */
int sums_wait(struct event_loop *loop, say_fn say);

#endif
