/*
 * The spool (spool.h) of a sink's push: says what goes wrong with it, once, and counts what that costs. A window that
 * cannot be put there waits in memory.
 *
 *     s = sink_spool_new(folder, news)      "": there is none, and nothing is ever stored
 *     sink_spool_open(s, …)                 or sink_spool_share(s, another): one owner after the other, in one process
 *     sink_spool_retry(s, …)                now and then, as another process may have had the folder until now
 *     sink_spool_store(s, window) …
 *     sink_spool_free(s)
 *
 * Any thread may store, note and remove windows, each is one thread's; one thread at a time opens, another may share, and one loads.
 */
#ifndef STALLPROF_PROFILER_SINK_SPOOL_H
#define STALLPROF_PROFILER_SINK_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
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
 * there is none. `now_ns`: of CLOCK_MONOTONIC. */
typedef void (*sink_spool_found_fn)(void *ctx, struct push_window *window);
void sink_spool_open(struct sink_spool *s, uint64_t now_ns, sink_spool_found_fn found, void *ctx);

/* Whether it could be opened, without making the folder: 0; or -errno with the line that sink_spool_open() would say. */
int sink_spool_check(const char *folder, char *line, size_t size);

/* The same once more, SINK_SPOOL_RETRY_NS after the last try at the earliest, if that failed; says when it succeeds. */
#define SINK_SPOOL_RETRY_NS (60 * UINT64_C(1000000000))
void sink_spool_retry(struct sink_spool *s, uint64_t now_ns, sink_spool_found_fn found, void *ctx);
/* From now on retrying is without effect: somebody else is to have the folder. */
void sink_spool_retire(struct sink_spool *s);

/* Opens the folder that `other` has open, if it is the same, however it is spelled. False: it is not, or `other` has none open. */
bool sink_spool_share(struct sink_spool *s, const struct sink_spool *other);

/* Whether it is open. */
bool sink_spool_is_open(const struct sink_spool *s);

/* Stores the window and unloads it: 0. Else the window is as it was; -EFBIG, -EINVAL: it can never be stored; any other: not now. */
int sink_spool_store(struct sink_spool *s, struct push_window *window);

/* Loads a window that is stored and unloaded. 0; -EAGAIN: not now; -EIO: it cannot be read, and stays for the next start; any
 * other: it is lost, but for -EISDIR: it was none. The last three are said. */
int sink_spool_load(struct sink_spool *s, struct push_window *window);

/* Writes the progress of a window that is stored; removes it. Without effect on one that is not stored. */
void sink_spool_note(struct sink_spool *s, const struct push_window *window);
void sink_spool_remove(struct sink_spool *s, struct push_window *window);

/* Sets aside a window that the server cannot take, if it is stored. `what`: what becomes of it, and how to have it sent after all. */
void sink_spool_set_aside(struct sink_spool *s, struct push_window *window, char *what, size_t size);

/* The folder as it was given. */
const char *sink_spool_folder(const struct sink_spool *s);

#endif
