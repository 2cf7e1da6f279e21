/* Sends the requests of a window, and says outages and refusals. */

#include "profiler/output/window_sender.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/config/config.h"
#include "profiler/output/push.h"
#include "profiler/output/push_window.h"
#include "profiler/output/series.h"
#include "profiler/output/series_labels.h"
#include "profiler/output/sink_news.h"
#include "profiler/output/sink_spool.h"
#include "profiler/output/window_refusals.h"
#include "symbolizer/base/clock.h"

#define UNANSWERED_MAX 2

/* The second does not pass by itself. */
enum outage { OUTAGE_NONE, OUTAGE_FAILS, OUTAGE_MISLED };

struct window_sender {
	struct push_client *client;
	char *place; /* the server's URL, and the tenant there */
	struct sink_spool *spool;
	struct sink_news *news;
	uint64_t taken;                /* windows, whole */
	atomic_bool misled;            /* the last request was refused for the credentials or the place */
	enum outage outage;            /* the worst that was said since a window was taken */
	char refusal[PUSH_ERR_MAX];    /* the last one said, since a window was pushed */
	char last_error[PUSH_ERR_MAX]; /* of the last try; "": there was none */
};

static void say_outage(struct window_sender *sender)
{
	enum outage outage = atomic_load(&sender->misled) ? OUTAGE_MISLED : OUTAGE_FAILS;

	sink_news_pushing(sender->news, true);
	if (sender->outage >= outage)
		return;
	sink_news_say(sender->news, "%s; windows wait, and are sent again", sender->last_error);
	sender->outage = outage;
}

/* But for numbers, such as the time of a profile that is too old. */
static bool are_the_same_words(const char *a, const char *b)
{
	static const char digits[] = "0123456789";

	for (;; a++, b++) {
		a += strspn(a, digits);
		b += strspn(b, digits);
		if (*a != *b)
			return false;
		if (!*a)
			return true;
	}
}

/* A server that refuses one series mostly refuses all of them with the same words, in the next window, too. So that
 * is said once. */
static void say_refusal(struct window_sender *sender)
{
	if (!are_the_same_words(sender->last_error, sender->refusal))
		sink_news_say(sender->news, "%s", sender->last_error);
	memcpy(sender->refusal, sender->last_error, sizeof(sender->refusal));
}

static int send_body(struct window_sender *sender, const struct series_labels *labels,
                     const struct push_request *request, char *err, size_t err_len)
{
	struct push_label label[PUSH_LABELS_MAX] = { { "__name__", request->series->name } };

	memcpy(label + 1, labels->label, labels->n * sizeof(*label));
	return push_client_send(sender->client, label, labels->n + 1, request->body, request->len, err,
	                        err_len);
}

/* A wrong token is put right by its file, a wrong URL by a reload, and memory comes back. */
static bool is_passing(int result)
{
	return result == -EPERM || result == -ENOENT || result == -ENOMEM;
}

/* 0; -EAGAIN, -EREMOTEIO: try later; -ECANCELED: we stop; any other: it will not be sent. */
static int send_request(struct window_sender *sender, struct push_window *window)
{
	const struct push_request *request = &window->request[window->at];
	char err[PUSH_ERR_MAX] = "";
	int result;

	/* Each process adds one that is stopped, or killed, meanwhile. */
	if (window->unanswered >= UNANSWERED_MAX) {
		snprintf(sender->last_error, sizeof(sender->last_error),
		         "a window was sent twice without an answer that says whether it was taken, and is "
		         "not sent again");
		return -EALREADY;
	}
	result = window->unanswered ? push_client_ask(sender->client, err, sizeof(err)) : 0;
	if (result && result != -ECANCELED) {
		result = -EAGAIN;
	} else if (!result) {
		result = send_body(sender, window->labels, request, err, sizeof(err));
		atomic_store(&sender->misled, result == -EPERM || result == -ENOENT);
		if (result == -ETIMEDOUT && ++window->unanswered < UNANSWERED_MAX)
			result = -EAGAIN;
		else if (result == -ECANCELED)
			window->unanswered += push_client_sent_all(sender->client);
		else if (is_passing(result))
			result = -EAGAIN;
	}
	if (result && result != -ECANCELED)
		memcpy(sender->last_error, err, sizeof(err));
	return result;
}

static void set_aside(struct window_sender *sender, struct push_window *window)
{
	const struct sink_counts aside = { .set_aside = 1 };
	char what[PUSH_ERR_MAX];

	sink_spool_set_aside(sender->spool, window, what, sizeof(what));
	window->failed = true;
	sink_news_count(sender->news, &aside);
	sink_news_say(sender->news,
	              "a window is set aside, as the server fails at it each time but took one behind it: "
	              "%s; %s; the server's log may say why",
	              sender->last_error, what);
}

static enum window_sent later(struct window_sender *sender, struct push_window *window, int result,
                              enum window_turn turn)
{
	enum window_verdict verdict = WINDOW_WAITS;

	if (result == -ECANCELED)
		return WINDOW_LATER;
	if (result != -EREMOTEIO)
		window->refusals = (struct window_refusals){ 0 };
	else if (turn == WINDOW_FIRST)
		verdict = window_refusals_add(&window->refusals, monotonic_ns(), sender->taken);
	if (verdict == WINDOW_SET_ASIDE) {
		set_aside(sender, window);
		return WINDOW_DONE;
	}
	/* At the end one line says it of all that is left. */
	if (turn != WINDOW_LAST)
		say_outage(sender);
	return verdict == WINDOW_TRY_NEXT ? WINDOW_LATER_NEXT : WINDOW_LATER;
}

static void took(struct window_sender *sender, struct push_window *window)
{
	const struct sink_counts pushed = { .pushed = 1, .pushed_bytes = window->request[window->at].len };

	sink_news_count(sender->news, &pushed);
	push_window_advance(window);
	window->refusals = (struct window_refusals){ 0 };
}

/* The server may have it, or a part of it. Those behind it in its series were not sent, and may be taken. */
static void give_up_request(struct push_window *window)
{
	window->failed = true;
	push_window_advance(window);
}

enum window_sent window_sender_send(struct window_sender *sender, struct push_window *window,
                                    enum window_turn turn)
{
	bool any_taken = false;

	push_client_reconnect(sender->client);
	while (window->at < window->n) {
		int result = send_request(sender, window);

		if (!result) {
			took(sender, window);
			any_taken = true;
		} else if (result == -ETIMEDOUT || result == -EALREADY || result == -EDQUOT) {
			say_refusal(sender);
			give_up_request(window);
		} else if (result != -EAGAIN && result != -EREMOTEIO && result != -ECANCELED) {
			say_refusal(sender);
			push_window_skip_series(window);
		}
		sink_spool_note(sender->spool, window);
		if (result == -EAGAIN || result == -EREMOTEIO || result == -ECANCELED || result == -ETIMEDOUT)
			return later(sender, window, result, turn);
	}
	if (any_taken || !window->failed)
		sender->outage = OUTAGE_NONE;
	if (!window->failed) {
		sender->taken++;
		sender->refusal[0] = '\0';
	}
	return WINDOW_DONE;
}

static struct push_client *make_client(const struct config_push *config, char *err, size_t err_len)
{
	struct push_opts opts = {
		.url = config->url,
		.tenant = config->tenant[0] ? config->tenant : NULL,
		.basic_user = config->basic_user[0] ? config->basic_user : NULL,
		.basic_password_file = config->basic_password_file[0] ? config->basic_password_file : NULL,
		.bearer_token_file = config->bearer_token_file[0] ? config->bearer_token_file : NULL,
		.timeout_ms = (long)config->timeout_seconds * 1000,
	};

	return push_client_new(&opts, err, err_len);
}

/* NULL: no memory. */
static char *describe_place(const struct config_push *config)
{
	size_t len = strlen(config->url);
	char *place;

	while (len && config->url[len - 1] == '/')
		len--;
	return asprintf(&place, "%.*s %s", (int)len, config->url, config->tenant) < 0 ? NULL : place;
}

struct window_sender *window_sender_new(const struct config_push *config, struct sink_spool *spool,
                                        struct sink_news *news, char *err, size_t err_len)
{
	struct window_sender *sender = calloc(1, sizeof(*sender));

	if (!sender) {
		snprintf(err, err_len, "out of memory");
		return NULL;
	}
	sender->spool = spool;
	sender->news = news;
	sender->place = describe_place(config);
	if (sender->place)
		sender->client = make_client(config, err, err_len);
	else
		snprintf(err, err_len, "out of memory");
	if (sender->client)
		return sender;
	window_sender_free(sender);
	errno = EINVAL;
	return NULL;
}

void window_sender_free(struct window_sender *sender)
{
	if (!sender)
		return;
	push_client_free(sender->client);
	free(sender->place);
	free(sender);
}

void window_sender_stop(struct window_sender *sender)
{
	push_client_stop(sender->client);
}

bool window_sender_replaces(const struct window_sender *sender, const struct window_sender *older)
{
	return atomic_load(&older->misled) || !strcmp(sender->place, older->place);
}

const char *window_sender_error(const struct window_sender *sender)
{
	return sender->last_error;
}
