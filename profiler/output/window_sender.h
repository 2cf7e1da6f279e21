/*
 * Sends a window (push_window.h) to a Pyroscope server, request by request, and says what goes wrong: an outage once, until a window was
 * sent, and once more when it turns out that the credentials or the place are wrong; a refusal once, while windows are refused with the
 * same words.
 *
 *     sender = window_sender_new(&config->push, spool, news, err, sizeof(err))
 *     window_sender_send(sender, window, last)      in one thread
 *     window_sender_stop(sender)                    in any thread, meanwhile
 *     window_sender_free(sender)
 */
#ifndef STALLPROF_PROFILER_WINDOW_SENDER_H
#define STALLPROF_PROFILER_WINDOW_SENDER_H

#include <stdbool.h>
#include <stddef.h>

struct config_push;
struct push_window;
struct sink_news;
struct sink_spool;
struct window_sender;

/* `spool` and `news` outlive it; of `config` it keeps what it needs. NULL with errno set and a line in `err`. */
struct window_sender *window_sender_new(const struct config_push *config, struct sink_spool *spool,
                                        struct sink_news *news, char *err, size_t err_len);
/* Takes NULL. */
void window_sender_free(struct window_sender *sender);

enum window_turn {
	WINDOW_FIRST, /* of those that wait */
	WINDOW_LAST,  /* the same, and there is no other try: that it fails is not said */
	WINDOW_AHEAD  /* one behind the first, which WINDOW_LATER_NEXT asked for */
};

enum window_sent {
	WINDOW_DONE, /* nothing of it is to be sent any more; window->failed says whether a part was refused, or it was set aside */
	WINDOW_LATER,     /* it waits */
	WINDOW_LATER_NEXT /* it waits, and the next is to be tried: the server may fail at this one alone */
};

/*
 * Sends what was not sent yet of a window that is loaded. The progress of a window that is in the spool is written there after each
 * request. A request that is refused for good takes those of its series with it; one that was sent twice without an answer, or has a series too
 * many for the server, is given up alone. A window that the server fails at (window_refusals.h) is set aside, which is said and counted.
 */
enum window_sent window_sender_send(struct window_sender *sender, struct push_window *window,
                                    enum window_turn turn);

/* Makes the above return soon. */
void window_sender_stop(struct window_sender *sender);

/* Whether what `older` has not sent is for `sender` as well: it is for the same server and tenant, or `older` was refused for the credentials
 * or the place (401, 403, 404), which the newer configuration then puts right. Any thread. */
bool window_sender_replaces(const struct window_sender *sender, const struct window_sender *older);

/* Why the last request failed; "": none has. */
const char *window_sender_error(const struct window_sender *sender);

#endif
