/* Waits, after the end of a recording, for the delivery of all its windows. */
#ifndef STALLPROF_PROFILER_DELIVERY_WAIT_H
#define STALLPROF_PROFILER_DELIVERY_WAIT_H

#include <stdbool.h>

#include "profiler/format/say.h"

struct event_loop;
struct sink;

/*
 * After sink_end(): waits until all windows are delivered or given up. Signals go to the loop's on_signal; one for
 * which that returns non-zero ends the wait. Not so within the first fifth of a second: such a signal is the one
 * that ended the recording, sent to us as well as to the command.
 *
 * `say` (may be NULL) is called with one line when the wait takes more than a second.
 */
void delivery_wait(struct sink *sink, const struct event_loop *loop, say_fn say);

#endif
