/*
 * The two ring buffers of the BPF programs: events, and questions about Python's code objects. The questions are
 * read first, as their threads wait. Part of the tracer: see tracer.h, which has the callbacks' types.
 *
 * A third has what is done with tagged files, where there are any.
 *
 * The ring of events is mapped when there is something to read in it, until event_rings_rest(): while it is mapped,
 * all of its memory counts as this program's, twice.
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

/* Also reads the ring of what is done with tagged files, at each poll; nobody is woken for it. 0 or -errno, with errno set. */
int event_rings_add_files(struct event_rings *rings, int files_fd, tracer_file_fn on_file);

/* For poll and epoll. */
int event_rings_fd(const struct event_rings *rings);
int event_rings_asked_fd(const struct event_rings *rings);

/* For when no events are expected for a while: unmaps the ring of events if it is empty. True: it was mapped. */
bool event_rings_rest(struct event_rings *rings);

/* As tracer_poll(). */
int event_rings_poll(struct event_rings *rings, bool all, uint64_t until_ns);

#endif
