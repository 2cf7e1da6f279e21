/* Sends windows to a Pyroscope server, with retries, in a thread of its own. */

#include "profiler/output/sink_push.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profiler/config/config.h"
#include "profiler/format/text_cells.h"
#include "profiler/output/outbox.h"
#include "profiler/output/push.h"
#include "profiler/output/push_debts.h"
#include "profiler/output/push_window.h"
#include "profiler/output/series.h"
#include "profiler/output/sink_news.h"

#define LABELS_MAX     (CONFIG_LABELS_MAX + 4)
#define RETRY_NS       1000000000ULL
#define RETRY_MAX_NS   (60 * 1000000000ULL)
#define UNANSWERED_MAX 2

struct sink_push {
	struct push_client *client;
	struct outbox *box;
	struct sink_news *news;
	uint64_t clock_hz;
	struct push_label label[LABELS_MAX]; /* the first is __name__, of each series */
	size_t n_labels;
	char pack_error[256]; /* the last one said */
	struct push_debts *debts;
	/* Of the thread: */
	bool outage;                   /* which has been said */
	char refusal[PUSH_ERR_MAX];    /* the last one said, since a window was pushed */
	char last_error[PUSH_ERR_MAX]; /* of the last try; "": there was none */
	/* Of all: */
	atomic_bool full; /* which has been said, since nothing waited */
	atomic_size_t left;
	atomic_uint_least64_t owed_ns; /* of waits, pushed too much so far */
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

/* 0; -EAGAIN: try later; -ECANCELED: we stop; any other: it will not be sent. */
static int send_request(struct sink_push *push, struct push_request *request)
{
	struct push_label label[LABELS_MAX];
	char err[PUSH_ERR_MAX] = "";
	int result = request->unanswered ? push_client_ask(push->client, err, sizeof(err)) : 0;

	memcpy(label, push->label, sizeof(label));
	label[0].value = request->series->name;
	if (result && result != -ECANCELED) {
		result = -EAGAIN;
	} else if (!result) {
		result = push_client_send(push->client, label, push->n_labels, request->body, request->len,
		                          err, sizeof(err));
		if (result == -ETIMEDOUT && ++request->unanswered < UNANSWERED_MAX)
			result = -EAGAIN;
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
	push_window_free(window);
}

static enum outbox_result deliver(void *ctx, void *item, bool last)
{
	struct sink_push *push = ctx;
	struct push_window *window = item;

	while (window->at < window->n) {
		struct push_request *request = &window->request[window->at];
		int result = send_request(push, request);

		if (!result) {
			const struct sink_counts pushed = { .pushed = 1, .pushed_bytes = request->len };

			sink_news_count(push->news, &pushed);
			window->at++;
			continue;
		}
		if (result == -ECANCELED)
			return OUTBOX_AGAIN;
		if (result != -EAGAIN) {
			say_refusal(push);
			push_window_skip_series(window);
			if (result != -ETIMEDOUT)
				continue;
		}
		/* At the end one line says it of all that is left. */
		if (!last)
			say_outage(push);
		return OUTBOX_AGAIN;
	}
	finish_window(push, window);
	return OUTBOX_DONE;
}

static void drop(void *ctx, void *item, enum outbox_loss why)
{
	const struct sink_counts lost = { .not_pushed = 1 };
	struct push_window *window = item;
	struct sink_push *push = ctx;

	push_window_free(window);
	sink_news_count(push->news, &lost);
	if (why == OUTBOX_LEFT)
		atomic_fetch_add(&push->left, 1);
	else if (!atomic_exchange(&push->full, true))
		sink_news_say(push->news,
		              "more windows wait for the server than there is room for (%d, %zu MiB): the "
		              "oldest are "
		              "dropped and counted as not pushed",
		              SINK_PUSH_WINDOWS, SINK_PUSH_BYTES >> 20);
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
	size_t left = atomic_load(&push->left);

	say_owed(push);
	if (left) {
		sink_news_pushing(push->news, true);
		sink_news_say(push->news, "%zu window%s not pushed: %s", left, left == 1 ? " was" : "s were",
		              push->last_error[0] ? push->last_error : "the server has not answered in time");
	}
	sink_news_wake(push->news);
}

static void interrupt(void *ctx)
{
	struct sink_push *push = ctx;

	push_client_stop(push->client);
}

/* --- making ---------------------------------------------------------------------------------------------- */

static int add_label(struct sink_push *push, const char *name, const char *value)
{
	struct push_label *label = &push->label[push->n_labels];

	if (push->n_labels == LABELS_MAX)
		return 0; /* config.h's bound is lower */
	label->name = strdup(name);
	label->value = strdup(value);
	push->n_labels++;
	return label->name && label->value ? 0 : -ENOMEM;
}

static int make_labels(struct sink_push *push, const struct config *config)
{
	char host[256] = "";
	int result = add_label(push, "__name__", "");
	size_t i;

	if (gethostname(host, sizeof(host) - 1))
		snprintf(host, sizeof(host), "unknown");
	if (!result)
		result = add_label(push, "service_name", config->service_name);
	if (!result)
		result = add_label(push, "host", host);
	for (i = 0; i < config->label_count && !result; i++)
		result = add_label(push, config->labels[i].name, config->labels[i].value);
	return result;
}

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
		                    .retry_ns = RETRY_NS,
		                    .retry_max_ns = RETRY_MAX_NS,
		                    .ctx = push,
		                    .deliver = deliver,
		                    .drop = drop,
		                    .interrupt = interrupt,
		                    .ended = ended };

	snprintf(err, err_len, "out of memory");
	errno = ENOMEM;
	if (!push)
		return NULL;
	push->news = news;
	push->clock_hz = config_clock_hz(config);
	push->box = outbox_new(&opts);
	push->debts = push_debts_new();
	if (push->box && push->debts && !make_labels(push, config)) {
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
	size_t i;

	if (!push)
		return;
	outbox_free(push->box);
	push_client_free(push->client);
	push_debts_free(push->debts);
	for (i = 0; i < push->n_labels; i++) {
		free((char *)push->label[i].name);
		free((char *)push->label[i].value);
	}
	free(push);
	errno = error;
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
	struct push_window *window =
	        profile ? push_window_new(profile, push->clock_hz, push->debts, err, sizeof(err)) : NULL;

	if (profile && !window)
		snprintf(err, sizeof(err), "cannot make the profile to push: out of memory");
	if (err[0] && strcmp(err, push->pack_error) != 0)
		sink_news_say(push->news, "%s", err);
	memcpy(push->pack_error, err, sizeof(err));
	atomic_store(&push->owed_ns, push_debts_owed(push->debts, "delay"));
	if (window && (window->n || window->failed)) {
		outbox_put(push->box, window, push_window_bytes(window), last);
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
