/* Joins the sums, the windows and the server. */

#include "profiler/scrape/scrape.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/config/config.h"
#include "profiler/config/listen_address.h"
#include "profiler/output/sink.h"
#include "profiler/scrape/scrape_bytes.h"
#include "profiler/scrape/scrape_metrics.h"
#include "profiler/scrape/scrape_pages.h"
#include "profiler/scrape/scrape_server.h"
#include "profiler/scrape/scrape_sums.h"
#include "profiler/scrape/scrape_token.h"
#include "profiler/scrape/scrape_windows.h"

struct scrape {
	/* Of whoever adds a window, which takes a while; the loop only tries to have it. */
	pthread_mutex_t adding;
	struct scrape_sums *sums;
	struct sink_counts counts;
	char *service_name;
	uint64_t clock_hz;
	uint64_t failed; /* windows that are not all in what is answered */
	uint64_t shown_lost, shown_missed;
	/* Of the answer to /metrics, held for a moment alone. */
	pthread_mutex_t showing;
	struct scrape_bytes *metrics;
	/* Of all. */
	struct scrape_windows *windows;
	struct scrape_pages pages;
	atomic_bool is_on;
	atomic_ullong lost; /* windows that never came */
	/* Of the loop. */
	struct scrape_server *server; /* NULL: off */
	char *listen;                 /* its setting */
	bool is_open;
};

struct scrape_plan {
	struct scrape_server *server; /* NULL: none, or the present one stays */
	bool stays;
	bool waits; /* for the present one to be closed */
	char *listen, *service_name;
	struct scrape_token *token; /* NULL: none */
	uint64_t clock_hz;
	bool is_open;
};

/* --- in the server's thread -------------------------------------------------------------------------------- */

static struct scrape_bytes *hold_metrics(void *ctx)
{
	struct scrape *scrape = ctx;
	struct scrape_bytes *metrics;

	pthread_mutex_lock(&scrape->showing);
	metrics = scrape_bytes_hold(scrape->metrics);
	pthread_mutex_unlock(&scrape->showing);
	return metrics;
}

static void answer(void *ctx, const char *path, const struct scrape_request *request,
                   struct scrape_answer *to)
{
	const struct scrape *scrape = ctx;

	scrape_pages_answer(&scrape->pages, path, request, to);
}

static void sent(void *ctx, const struct scrape_answer *what)
{
	struct scrape *scrape = ctx;

	scrape_windows_read(scrape->windows, what->reader, &what->taken);
}

/* --- windows ------------------------------------------------------------------------------------------------ */

/* With `adding` held. Without memory the metrics stay as they were. */
static void show_metrics(struct scrape *scrape)
{
	const uint64_t lost = atomic_load(&scrape->lost), missed = scrape_windows_missed(scrape->windows);
	const struct scrape_facts facts = { .service_name = scrape->service_name ? scrape->service_name : "",
		                            .counts = scrape->counts,
		                            .failed = scrape->failed + lost,
		                            .missed = missed };
	struct scrape_bytes *metrics = scrape_metrics_make(scrape->sums, &facts), *before;

	if (!metrics)
		return;
	pthread_mutex_lock(&scrape->showing);
	before = scrape->metrics;
	scrape->metrics = metrics;
	pthread_mutex_unlock(&scrape->showing);
	scrape->shown_lost = lost;
	scrape->shown_missed = missed;
	scrape_bytes_drop(before);
}

void scrape_take(void *ctx, const struct profile *profile)
{
	struct scrape *scrape = ctx;
	bool failed;

	if (!atomic_load(&scrape->is_on))
		return;
	if (!profile) { /* maybe by the loop, which does not wait for who adds one */
		atomic_fetch_add(&scrape->lost, 1);
		return;
	}
	pthread_mutex_lock(&scrape->adding);
	failed = scrape_sums_take(scrape->sums, profile) != 0;
	failed |= scrape_windows_add(scrape->windows, profile, scrape->clock_hz) != 0;
	scrape->failed += failed;
	show_metrics(scrape);
	pthread_mutex_unlock(&scrape->adding);
}

/* Of those that are shown. */
static bool counts_differ(const struct sink_counts *a, const struct sink_counts *b)
{
	return a->kept != b->kept || a->not_kept != b->not_kept || a->pushed != b->pushed ||
	       a->not_pushed != b->not_pushed || a->set_aside != b->set_aside ||
	       a->pushing_fails != b->pushing_fails || a->waiting != b->waiting;
}

/* With `adding` held. */
static bool is_outdated(struct scrape *scrape, const struct sink_counts *counts)
{
	return counts_differ(&scrape->counts, counts) || scrape->shown_lost != atomic_load(&scrape->lost) ||
	       scrape->shown_missed != scrape_windows_missed(scrape->windows);
}

void scrape_poll(struct scrape *scrape, const struct sink_counts *counts)
{
	if (!scrape->server)
		return;
	scrape_server_cut_slow(scrape->server);
	/* While a window is being added, next time. */
	if (pthread_mutex_trylock(&scrape->adding))
		return;
	if (is_outdated(scrape, counts)) {
		scrape->counts = *counts;
		show_metrics(scrape);
	}
	pthread_mutex_unlock(&scrape->adding);
}

/* --- begin and end ------------------------------------------------------------------------------------------ */

struct scrape *scrape_new(void)
{
	struct scrape *scrape = calloc(1, sizeof(*scrape));

	if (!scrape)
		return NULL;
	pthread_mutex_init(&scrape->adding, NULL);
	pthread_mutex_init(&scrape->showing, NULL);
	scrape->sums = scrape_sums_new(SCRAPE_SUMS_MAX);
	scrape->windows = scrape_windows_new();
	scrape->pages =
	        (struct scrape_pages){ .metrics = hold_metrics, .ctx = scrape, .windows = scrape->windows };
	if (scrape->sums && scrape->windows)
		show_metrics(scrape);
	if (scrape->metrics)
		return scrape;
	scrape_free(scrape);
	return NULL;
}

void scrape_stop(struct scrape *scrape)
{
	atomic_store(&scrape->is_on, false);
	scrape_server_free(scrape->server);
	scrape->server = NULL;
}

void scrape_free(struct scrape *scrape)
{
	if (!scrape)
		return;
	scrape_stop(scrape);
	scrape_windows_free(scrape->windows);
	scrape_sums_free(scrape->sums);
	scrape_bytes_drop(scrape->metrics);
	pthread_mutex_destroy(&scrape->adding);
	pthread_mutex_destroy(&scrape->showing);
	free(scrape->service_name);
	free(scrape->listen);
	free(scrape);
}

/* --- configurations ----------------------------------------------------------------------------------------- */

void scrape_plan_free(struct scrape_plan *plan)
{
	if (!plan)
		return;
	scrape_server_free(plan->server);
	scrape_token_free(plan->token);
	free(plan->listen);
	free(plan->service_name);
	free(plan);
}

/* *token is NULL where none is wanted. */
static int read_token(const struct config *config, struct scrape_token **token, char *err, size_t err_len)
{
	*token = NULL;
	if (!*config->scrape.bearer_token_file)
		return 0;
	*token = scrape_token_new(config->scrape.bearer_token_file, err, err_len);
	return *token ? 0 : -errno;
}

int scrape_check(const struct config *config, char *err, size_t err_len)
{
	struct scrape_token *token;
	int result = read_token(config, &token, err, err_len);

	scrape_token_free(token);
	if (!result && *config->scrape.listen)
		result = scrape_server_check(config->scrape.listen, err, err_len);
	return result;
}

/* Whether two addresses have the same port, and not any. */
static bool same_port(const char *a, const char *b)
{
	return !strcmp(strrchr(a, ':'), strrchr(b, ':')) && strcmp(strrchr(a, ':'), ":0") != 0;
}

static struct scrape_server *open_server(struct scrape *scrape, const struct scrape_plan *plan, char *err,
                                         size_t err_len)
{
	const struct scrape_handler handler = { .ctx = scrape, .answer = answer, .sent = sent };

	return scrape_server_new(plan->listen, plan->token, &handler, err, err_len);
}

static int make_plan(struct scrape_plan *plan, struct scrape *scrape, const struct config *config, char *err,
                     size_t err_len)
{
	struct listen_address address;
	int result;

	snprintf(err, err_len, "out of memory");
	plan->clock_hz = config_clock_hz(config);
	plan->listen = strdup(config->scrape.listen);
	plan->service_name = strdup(config->service_name);
	if (!plan->listen || !plan->service_name)
		return -ENOMEM;
	if (!*plan->listen)
		return 0;
	result = read_token(config, &plan->token, err, err_len);
	if (result)
		return result;
	plan->is_open = !plan->token && listen_address_parse(plan->listen, &address) && !address.is_loopback;
	plan->stays = scrape->server && !strcmp(plan->listen, scrape->listen);
	plan->waits = !plan->stays && scrape->server && same_port(plan->listen, scrape_address(scrape));
	if (plan->stays || plan->waits)
		return 0;
	plan->server = open_server(scrape, plan, err, err_len);
	return plan->server ? 0 : -errno;
}

struct scrape_plan *scrape_plan_new(struct scrape *scrape, const struct config *config, char *err,
                                    size_t err_len)
{
	struct scrape_plan *plan = calloc(1, sizeof(*plan));
	int result = -ENOMEM;

	if (plan)
		result = make_plan(plan, scrape, config, err, err_len);
	else
		snprintf(err, err_len, "out of memory");
	if (!result)
		return plan;
	scrape_plan_free(plan);
	errno = -result;
	return NULL;
}

static void exchange_text(char **a, char **b)
{
	char *text = *a;

	*a = *b;
	*b = text;
}

/* 0 or -errno. */
static int adopt_server(struct scrape *scrape, struct scrape_plan *plan, char *err, size_t err_len)
{
	if (plan->stays) {
		scrape_server_set_token(scrape->server, plan->token);
		return 0;
	}
	scrape_server_free(scrape->server);
	if (plan->waits)
		plan->server = open_server(scrape, plan, err, err_len);
	scrape->server = plan->server;
	plan->server = NULL;
	return scrape->server || !*plan->listen ? 0 : -errno;
}

int scrape_adopt(struct scrape *scrape, struct scrape_plan *plan, char *err, size_t err_len)
{
	int result = adopt_server(scrape, plan, err, err_len);

	scrape->is_open = scrape->server && plan->is_open;
	exchange_text(&scrape->listen, &plan->listen);
	atomic_store(&scrape->is_on, scrape->server != NULL);
	pthread_mutex_lock(&scrape->adding);
	exchange_text(&scrape->service_name, &plan->service_name);
	scrape->clock_hz = plan->clock_hz;
	if (scrape->server)
		show_metrics(scrape);
	else
		scrape_windows_clear(scrape->windows);
	pthread_mutex_unlock(&scrape->adding);
	scrape_plan_free(plan);
	return result;
}

const char *scrape_address(const struct scrape *scrape)
{
	return scrape->server ? scrape_server_address(scrape->server) : NULL;
}

int scrape_is_open(const struct scrape *scrape)
{
	return scrape->is_open;
}
