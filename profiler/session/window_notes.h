/* What a window's profile says beside its samples and ledger: requests, jobs, files, timeline and stamp, as notes. */
#ifndef STALLPROF_PROFILER_WINDOW_NOTES_H
#define STALLPROF_PROFILER_WINDOW_NOTES_H

struct stamp;
struct window;

/* Adds the window's own counters to `stamp`, and all of these notes to its profile. 0, -ENOMEM, or what profile_add_note() says. */
int window_notes_add(struct window *window, struct stamp *stamp);

#endif
