/* The time between the end of a recording and the delivery of all its windows. */
#ifndef STALLPROF_PROFILER_DELIVERY_WAIT_H
#define STALLPROF_PROFILER_DELIVERY_WAIT_H

#include <stdbool.h>

struct event_loop;
struct sink;

/*
 * After sink_end(): waits until all is delivered or given up. The loop's signals go to its on_signal as ever; one for which
 * that is not zero ends the wait, unless it comes within a fifth of a second: it is then the one that has ended the
 * recording, sent to us and to the command.
 *
 * `say` is told that there is a wait when it gets long; NULL: nobody is.
 */
void delivery_wait(struct sink *sink, const struct event_loop *loop, void (*say)(const char *line));

#endif
