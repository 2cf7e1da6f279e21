/* Sends windows to a Pyroscope server, with retries, in a thread of its own. */

#include "profiler/output/sink_push.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "profiler/config/config.h"
#include "profiler/format/text_cells.h"
#include "profiler/output/outbox.h"
#include "profiler/output/push.h"
#include "profiler/output/push_debts.h"
#include "profiler/output/push_window.h"
#include "profiler/output/series.h"
#include "profiler/output/series_labels.h"
#include "profiler/output/sink_news.h"
#include "profiler/output/sink_spool.h"
#include "symbolizer/base/clock.h"

#define RETRY_NS       1000000000ULL
#define RETRY_MAX_NS   (60 * 1000000000ULL)
#define UNANSWERED_MAX 2
#define STOP_NS        (3 * 1000000000ULL) /* for one window to be stored, and for the server's to be given up */

struct sink_push {
	struct push_client *client;
	struct outbox *box;
	struct sink_news *news;
	struct sink_spool *spool;
	uint64_t spool_max_bytes;
	uint64_t clock_hz;
	struct series_labels *labels;
	char pack_error[256]; /* the last one said */
	struct push_debts *debts;
	/* Of the thread: */
	bool outage;                   /* which has been said */
	char refusal[PUSH_ERR_MAX];    /* the last one said, since a window was pushed */
	char last_error[PUSH_ERR_MAX]; /* of the last try; "": there was none */
	/* Of all: */
	atomic_bool full;                      /* which has been said, since nothing waited */
	atomic_size_t left, stored;            /* at the end, lost and in the spool */
	_Atomic(struct sink_push *) successor; /* gets what is left at the end; NULL: there is none */
	atomic_uint_least64_t owed_ns;         /* of waits, pushed too much so far */
};

/* --- sending: in the thread ------------------------------------------------------------------------------ */

static void say_outage(struct sink_push *push)
{
	sink_news_pushing(push->news, true);
	if (!push->outage)
		sink_news_say(push->news, "%s; windows wait, and are sent again", push->last_error);
	push->outage = true;
}

/* A server that refuses one series mostly refuses all of them with the same words, in the next window, too. So that
 * is said once. */
static void say_refusal(struct sink_push *push)
{
	if (strcmp(push->last_error, push->refusal) != 0)
		sink_news_say(push->news, "%s", push->last_error);
	memcpy(push->refusal, push->last_error, sizeof(push->refusal));
}

static int send_body(struct sink_push *push, const struct series_labels *labels,
                     const struct push_request *request, char *err, size_t err_len)
{
	struct push_label label[PUSH_LABELS_MAX] = { { "__name__", request->series->name } };

	memcpy(label + 1, labels->label, labels->n * sizeof(*label));
	return push_client_send(push->client, label, labels->n + 1, request->body, request->len, err,
	                        err_len);
}

/* 0; -EAGAIN: try later; -ECANCELED: we stop; any other: it will not be sent. */
static int send_request(struct sink_push *push, const struct series_labels *labels,
                        struct push_request *request)
{
	char err[PUSH_ERR_MAX] = "";
	int result = request->unanswered ? push_client_ask(push->client, err, sizeof(err)) : 0;

	if (result && result != -ECANCELED) {
		result = -EAGAIN;
	} else if (!result) {
		result = send_body(push, labels, request, err, sizeof(err));
		if (result == -ETIMEDOUT && ++request->unanswered < UNANSWERED_MAX)
			result = -EAGAIN;
		else if (result == -ECANCELED)
			request->unanswered += push_client_sent_all(push->client);
	}
	if (result && result != -ECANCELED)
		memcpy(push->last_error, err, sizeof(err));
	return result;
}

static void finish_window(struct sink_push *push, struct push_window *window)
{
	const struct sink_counts failed = { .not_pushed = 1 };

	if (window->failed) {
		sink_news_count(push->news, &failed);
	} else {
		push->outage = false;
		push->refusal[0] = '\0';
		if (outbox_count(push->box) <= 1)
			atomic_store(&push->full, false);
	}
	sink_news_pushing(push->news, window->failed);
	sink_spool_remove(push->spool, window);
	push_window_free(window);
}

/* OUTBOX_DONE: all its requests are sent or refused. */
static enum outbox_result send_window(struct sink_push *push, struct push_window *window, bool last)
{
	while (window->at < window->n) {
		struct push_request *request = &window->request[window->at];
		int result = send_request(push, window->labels, request);

		if (!result) {
			const struct sink_counts pushed = { .pushed = 1, .pushed_bytes = request->len };

			sink_news_count(push->news, &pushed);
			window->at++;
		} else if (result != -EAGAIN && result != -ECANCELED) {
			say_refusal(push);
			push_window_skip_series(window);
		}
		sink_spool_note(push->spool, window);
		if (result == -ECANCELED)
			return OUTBOX_AGAIN;
		if (result != -EAGAIN && result != -ETIMEDOUT)
			continue;
		/* At the end one line says it of all that is left. */
		if (!last)
			say_outage(push);
		return OUTBOX_AGAIN;
	}
	return OUTBOX_DONE;
}

static void lose(struct sink_push *push, struct push_window *window)
{
	const struct sink_counts lost = { .not_pushed = 1 };

	push_window_free(window);
	sink_news_count(push->news, &lost);
}

static enum outbox_result deliver(void *ctx, void *item, bool last)
{
	struct sink_push *push = ctx;
	struct push_window *window = item;
	int err = window->number ? sink_spool_load(push->spool, window) : 0;

	if (err == -ENOMEM)
		return OUTBOX_AGAIN;
	if (err) {
		lose(push, window);
		return OUTBOX_DONE;
	}
	if (send_window(push, window, last) == OUTBOX_DONE) {
		finish_window(push, window);
		return OUTBOX_DONE;
	}
	if (window->number)
		push_window_unload(window);
	return OUTBOX_AGAIN;
}

static uint64_t store(void *ctx, void *item)
{
	struct sink_push *push = ctx;

	return sink_spool_store(push->spool, item);
}

static void put(struct sink_push *push, struct push_window *window, bool last)
{
	if (window->number)
		outbox_put_stored(push->box, window, window->file_bytes);
	else
		outbox_put(push->box, window, push_window_bytes(window), last);
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

static void drop(void *ctx, void *item, enum outbox_loss why)
{
	const struct sink_counts spooled = { .spooled = 1 };
	struct push_window *window = item;
	struct sink_push *push = ctx, *successor = atomic_load(&push->successor);

	if (why == OUTBOX_FULL) {
		drop_oldest(push, window);
	} else if (successor) {
		put(successor, window, false);
	} else if (window->number || sink_spool_store(push->spool, window)) {
		push_window_free(window);
		sink_news_count(push->news, &spooled);
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
	const char *why = push->last_error[0] ? push->last_error : "the server has not answered in time";

	say_owed(push);
	if (left || stored)
		sink_news_pushing(push->news, left);
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

	push_client_stop(push->client);
}

/* --- making ---------------------------------------------------------------------------------------------- */

static struct push_client *make_client(const struct config_push *push, char *err, size_t err_len)
{
	struct push_opts opts = {
		.url = push->url,
		.tenant = push->tenant[0] ? push->tenant : NULL,
		.basic_user = push->basic_user[0] ? push->basic_user : NULL,
		.basic_password_file = push->basic_password_file[0] ? push->basic_password_file : NULL,
		.bearer_token_file = push->bearer_token_file[0] ? push->bearer_token_file : NULL,
		.timeout_ms = (long)push->timeout_seconds * 1000,
	};

	return push_client_new(&opts, err, err_len);
}

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
		                    .store = store,
		                    .drop = drop,
		                    .interrupt = interrupt,
		                    .ended = ended };

	snprintf(err, err_len, "out of memory");
	errno = ENOMEM;
	if (!push)
		return NULL;
	push->news = sink_news_share(news);
	push->clock_hz = config_clock_hz(config);
	push->spool_max_bytes = config->push.spool_max_bytes;
	push->box = outbox_new(&opts);
	push->debts = push_debts_new();
	push->labels = series_labels_of(config);
	push->spool = sink_spool_new(config->push.spool, news);
	if (push->box && push->debts && push->labels && push->spool) {
		push->client = make_client(&config->push, err, err_len);
		if (push->client)
			return push;
		errno = EINVAL;
	}
	sink_push_free(push);
	return NULL;
}

void sink_push_free(struct sink_push *push)
{
	int error = errno;

	if (!push)
		return;
	outbox_free(push->box);
	push_client_free(push->client);
	push_debts_free(push->debts);
	sink_spool_free(push->spool);
	sink_news_free(push->news);
	free(push->labels);
	free(push);
	errno = error;
}

/* --- the spool ------------------------------------------------------------------------------------------- */

static void on_found(void *ctx, struct push_window *window)
{
	put(ctx, window, false);
}

void sink_push_begin(struct sink_push *push)
{
	sink_spool_open(push->spool, on_found, push);
}

bool sink_push_succeed(struct sink_push *push, struct sink_push *older)
{
	if (!sink_spool_share(push->spool, older->spool))
		return false;
	atomic_store(&older->successor, push);
	return true;
}

void sink_push_keep(struct sink_push *older)
{
	atomic_store(&older->successor, NULL);
}

/* --- who hands over -------------------------------------------------------------------------------------- */

void sink_push_lose(struct sink_push *push)
{
	const struct sink_counts lost = { .not_pushed = 1 };

	sink_news_count(push->news, &lost);
	sink_news_pushing(push->news, true);
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
	if (window && (window->n || window->failed)) {
		put(push, window, last);
		return;
	}
	if (profile && !window)
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
	const struct timespec step = { .tv_nsec = 2000000 };
	uint64_t until = monotonic_ns() + STOP_NS;
	size_t done, before = 0;

	outbox_stop(push->box);
	while (!outbox_has_ended(push->box) && monotonic_ns() < until) {
		nanosleep(&step, NULL);
		done = atomic_load(&push->stored) + atomic_load(&push->left);
		if (done != before)
			until = monotonic_ns() + STOP_NS;
		before = done;
	}
	if (outbox_has_ended(push->box))
		return true;
	sink_news_failed(push->news);
	sink_news_say(push->news,
	              "%s: the disk took too long: windows that waited for the server are not stored",
	              sink_spool_folder(push->spool));
	return false;
}

static void on_gone(void *ctx)
{
	struct sink_push *push = ctx;

	push->box = NULL;
	sink_push_free(push);
}

void sink_push_leave(struct sink_push *push)
{
	sink_push_keep(push);
	if (!outbox_leave(push->box, on_gone))
		sink_push_free(push);
}
