/*
 * The spool (spool.h) of a sink's push: says what goes wrong with it, once, and counts what that costs. A window that
 * cannot be put there waits in memory.
 *
 *     s = sink_spool_new(folder, news)      "": there is none, and nothing is ever stored
 *     sink_spool_open(s, …)                 or sink_spool_share(s, another): one owner after the other, in one process
 *     sink_spool_store(s, window) …
 *     sink_spool_free(s)
 *
 * The functions for a window are for one thread at a time each.
 */
#ifndef STALLPROF_PROFILER_SINK_SPOOL_H
#define STALLPROF_PROFILER_SINK_SPOOL_H

#include <stdbool.h>
#include <stdint.h>

struct push_window;
struct sink_news;
struct sink_spool;

/* A day of windows of 10 s, the size of what waits apart. */
#define SINK_SPOOL_WINDOWS 8640

/* NULL with errno ENOMEM. */
struct sink_spool *sink_spool_new(const char *folder, struct sink_news *news);
/* What is in the folder stays there. Takes NULL. */
void sink_spool_free(struct sink_spool *s);

/* Opens the folder, and passes each window that is there to `found`, oldest first, not loaded. Without effect when it is open, or
 * there is none. */
void sink_spool_open(struct sink_spool *s, void (*found)(void *ctx, struct push_window *window), void *ctx);

/* Opens the folder that `other` has open, if it is the same. False: it is not, or `other` has none open. */
bool sink_spool_share(struct sink_spool *s, const struct sink_spool *other);

/* Stores the window and unloads it; the bytes of its file. 0: that can't be done, and the window is as it was. */
uint64_t sink_spool_store(struct sink_spool *s, struct push_window *window);

/* Loads a window that is stored and unloaded. 0; -ENOMEM; any other: it is lost, which was said. */
int sink_spool_load(struct sink_spool *s, struct push_window *window);

/* Writes the progress of a window that is stored; removes it. Without effect on one that is not stored. */
void sink_spool_note(struct sink_spool *s, const struct push_window *window);
void sink_spool_remove(struct sink_spool *s, struct push_window *window);

/* The folder as it was given. */
const char *sink_spool_folder(const struct sink_spool *s);

#endif
