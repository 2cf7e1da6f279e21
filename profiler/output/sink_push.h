/*
 * Sends windows to a Pyroscope server: a thread sends them in order, from a queue in which they wait while the
 * server can't be reached, fails or is overloaded. Each is tried again, after 1 s, then 2 s, up to a minute, until
 * it is taken or dropped for a newer one. What a server refuses for good is not sent again;
 * what it refuses for the credentials (401, 403) or the place (404, a redirect, a page of something else) waits as well, as these can be put right: a file of a secret, which is read
 * again then, at any time; else the configuration.
 * A limit on bytes (429) passes by itself, and all wait for that; one on series does not, so what is refused for that is given up at
 * once: to send it again would store what it has of known series again, and hold up what has no new one.
 * A window that it fails at each time (5xx) though it takes one behind it is set aside (window_refusals.h).
 *
 * Order: the oldest first, but for a window that was refused so often and is then taken after all: that comes after one behind it.
 *
 * A server that gets a whole request and falls silent may have stored it, and would store it again; so may one that a proxy gave up
 * waiting for (408, 504). Before such a request is sent a second time, the server is asked whether it answers at all
 * (push_client_ask()); it is not sent a third time: a window counts twice at most, however long a server hangs.
 *
 * 500, 502 and 503 are taken for what they say: it was not stored. They are what outages look like, so such a request is sent again
 * as long as the window is there; a server that stores it, and then answers with one of them, stores it each time.
 *
 * Where push.spool names a folder, windows that have to wait are stored there (sink_spool.h), and what is left at the end stays
 * for the next start. The folder belongs to one sink_push at a time: the next one in the same process gets it, and the windows
 * that wait, by sink_push_succeed().
 */
#ifndef STALLPROF_PROFILER_SINK_PUSH_H
#define STALLPROF_PROFILER_SINK_PUSH_H

#include <stdbool.h>
#include <stddef.h>

/* Bounds of the queue: an hour of windows of 10 s, as Pyroscope refuses what is older. */
#define SINK_PUSH_WINDOWS 360
#define SINK_PUSH_BYTES   ((size_t)64 << 20)

struct config;
struct profile;
struct sink_news;
struct sink_push;

/* Shares `news`; of `config` it keeps what it needs. Touches no spool yet. NULL with errno set and a line in `err`. */
struct sink_push *sink_push_new(const struct config *config, struct sink_news *news, char *err,
                                size_t err_len);
/* Gives up the windows that wait. What an older one still hands over is stored, or lost. Takes NULL. */
void sink_push_free(struct sink_push *push);

/* Opens the spool, if there is one, and sends what an earlier process left there. Before the first sink_push_put(). */
void sink_push_begin(struct sink_push *push);

/*
 * Instead of that, where both have the same spool, which `older` has open: at its end `older` hands over what it has not sent.
 * `older` may outlive `push`. Call it with all that are older, as the one that has it from another may end first. False: they don't
 * have the same, and `older` opens none any more.
 */
bool sink_push_succeed(struct sink_push *push, struct sink_push *older);
/* After sink_push_begin(): the same for windows that wait in memory alone, where `older` has no spool, and push's server is who they are
 * for (window_sender_replaces()). False: `older` goes on with its own. */
bool sink_push_inherit(struct sink_push *push, struct sink_push *older);
/* Makes `older` keep its windows: what is left at its end is stored, or lost. */
void sink_push_keep(struct sink_push *older);

/* Cuts and compresses the profile (NULL: there is none), which stays the caller's, and queues it. `last` as in
 * outbox_put(). */
void sink_push_put(struct sink_push *push, const struct profile *profile, bool last);
/* Counts a window that was lost before it came here. */
void sink_push_lose(struct sink_push *push);

size_t sink_push_count(struct sink_push *push);
bool sink_push_has_ended(struct sink_push *push);
/* Makes the thread end soon; does not wait for that. What waits is stored, if there is a spool. */
void sink_push_stop(struct sink_push *push);

/* Stops, and waits for that as long as windows are being stored. False: the disk hangs. */
bool sink_push_give_up(struct sink_push *push);
/* Call it in that case instead of sink_push_free(): the thread frees everything, if it ever ends. */
void sink_push_leave(struct sink_push *push);

#endif
