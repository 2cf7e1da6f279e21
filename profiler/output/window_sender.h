/*
 * Sends a window (push_window.h) to a Pyroscope server, request by request, and says what goes wrong: an outage once, until a window was
 * sent; a refusal once, while windows are refused with the same words.
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

/*
 * Sends what was not sent yet of a window that is loaded. True: nothing of it is to be sent any more; window->failed says whether a part was
 * refused. False: later; with `last`, when there is no other try, that is not said. The progress of a window that is in the spool is
 * written there after each request.
 */
bool window_sender_send(struct window_sender *sender, struct push_window *window, bool last);

/* Makes the above return soon. */
void window_sender_stop(struct window_sender *sender);

/* Why the last request failed; "": none has. */
const char *window_sender_error(const struct window_sender *sender);

#endif
