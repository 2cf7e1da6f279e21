/*
 * The two ring buffers of the BPF programs: events, and what Python's code objects are asked about, which comes first, as
 * its thread waits. Part of the tracer: see tracer.h, which has the callbacks' types.
 *
 * The events' is mapped when there is something to read in it, and until event_rings_rest(): mapped, all of its memory counts
 * as this program's, twice.
 */
#ifndef STALLPROF_PROFILER_EVENT_RINGS_H
#define STALLPROF_PROFILER_EVENT_RINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "profiler/tracer/tracer.h"

struct event_rings;

/* NULL with errno set. */
struct event_rings *event_rings_new(int events_fd, int asked_fd, tracer_event_fn on_event,
                                    tracer_python_fn on_python, void *ctx);
void event_rings_free(struct event_rings *rings);

/* For poll and epoll. */
int event_rings_fd(const struct event_rings *rings);
int event_rings_asked_fd(const struct event_rings *rings);

/* Nothing is expected for a while: unmaps what is empty. True: it was mapped. */
bool event_rings_rest(struct event_rings *rings);

/* As tracer_poll(). */
int event_rings_poll(struct event_rings *rings, bool all, uint64_t until_ns);

#endif
