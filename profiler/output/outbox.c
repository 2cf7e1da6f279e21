/* Outbox: a thread with a bounded queue, for work that may hang. */

#include "profiler/output/outbox.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "symbolizer/base/clock.h"

#define STACK_BYTES ((size_t)1 << 20)

struct entry {
	struct entry *next;
	void *item;
	size_t bytes;
};

struct outbox {
	struct outbox_opts opts;
	pthread_t thread;
	pthread_mutex_t lock; /* of all below */
	pthread_cond_t wake;
	struct entry *first, **end;
	size_t n, bytes;
	bool started; /* the thread, which is to be joined */
	bool busy;    /* with the first one */
	bool ending, stopped, ended;
	void (*gone)(void *ctx); /* the thread is the owner */
};

struct outbox *outbox_new(const struct outbox_opts *opts)
{
	struct outbox *box = calloc(1, sizeof(*box));
	pthread_condattr_t clock;

	if (!box)
		return NULL;
	box->opts = *opts;
	box->end = &box->first;
	pthread_mutex_init(&box->lock, NULL);
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&box->wake, &clock);
	pthread_condattr_destroy(&clock);
	return box;
}

/* --- the queue; each under the lock ---------------------------------------------------------------------- */

static void append(struct outbox *box, struct entry *entry)
{
	*box->end = entry;
	box->end = &entry->next;
	box->n++;
	box->bytes += entry->bytes;
}

static struct entry *take(struct outbox *box, struct entry **at)
{
	struct entry *entry = *at;

	*at = entry->next;
	if (box->end == &entry->next)
		box->end = at;
	box->n--;
	box->bytes -= entry->bytes;
	entry->next = NULL;
	return entry;
}

/* Removes the oldest entries to make room for one of so many bytes, and returns them as a list. */
static struct entry *make_room(struct outbox *box, size_t bytes)
{
	struct entry *gone = NULL, **end = &gone;

	while (box->n && (box->n >= box->opts.max_items || box->bytes + bytes > box->opts.max_bytes)) {
		struct entry **oldest = box->busy ? &box->first->next : &box->first;

		if (!*oldest)
			break;
		*end = take(box, oldest);
		end = &(*end)->next;
	}
	return gone;
}

static struct entry *take_all(struct outbox *box)
{
	struct entry *all = box->first;

	box->first = NULL;
	box->end = &box->first;
	box->n = box->bytes = 0;
	return all;
}

/* Without the lock. */
static void drop(struct outbox *box, struct entry *list, enum outbox_loss why)
{
	while (list) {
		struct entry *entry = list;

		list = entry->next;
		box->opts.drop(box->opts.ctx, entry->item, why);
		free(entry);
	}
}

/* --- the thread ------------------------------------------------------------------------------------------ */

/* Waits for the delay, or until the box ends or stops. */
static void wait_again(struct outbox *box, uint64_t delay_ns)
{
	uint64_t until_ns = monotonic_ns() + delay_ns;
	struct timespec until = { .tv_sec = until_ns / 1000000000, .tv_nsec = until_ns % 1000000000 };

	while (!box->ending && !box->stopped && monotonic_ns() < until_ns)
		pthread_cond_timedwait(&box->wake, &box->lock, &until);
}

/* Delivers the first entry. Called under the lock, which is released meanwhile. */
static enum outbox_result deliver(struct outbox *box, bool last)
{
	enum outbox_result result;
	void *item = box->first->item;

	box->busy = true;
	pthread_mutex_unlock(&box->lock);
	result = box->opts.deliver(box->opts.ctx, item, last);
	pthread_mutex_lock(&box->lock);
	box->busy = false;
	if (result == OUTBOX_DONE)
		free(take(box, &box->first));
	return result;
}

/* Called under the lock. At the last try the first item that is not delivered ends it. */
static void deliver_all(struct outbox *box)
{
	uint64_t delay_ns = box->opts.retry_ns;

	while (!box->stopped && (box->first || !box->ending)) {
		bool last = box->ending;

		if (!box->first) {
			pthread_cond_wait(&box->wake, &box->lock);
		} else if (deliver(box, last) == OUTBOX_DONE) {
			delay_ns = box->opts.retry_ns;
		} else if (last) {
			break;
		} else {
			wait_again(box, delay_ns);
			delay_ns =
			        2 * delay_ns < box->opts.retry_max_ns ? 2 * delay_ns : box->opts.retry_max_ns;
		}
	}
	box->ending = true;
}

static void destroy(struct outbox *box)
{
	pthread_cond_destroy(&box->wake);
	pthread_mutex_destroy(&box->lock);
	free(box);
}

static void *run(void *arg)
{
	struct outbox *box = arg;
	void (*gone)(void *ctx), *ctx = box->opts.ctx;
	struct entry *left;

	pthread_mutex_lock(&box->lock);
	deliver_all(box);
	left = take_all(box);
	pthread_mutex_unlock(&box->lock);
	drop(box, left, OUTBOX_LEFT);
	pthread_mutex_lock(&box->lock);
	box->ended = true;
	gone = box->gone;
	pthread_mutex_unlock(&box->lock);
	if (gone) {
		destroy(box);
		gone(ctx);
	} else if (box->opts.ended) {
		box->opts.ended(ctx);
	}
	return NULL;
}

/* Signals are for the other threads. */
static bool start(struct outbox *box)
{
	pthread_attr_t attributes;
	sigset_t all, before;

	sigfillset(&all);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	box->started = !pthread_create(&box->thread, &attributes, run, box);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	if (box->started)
		pthread_setname_np(box->thread, box->opts.name);
	return box->started;
}

/* --- who hands over -------------------------------------------------------------------------------------- */

void outbox_put(struct outbox *box, void *item, size_t bytes, bool last)
{
	struct entry *entry = malloc(sizeof(*entry)), *gone = NULL;
	bool taken;

	pthread_mutex_lock(&box->lock);
	taken = entry && !box->ending && !box->stopped && (box->started || start(box));
	if (taken) {
		*entry = (struct entry){ .item = item, .bytes = bytes };
		gone = make_room(box, bytes);
		append(box, entry);
	}
	box->ending |= last;
	pthread_cond_signal(&box->wake);
	pthread_mutex_unlock(&box->lock);
	drop(box, gone, OUTBOX_FULL);
	if (taken)
		return;
	free(entry);
	box->opts.drop(box->opts.ctx, item, OUTBOX_LEFT);
	if (last && !box->started && box->opts.ended)
		box->opts.ended(box->opts.ctx);
}

void outbox_end(struct outbox *box)
{
	bool started;

	pthread_mutex_lock(&box->lock);
	box->ending = true;
	started = box->started;
	pthread_cond_signal(&box->wake);
	pthread_mutex_unlock(&box->lock);
	if (!started && box->opts.ended)
		box->opts.ended(box->opts.ctx);
}

size_t outbox_count(struct outbox *box)
{
	size_t n;

	pthread_mutex_lock(&box->lock);
	n = box->n;
	pthread_mutex_unlock(&box->lock);
	return n;
}

bool outbox_has_begun(struct outbox *box)
{
	bool begun;

	pthread_mutex_lock(&box->lock);
	begun = box->started;
	pthread_mutex_unlock(&box->lock);
	return begun;
}

bool outbox_has_ended(struct outbox *box)
{
	bool ended;

	pthread_mutex_lock(&box->lock);
	ended = box->started ? box->ended : box->ending || box->stopped;
	pthread_mutex_unlock(&box->lock);
	return ended;
}

void outbox_stop(struct outbox *box)
{
	bool busy;

	pthread_mutex_lock(&box->lock);
	box->stopped = true;
	busy = box->started && !box->ended;
	pthread_cond_signal(&box->wake);
	pthread_mutex_unlock(&box->lock);
	if (busy && box->opts.interrupt)
		box->opts.interrupt(box->opts.ctx);
}

void outbox_free(struct outbox *box)
{
	if (!box)
		return;
	outbox_stop(box);
	if (box->started)
		pthread_join(box->thread, NULL);
	destroy(box);
}

bool outbox_leave(struct outbox *box, void (*gone)(void *ctx))
{
	bool left;

	pthread_mutex_lock(&box->lock);
	left = box->started && !box->ended;
	if (left) {
		box->stopped = true;
		box->gone = gone;
		pthread_detach(box->thread);
	}
	pthread_cond_signal(&box->wake);
	pthread_mutex_unlock(&box->lock);
	return left;
}
