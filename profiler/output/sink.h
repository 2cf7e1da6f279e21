/*
 * Where finished profiles go: one file, a folder with a file per window, a Pyroscope server, or several of them.
 *
 *     sink = sink_new(config, output, …)
 *     sink_begin(sink)                  sends what is in the spool; or sink_take_over(sink, older)
 *     sink_deliver(sink, profile)       once per window
 *     sink_poll(sink)                   now and then, and when sink_fd() is readable: says what went wrong
 *     sink_end(sink, profile, …)        the last window
 *     until sink_poll(sink)             or until somebody has waited enough
 *     sink_finish(sink)
 *     sink_free(sink)
 *
 * None of these waits for a disk or a server: profiles are delivered by threads, which are started with the first
 * one, and have all signals blocked.
 *
 *     sink_deliver() ──> pack ──requests──> push     of the series (sink_push.h); only where there is a server
 *                          ├───profile────> files    (sink_files.h)
 *                          └──────────────> look     sink_show(); done before the others get it
 *
 * Each has a bounded queue (SINK_PACK_…, SINK_PUSH_…, SINK_FILES_…); when it is full, its oldest window is dropped.
 * So a destination that fails or hangs does not keep the profile from the others.
 *
 * sink_poll() passes a line to `say` for each error. While a destination fails in window after window only the
 * first error is said, and all are counted. A window that a disk was too slow for, or that could not be written, is also a counter
 * (windows_dropped) in the notes of the next one that is written.
 */
#ifndef STALLPROF_PROFILER_SINK_H
#define STALLPROF_PROFILER_SINK_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profiler/format/say.h"

struct config;
struct profile;
struct sink;

#define SINK_PATH_MAX (PATH_MAX + 64)

/* Bounds of the queue of windows that are not cut into series yet, which takes CPU time alone. */
#define SINK_PACK_WINDOWS 8
#define SINK_PACK_BYTES   ((size_t)128 << 20)

/*
 * `output`: a file's path, or a folder (one that exists, or whose name ends in '/'), or NULL. The server and
 * the labels come from `config`, of which it keeps what it needs. NULL with a line in `err`.
 */
struct sink *sink_new(const struct config *config, const char *output, say_fn say, char *err, size_t err_len);
/* Opens the spool, if there is one, and sends what an earlier process has left there. That it cannot be opened is said; windows
 * that wait are in memory alone then. */
void sink_begin(struct sink *sink);
/* Frees the sink; without sink_finish() before it, what waits is not delivered. Takes NULL. */
void sink_free(struct sink *sink);

/* Whether each window becomes a file of its own, or is pushed: else one profile holds the whole run. */
int sink_wants_windows(const struct sink *sink);

/* Whether all windows end up in one file. */
int sink_is_one_file(const struct sink *sink);

/*
 * Has each window shown to `look` before it is pushed and written, by the thread that packs; NULL by any thread for one
 * that there was no room or memory for until then. Call it before the first sink_deliver(); `ctx` outlives the sink, and
 * whoever takes the sink over. 0 or -ENOMEM.
 */
typedef void (*sink_look_fn)(void *ctx, const struct profile *profile);
int sink_show(struct sink *sink, sink_look_fn look, void *ctx);

/* Takes over the profile. */
void sink_deliver(struct sink *sink, struct profile *profile);

/* Takes over the profile, which is only shown: neither pushed nor written. */
void sink_deliver_idle(struct sink *sink, struct profile *profile);

/*
 * Takes over the last profile (NULL: there is none), and has the one file written. What waits for the server has
 * one more try, in order, until one fails or `push_ns` have passed.
 */
void sink_end(struct sink *sink, struct profile *profile, uint64_t push_ns);

/* Says what there is to say, and brings the counts up to date. True when all was delivered or given up, after
 * sink_end(). */
bool sink_poll(struct sink *sink);
int sink_fd(const struct sink *sink);

/* How many windows are still to be delivered. */
size_t sink_waiting(const struct sink *sink);

/*
 * Gives up what is not delivered yet, and says how many windows. 0, or -EIO when any window was not delivered to all
 * destinations; one that is left in the spool is not lost. A write that hangs in the kernel is left behind with all that it needs.
 */
int sink_finish(struct sink *sink);

/*
 * Instead of sink_begin(): makes `sink` the owner of `older`, which still has windows to deliver to its own destinations: `sink`
 * polls, ends and frees it from now on, and those that `older` had itself taken over. The oldest of more than SINK_OLDER_MAX is
 * given up.
 *
 * If both have the same spool, `older` gets no more profiles: it has one more try, of 5 s at most, and what it cannot push by then `sink`
 * pushes, to its own server. The same where `older` has no spool, and the server is the same or has refused the credentials or the place:
 * a reload has put that right.
 */
#define SINK_OLDER_MAX 8
void sink_take_over(struct sink *sink, struct sink *older);

/* The profile of the one file, after sink_finish(); NULL where each window is a file of its own, or when that was
 * not written. */
const struct profile *sink_whole(const struct sink *sink);

/* The path of the last file, "" when none was written. */
const char *sink_last_file(const struct sink *sink);
/* The folder that windows go to; NULL when there is none. */
const char *sink_dir(const struct sink *sink);

/* What became of the windows so far, as of the last sink_poll(). */
struct sink_counts {
	uint64_t kept, kept_bytes;     /* files of a folder */
	uint64_t not_kept;             /* windows that could not be written there */
	uint64_t made_room;            /* older ones that were removed, as the disk was full (window_dir.h) */
	uint64_t pushed, pushed_bytes; /* requests that the server took; compressed */
	uint64_t not_pushed;           /* windows that were not pushed, or not all of them */
	uint64_t set_aside;            /* those of them that the server fails at (window_refusals.h) */
	uint64_t spooled;              /* windows left in the spool at the end, for the next start */
	uint64_t not_spooled;          /* windows that had to wait, and could not be put there */
	bool keeping_fails;            /* the last window was not kept */
	bool pushing_fails; /* the last try failed; at the end: and not all that was left is in the spool */
	uint64_t waiting;   /* windows still to be delivered; of sink_counts_all() alone */
};
struct sink_counts sink_counts(const struct sink *sink);
/* Whether keeping or pushing fails, or a sink that it has taken over has lost what waited in it. */
bool sink_fails(const struct sink *sink);
/* The same, including the sinks that it has taken over; a flag is set if any has it. */
struct sink_counts sink_counts_all(const struct sink *sink);
/* The sum of both; the flags are those of `a`. */
struct sink_counts sink_counts_sum(const struct sink_counts *a, const struct sink_counts *b);

#endif
