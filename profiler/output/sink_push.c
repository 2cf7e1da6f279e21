/* Sends windows to a Pyroscope server, with retries, in a thread of its own. */

#include "profiler/output/sink_push.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/config/config.h"
#include "profiler/format/text_cells.h"
#include "profiler/output/outbox.h"
#include "profiler/output/push_debts.h"
#include "profiler/output/push_window.h"
#include "profiler/output/series_labels.h"
#include "profiler/output/sink_news.h"
#include "profiler/output/sink_spool.h"
#include "profiler/output/window_sender.h"
#include "symbolizer/base/clock.h"

#define RETRY_NS     1000000000ULL
#define RETRY_MAX_NS (60 * 1000000000ULL)
#define STOP_NS      (3 * 1000000000ULL) /* for one window to be stored, and for the server's to be given up */

struct sink_push {
	atomic_uint owners; /* its sink or thread, and those whose successor it is */
	struct window_sender *sender;
	struct outbox *box;
	struct sink_news *news;
	struct sink_spool *spool;
	uint64_t spool_max_bytes;
	uint64_t clock_hz;
	struct series_labels *labels;
	char pack_error[256]; /* the last one said */
	struct push_debts *debts;
	/* Of all: */
	atomic_bool full;              /* which has been said, since nothing waited */
	atomic_size_t left, stored;    /* at the end, lost and in the spool */
	atomic_uint_least64_t owed_ns; /* of waits, pushed too much so far */
	pthread_mutex_t lock;          /* of the next two */
	bool given_up; /* what waited in memory has been counted as lost, whatever becomes of it */
	struct sink_push *successor; /* gets what is left at the end; NULL: there is none */
};

/* --- owners ---------------------------------------------------------------------------------------------- */

static void destroy(struct sink_push *push)
{
	outbox_free(push->box);
	window_sender_free(push->sender);
	push_debts_free(push->debts);
	sink_spool_free(push->spool);
	sink_news_free(push->news);
	pthread_mutex_destroy(&push->lock);
	free(push->labels);
	free(push);
}

/* The last owner frees it, and is one owner less of its successor. Takes NULL. */
static void disown(struct sink_push *push)
{
	while (push && atomic_fetch_sub(&push->owners, 1) == 1) {
		struct sink_push *successor = push->successor;

		destroy(push);
		push = successor;
	}
}

/* --- what becomes of a window --------------------------------------------------------------------------- */

static void put(struct sink_push *push, struct push_window *window, bool last)
{
	window->refusals = (struct window_refusals){ 0 }; /* by another server */
	if (window->number)
		outbox_put_stored(push->box, window, window->file_bytes);
	else
		outbox_put(push->box, window, push_window_bytes(window), last);
}

static void on_found(void *ctx, struct push_window *window)
{
	put(ctx, window, false);
}

static void retry_spool(struct sink_push *push)
{
	sink_spool_retry(push->spool, monotonic_ns(), on_found, push);
}

/* `fails`: the last try has; NULL: there was none. */
static void count(struct sink_push *push, const struct sink_counts *counts, const bool *fails)
{
	pthread_mutex_lock(&push->lock);
	if (!push->given_up) {
		sink_news_count(push->news, counts);
		if (fails)
			sink_news_pushing(push->news, *fails);
	}
	pthread_mutex_unlock(&push->lock);
}

static void finish_window(struct sink_push *push, struct push_window *window)
{
	if (outbox_count(push->box) <= 1)
		atomic_store(&push->full, false);
	count(push, &(struct sink_counts){ .not_pushed = window->failed }, &window->failed);
	sink_spool_remove(push->spool, window);
	push_window_free(window);
}

static void lose(struct sink_push *push, struct push_window *window)
{
	push_window_free(window);
	count(push, &(struct sink_counts){ .not_pushed = 1 }, NULL);
}

/* Its file stays for the next start. */
static void leave_there(struct sink_push *push, struct push_window *window)
{
	push_window_free(window);
	count(push, &(struct sink_counts){ .spooled = 1 }, NULL);
}

static enum outbox_result send(struct sink_push *push, struct push_window *window, enum window_turn turn)
{
	int err = window->number ? sink_spool_load(push->spool, window) : 0;
	enum window_sent sent;

	if (err == -EAGAIN)
		return OUTBOX_AGAIN;
	if (err) {
		if (err == -EIO)
			leave_there(push, window);
		else if (err == -EISDIR)
			push_window_free(window);
		else
			lose(push, window);
		return OUTBOX_DONE;
	}
	sent = window_sender_send(push->sender, window, turn);
	if (sent == WINDOW_DONE) {
		finish_window(push, window);
		return OUTBOX_DONE;
	}
	if (window->number)
		push_window_unload(window);
	return sent == WINDOW_LATER_NEXT ? OUTBOX_NEXT : OUTBOX_AGAIN;
}

static enum outbox_result deliver(void *ctx, void *item, bool last)
{
	retry_spool(ctx);
	return send(ctx, item, last ? WINDOW_LAST : WINDOW_FIRST);
}

static enum outbox_result deliver_ahead(void *ctx, void *item)
{
	return send(ctx, item, WINDOW_AHEAD);
}

static uint64_t store(void *ctx, void *item)
{
	struct sink_push *push = ctx;
	struct push_window *window = item;
	int err;

	retry_spool(push);
	err = sink_spool_store(push->spool, window);
	if (err)
		return err == -EFBIG || err == -EINVAL ? OUTBOX_NEVER : 0;
	return window->file_bytes;
}

static void drop_oldest(struct sink_push *push, struct push_window *window)
{
	bool stored = window->number;

	sink_spool_remove(push->spool, window);
	lose(push, window);
	if (atomic_exchange(&push->full, true))
		return;
	sink_news_say(push->news,
	              "more windows wait for the server than there is room for (%d, %" PRIu64
	              " MiB%s%s): the oldest are dropped and counted as not pushed",
	              stored ? SINK_SPOOL_WINDOWS : SINK_PUSH_WINDOWS,
	              (stored ? push->spool_max_bytes : SINK_PUSH_BYTES) >> 20, stored ? ", in " : "",
	              stored ? sink_spool_folder(push->spool) : "");
}

/* The successor may be left by its sink meanwhile, or have ended. False: there is none. */
static bool hand_over(struct sink_push *push, struct push_window *window)
{
	struct sink_push *successor;

	pthread_mutex_lock(&push->lock);
	successor = push->successor;
	if (successor)
		atomic_fetch_add(&successor->owners, 1);
	pthread_mutex_unlock(&push->lock);
	if (!successor)
		return false;
	put(successor, window, false);
	disown(successor);
	return true;
}

static void drop(void *ctx, void *item, enum outbox_loss why)
{
	struct push_window *window = item;
	struct sink_push *push = ctx;

	if (why == OUTBOX_FULL) {
		drop_oldest(push, window);
	} else if (hand_over(push, window)) {
		return;
	} else if (window->number || !sink_spool_store(push->spool, window)) {
		leave_there(push, window);
		atomic_fetch_add(&push->stored, 1);
	} else {
		lose(push, window);
		atomic_fetch_add(&push->left, 1);
	}
}

static void say_owed(struct sink_push *push)
{
	uint64_t ns = atomic_load(&push->owed_ns);
	char text[TEXT_DURATION_BYTES];

	if (ns)
		sink_news_say(
		        push->news,
		        "%s of waits were pushed that turned out to be another kind of wait after their "
		        "window had been sent: the server's sums are that much too high",
		        text_short_duration(text, ns));
}

static void ended(void *ctx)
{
	struct sink_push *push = ctx;
	size_t left = atomic_load(&push->left), stored = atomic_load(&push->stored);
	const char *error = window_sender_error(push->sender);
	const char *why = error[0] ? error : "the server has not answered in time";

	say_owed(push);
	if (left || stored)
		count(push, &(struct sink_counts){ 0 }, &(bool){ left });
	if (stored)
		sink_news_say(push->news, "%zu window%s kept in %s and sent at the next start: %s", stored,
		              stored == 1 ? " is" : "s are", sink_spool_folder(push->spool), why);
	if (left)
		sink_news_say(push->news, "%zu window%s not pushed: %s", left, left == 1 ? " was" : "s were",
		              why);
	sink_news_wake(push->news);
}

static void interrupt(void *ctx)
{
	struct sink_push *push = ctx;

	window_sender_stop(push->sender);
}

/* --- making ---------------------------------------------------------------------------------------------- */

struct sink_push *sink_push_new(const struct config *config, struct sink_news *news, char *err,
                                size_t err_len)
{
	struct sink_push *push = calloc(1, sizeof(*push));
	struct outbox_opts opts = { .name = "stallprof-push",
		                    .max_items = SINK_PUSH_WINDOWS,
		                    .max_bytes = SINK_PUSH_BYTES,
		                    .max_stored = SINK_SPOOL_WINDOWS,
		                    .max_stored_bytes = config->push.spool_max_bytes,
		                    .retry_ns = RETRY_NS,
		                    .retry_max_ns = RETRY_MAX_NS,
		                    .ctx = push,
		                    .deliver = deliver,
		                    .ahead = deliver_ahead,
		                    .store = store,
		                    .drop = drop,
		                    .interrupt = interrupt,
		                    .ended = ended };

	snprintf(err, err_len, "out of memory");
	errno = ENOMEM;
	if (!push)
		return NULL;
	atomic_init(&push->owners, 1);
	pthread_mutex_init(&push->lock, NULL);
	push->news = sink_news_share(news);
	push->clock_hz = config_clock_hz(config);
	push->spool_max_bytes = config->push.spool_max_bytes;
	push->box = outbox_new(&opts);
	push->debts = push_debts_new();
	push->labels = series_labels_of(config);
	push->spool = sink_spool_new(config->push.spool, news);
	if (push->box && push->debts && push->labels && push->spool) {
		errno = EINVAL;
		if (!series_labels_check(push->labels, err, err_len))
			push->sender =
			        window_sender_new(&config->push, push->spool, push->news, err, err_len);
		if (push->sender)
			return push;
	}
	sink_push_free(push);
	return NULL;
}

void sink_push_free(struct sink_push *push)
{
	int error = errno;

	if (!push)
		return;
	if (push->box)
		outbox_stop(push->box);
	disown(push);
	errno = error;
}

/* --- the spool ------------------------------------------------------------------------------------------- */

void sink_push_begin(struct sink_push *push)
{
	sink_spool_open(push->spool, monotonic_ns(), on_found, push);
}

static void set_successor(struct sink_push *older, struct sink_push *successor)
{
	struct sink_push *before;

	if (successor)
		atomic_fetch_add(&successor->owners, 1);
	pthread_mutex_lock(&older->lock);
	before = older->successor;
	older->successor = successor;
	pthread_mutex_unlock(&older->lock);
	disown(before);
}

bool sink_push_succeed(struct sink_push *push, struct sink_push *older)
{
	if (!sink_spool_share(push->spool, older->spool)) {
		sink_spool_retire(older->spool);
		return false;
	}
	set_successor(older, push);
	return true;
}

bool sink_push_inherit(struct sink_push *push, struct sink_push *older)
{
	if (sink_spool_folder(older->spool)[0] || !window_sender_replaces(push->sender, older->sender))
		return false;
	set_successor(older, push);
	return true;
}

void sink_push_keep(struct sink_push *older)
{
	set_successor(older, NULL);
}

/* --- who hands over -------------------------------------------------------------------------------------- */

void sink_push_lose(struct sink_push *push)
{
	count(push, &(struct sink_counts){ .not_pushed = 1 }, &(bool){ true });
}

void sink_push_put(struct sink_push *push, const struct profile *profile, bool last)
{
	char err[sizeof(push->pack_error)] = "";
	struct push_window *window = profile ? push_window_new(profile, push->labels, push->clock_hz,
	                                                       push->debts, err, sizeof(err))
	                                     : NULL;

	if (profile && !window)
		snprintf(err, sizeof(err), "cannot make the profile to push: out of memory");
	if (err[0] && strcmp(err, push->pack_error) != 0)
		sink_news_say(push->news, "%s", err);
	memcpy(push->pack_error, err, sizeof(err));
	atomic_store(&push->owed_ns, push_debts_owed(push->debts, "delay"));
	if (window && window->n) {
		put(push, window, last);
		return;
	}
	if (window ? window->failed : profile != NULL)
		sink_push_lose(push);
	push_window_free(window);
	if (last)
		outbox_end(push->box);
}

size_t sink_push_count(struct sink_push *push)
{
	return outbox_count(push->box);
}

bool sink_push_has_ended(struct sink_push *push)
{
	return outbox_has_ended(push->box);
}

void sink_push_stop(struct sink_push *push)
{
	outbox_stop(push->box);
}

bool sink_push_give_up(struct sink_push *push)
{
	struct sink_counts lost = { 0 };

	if (outbox_stop_within(push->box, STOP_NS))
		return true;
	pthread_mutex_lock(&push->lock);
	push->given_up = true;
	lost.not_pushed = outbox_count_in_memory(push->box);
	pthread_mutex_unlock(&push->lock);
	sink_news_count(push->news, &lost);
	sink_news_pushing(push->news, true);
	if (sink_spool_is_open(push->spool))
		sink_news_say(push->news,
		              "%s: the disk took too long: windows that waited for the server and are not "
		              "stored: %" PRIu64,
		              sink_spool_folder(push->spool), lost.not_pushed);
	else
		sink_news_say(push->news,
		              "sending does not end in time: windows that waited for the server: %" PRIu64,
		              lost.not_pushed);
	return false;
}

static void on_gone(void *ctx, struct outbox *box)
{
	(void)box; /* which others may still put into */
	disown(ctx);
}

void sink_push_leave(struct sink_push *push)
{
	sink_push_keep(push);
	if (!outbox_leave(push->box, on_gone))
		sink_push_free(push);
}
