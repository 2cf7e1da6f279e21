/* Thread that fetches missing debug files from debuginfod servers, one after another. */

#include "profiler/symbols/debuginfod.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "profiler/symbols/debug_dir.h"
#include "profiler/symbols/debuginfod_fetch.h"
#include "profiler/format/stamp.h"
#include "symbolizer/base/clock.h"

#define URLS_MAX           16
#define KNOWN_MAX          1024
#define NOT_FOUND_AGAIN_S  3600
#define FAILED_AGAIN_S     600
#define THREAD_STACK_BYTES ((size_t)512 << 10)

enum counter { ASKED, FETCHED, NOT_FOUND, FAILED, DROPPED, COUNTERS };

static const char *const counter_names[COUNTERS] = { "debuginfod_asked", "debuginfod_fetched",
	                                             "debuginfod_not_found", "debuginfod_failed",
	                                             "debuginfod_dropped" };

/* A build-id that has been asked for, and when it may be again. */
struct known {
	char build_id[DEBUGINFOD_ID_HEX_SIZE];
	bool waits;   /* for the thread, or for its end */
	bool arrived; /* and nobody has taken it yet */
	int64_t again_s;
};

struct debuginfod {
	char *dir, *url_list;
	const char *urls[URLS_MAX];
	size_t n_urls;
	uint64_t max_bytes, timeout_seconds;
	pthread_t thread;
	bool started;
	atomic_bool stop;

	pthread_mutex_t lock; /* of all below */
	pthread_cond_t wake;
	struct known known[KNOWN_MAX]; /* the oldest is overwritten, but not one that is waiting */
	size_t n_known;                /* ever */
	size_t n_held;                 /* wait, or have arrived */
	uint64_t counters[COUNTERS];
	struct stamp_growth described[COUNTERS];
};

/* --- the thread --------------------------------------------------------------------------------------- */

/* From one server: as debuginfod_fetch(), and -EIO when the file can't be kept. */
static int fetch_from(struct debuginfod *d, const char *url, const char *build_id)
{
	struct debuginfod_fetch fetch = { .url = url,
		                          .build_id = build_id,
		                          .max_bytes = d->max_bytes,
		                          .timeout_seconds = d->timeout_seconds,
		                          .stop = &d->stop };
	char *path;
	int fd = debug_dir_begin(d->dir, &path), err;

	if (fd < 0)
		return -EIO;
	err = debuginfod_fetch(&fetch, fd);
	close(fd);
	if (err)
		unlink(path);
	else if (debug_dir_keep(d->dir, path, build_id))
		err = -EIO;
	free(path);
	return err;
}

/* From the first server that has it. -ENOENT: none has; else the last thing that went wrong. */
static int fetch(struct debuginfod *d, const char *build_id)
{
	int err = -ENOENT, got;
	size_t i;

	for (i = 0; i < d->n_urls && !atomic_load(&d->stop); i++) {
		got = fetch_from(d, d->urls[i], build_id);
		if (!got) {
			debug_dir_trim(d->dir, d->max_bytes, build_id);
			return 0;
		}
		if (got != -ENOENT)
			err = got;
	}
	return err;
}

/* Under the lock. NULL: none waits. */
static struct known *next_waiting(struct debuginfod *d)
{
	size_t i, at;

	for (i = 0; i < KNOWN_MAX; i++) {
		at = (d->n_known + i) % KNOWN_MAX; /* the oldest first */
		if (d->known[at].waits)
			return &d->known[at];
	}
	return NULL;
}

static void note_result(struct debuginfod *d, struct known *k, int err)
{
	k->waits = false;
	k->arrived = !err;
	k->again_s = (int64_t)(monotonic_ns() / 1000000000) +
	             (err == -ENOENT || !err ? NOT_FOUND_AGAIN_S : FAILED_AGAIN_S);
	d->n_held -= err != 0;
	d->counters[!err ? FETCHED : err == -ENOENT ? NOT_FOUND : FAILED]++;
}

static void *run(void *arg)
{
	struct debuginfod *d = arg;
	char build_id[DEBUGINFOD_ID_HEX_SIZE];
	struct known *k;
	int err;

	pthread_mutex_lock(&d->lock);
	while (!atomic_load(&d->stop)) {
		k = next_waiting(d);
		if (!k) {
			pthread_cond_wait(&d->wake, &d->lock);
			continue;
		}
		memcpy(build_id, k->build_id, sizeof(build_id));
		pthread_mutex_unlock(&d->lock);
		err = fetch(d, build_id);
		pthread_mutex_lock(&d->lock);
		note_result(d, k, err); /* it waits, so it has not been overwritten */
	}
	pthread_mutex_unlock(&d->lock);
	return NULL;
}

/* Signals are for the other threads. */
static int start(struct debuginfod *d)
{
	pthread_attr_t attributes;
	sigset_t all, before;
	int err;

	sigfillset(&all);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, THREAD_STACK_BYTES);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&d->thread, &attributes, run, d);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	d->started = !err;
	return -err;
}

/* --- what the profiler calls -------------------------------------------------------------------------- */

static void split_urls(struct debuginfod *d)
{
	char *rest = d->url_list, *url;

	while ((url = strsep(&rest, " ")) && d->n_urls < URLS_MAX)
		if (*url)
			d->urls[d->n_urls++] = url;
}

struct debuginfod *debuginfod_new(const struct debuginfod_opts *opts)
{
	struct debuginfod *d = calloc(1, sizeof(*d));
	int err = -ENOMEM;

	if (!d)
		return NULL;
	pthread_mutex_init(&d->lock, NULL);
	pthread_cond_init(&d->wake, NULL);
	d->max_bytes = opts->max_bytes;
	d->timeout_seconds = opts->timeout_seconds;
	d->dir = strdup(opts->dir);
	d->url_list = strdup(opts->urls);
	if (d->dir && d->url_list) {
		split_urls(d);
		err = debug_dir_make(d->dir);
		err = err ? err : start(d);
	}
	if (!err)
		return d;
	debuginfod_free(d);
	errno = -err;
	return NULL;
}

void debuginfod_free(struct debuginfod *d)
{
	if (!d)
		return;
	if (d->started) {
		pthread_mutex_lock(&d->lock);
		atomic_store(&d->stop, true);
		pthread_cond_signal(&d->wake);
		pthread_mutex_unlock(&d->lock);
		pthread_join(d->thread, NULL);
	}
	pthread_cond_destroy(&d->wake);
	pthread_mutex_destroy(&d->lock);
	free(d->dir);
	free(d->url_list);
	free(d);
}

static bool is_build_id(const char *text)
{
	size_t len = strspn(text, "0123456789abcdef");

	return !text[len] && len > 4 && len % 2 == 0 && len < DEBUGINFOD_ID_HEX_SIZE;
}

static struct known *find(struct debuginfod *d, const char *build_id)
{
	size_t i, n = d->n_known < KNOWN_MAX ? d->n_known : KNOWN_MAX;

	for (i = 0; i < n; i++)
		if (strcmp(d->known[i].build_id, build_id) == 0)
			return &d->known[i];
	return NULL;
}

/* Finds a place that is not needed: there are far more than can be waiting. */
static struct known *add(struct debuginfod *d, const char *build_id)
{
	struct known *k;

	do
		k = &d->known[d->n_known++ % KNOWN_MAX];
	while (k->waits || k->arrived);
	memcpy(k->build_id, build_id, strlen(build_id) + 1);
	return k;
}

void debuginfod_ask(struct debuginfod *d, const char *build_id)
{
	struct known *k;

	if (!d || !is_build_id(build_id))
		return;
	pthread_mutex_lock(&d->lock);
	k = find(d, build_id);
	if (k && (k->waits || k->arrived || (int64_t)(monotonic_ns() / 1000000000) < k->again_s))
		goto out;
	if (d->n_held == DEBUGINFOD_ASKED_MAX) {
		d->counters[DROPPED]++;
		goto out;
	}
	k = k ? k : add(d, build_id);
	k->waits = true;
	d->n_held++;
	d->counters[ASKED]++;
	pthread_cond_signal(&d->wake);
out:
	pthread_mutex_unlock(&d->lock);
}

bool debuginfod_take(struct debuginfod *d, char build_id[DEBUGINFOD_ID_HEX_SIZE])
{
	bool found = false;
	size_t i;

	if (!d)
		return false;
	pthread_mutex_lock(&d->lock);
	for (i = 0; i < KNOWN_MAX && !found; i++) {
		if (!d->known[i].arrived)
			continue;
		d->known[i].arrived = false;
		d->n_held--;
		memcpy(build_id, d->known[i].build_id, DEBUGINFOD_ID_HEX_SIZE);
		found = true;
	}
	pthread_mutex_unlock(&d->lock);
	return found;
}

int debuginfod_describe(struct debuginfod *d, struct stamp *stamp)
{
	uint64_t now[COUNTERS];
	size_t i;
	int err = 0;

	if (!d)
		return 0;
	pthread_mutex_lock(&d->lock);
	memcpy(now, d->counters, sizeof(now));
	pthread_mutex_unlock(&d->lock);
	for (i = 0; i < COUNTERS && !err; i++)
		err = stamp_add_growth(stamp, counter_names[i], &d->described[i], now[i]);
	return err;
}
