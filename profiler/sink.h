/*
 * Where finished profiles go: one file, a folder with a file a window, a Pyroscope server, or several of
 * them.
 *
 *     sink = sink_new(config, output, …)
 *     sink_deliver(sink, profile)       once a window
 *     sink_finish(sink)                 after the last
 *     sink_free(sink)
 *
 * A failure of one destination does not keep the profile from the others. Each failure is a line, given to
 * `say`; the sink counts them.
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

#endif
