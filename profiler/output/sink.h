/*
 * Where finished profiles go: one file, a folder with a file a window, a Pyroscope server, or several of
 * them.
 *
 *     sink = sink_new(config, output, …)
 *     sink_deliver(sink, profile)       once a window
 *     sink_finish(sink)                 after the last
 *     sink_free(sink)
 *
 * A failure of one destination does not keep the profile from the others. A failure is a line, given to `say`; while a
 * destination fails in window after window, only the first of them is said, and all are counted.
 */
#ifndef STALLPROF_PROFILER_SINK_H
#define STALLPROF_PROFILER_SINK_H

#include <stddef.h>
#include <stdint.h>

struct config;
struct profile;
struct sink;

typedef void (*sink_say_fn)(const char *line);

/*
 * `output`: a file's path, or a folder (one that exists, or whose name ends in '/'), or NULL. The server and
 * the labels come from `config`, which must outlive the sink. NULL with a line in `err`.
 */
struct sink *sink_new(const struct config *config, const char *output, sink_say_fn say, char *err,
                      size_t err_len);
void sink_free(struct sink *sink);

/* Whether each window becomes a file of its own, or is pushed: else one profile holds the whole run. */
int sink_wants_windows(const struct sink *sink);

/* Takes the profile over. 0, or -EIO when a destination failed. */
int sink_deliver(struct sink *sink, struct profile *profile);

/* Writes the one file, into which the windows were merged. 0 or -EIO. */
int sink_finish(struct sink *sink);
/* That profile; NULL where each window is a file of its own. */
const struct profile *sink_whole(const struct sink *sink);

/* Where the last file lies, "" when none was written. */
const char *sink_last_file(const struct sink *sink);
/* The folder that windows go to; NULL when there is none. */
const char *sink_folder(const struct sink *sink);

/* What became of the windows so far. */
struct sink_counts {
	uint64_t kept, kept_bytes;     /* files of a folder */
	uint64_t not_kept;             /* windows that could not be written there */
	uint64_t pushed, pushed_bytes; /* requests that the server took; compressed */
	uint64_t not_pushed;           /* windows of which something was not */
};
struct sink_counts sink_counts(const struct sink *sink);

#endif
