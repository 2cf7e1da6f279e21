/* Outbox: a thread with a bounded queue, for work that may hang. */

#include "profiler/output/outbox.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "profiler/output/outbox_queue.h"
#include "symbolizer/base/clock.h"

#define STACK_BYTES ((size_t)1 << 20)

struct outbox {
	struct outbox_opts opts;
	pthread_t thread;
	pthread_mutex_t lock; /* of all below */
	pthread_cond_t wake;
	struct outbox_queue queue;
	size_t ahead; /* times that one behind the first was tried in vain, while that is the first */
	bool started; /* the thread, which is to be joined */
	bool ending, stopped, ended;
	void (*gone)(void *ctx, struct outbox *box); /* the thread is the owner */
};

struct outbox *outbox_new(const struct outbox_opts *opts)
{
	struct outbox *box = calloc(1, sizeof(*box));
	pthread_condattr_t clock;

	if (!box)
		return NULL;
	box->opts = *opts;
	outbox_queue_init(&box->queue, (struct outbox_room){ opts->max_items, opts->max_bytes },
	                  (struct outbox_room){ opts->max_stored, opts->max_stored_bytes });
	pthread_mutex_init(&box->lock, NULL);
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&box->wake, &clock);
	pthread_condattr_destroy(&clock);
	return box;
}

/* Without the lock. */
static void drop(struct outbox *box, struct outbox_entry *list, enum outbox_loss why)
{
	while (list) {
		struct outbox_entry *entry = list;

		list = entry->next;
		box->opts.drop(box->opts.ctx, entry->item, why);
		free(entry);
	}
}

/* --- the thread ------------------------------------------------------------------------------------------ */

/* Called under the lock, which is released meanwhile. */
static bool store(struct outbox *box, struct outbox_entry *entry)
{
	struct outbox_entry *gone = NULL;
	uint64_t bytes;

	box->queue.busy = entry;
	pthread_mutex_unlock(&box->lock);
	bytes = box->opts.store(box->opts.ctx, entry->item);
	pthread_mutex_lock(&box->lock);
	entry->never_stored = bytes == OUTBOX_NEVER;
	if (bytes && !entry->never_stored) {
		gone = outbox_queue_make_room(&box->queue, OUTBOX_STORED, 1, bytes);
		outbox_queue_set_stored(&box->queue, entry, bytes);
	}
	if (gone) {
		pthread_mutex_unlock(&box->lock);
		drop(box, gone, OUTBOX_FULL);
		pthread_mutex_lock(&box->lock);
	}
	box->queue.busy = NULL;
	return bytes;
}

/* All that is in memory, until one can't be stored now. */
static void store_waiting(struct outbox *box)
{
	struct outbox_entry *entry = box->opts.store ? box->queue.first : NULL;

	for (; entry && !box->stopped; entry = entry->next)
		if (entry->place == OUTBOX_IN_MEMORY && !entry->never_stored && !store(box, entry))
			break;
}

/* Waits for the delay, or until the box ends or stops; what comes meanwhile is stored, too. */
static void wait_again(struct outbox *box, uint64_t delay_ns)
{
	uint64_t until_ns = monotonic_ns() + delay_ns;
	struct timespec until = { .tv_sec = until_ns / 1000000000, .tv_nsec = until_ns % 1000000000 };

	for (;;) {
		store_waiting(box);
		if (box->ending || box->stopped || monotonic_ns() >= until_ns)
			break;
		pthread_cond_timedwait(&box->wake, &box->lock, &until);
	}
}

/* Of what was put as stored. Called under the lock, which true says was released meanwhile. */
static bool trim(struct outbox *box)
{
	struct outbox_entry *gone = outbox_queue_make_room(&box->queue, OUTBOX_STORED, 0, 0);

	if (!gone)
		return false;
	pthread_mutex_unlock(&box->lock);
	drop(box, gone, OUTBOX_FULL);
	pthread_mutex_lock(&box->lock);
	return true;
}

/* Called under the lock, which is released meanwhile. */
static enum outbox_result deliver(struct outbox *box, struct outbox_entry *entry, bool ahead, bool last)
{
	enum outbox_result result;

	box->queue.busy = entry;
	pthread_mutex_unlock(&box->lock);
	result = ahead ? box->opts.ahead(box->opts.ctx, entry->item)
	               : box->opts.deliver(box->opts.ctx, entry->item, last);
	pthread_mutex_lock(&box->lock);
	box->queue.busy = NULL;
	if (result == OUTBOX_DONE) {
		outbox_queue_take(&box->queue, entry);
		free(entry);
	}
	return result;
}

/* The one behind the first, at each further try the one behind that, and after OUTBOX_AHEAD of them from the beginning. NULL: none. */
static struct outbox_entry *choose_ahead(struct outbox *box)
{
	struct outbox_entry *entry = box->queue.first->next;

	if (!entry)
		return NULL;
	for (size_t i = box->ahead++ % OUTBOX_AHEAD; i && entry->next; i--)
		entry = entry->next;
	return entry;
}

/* Delivers the first entry, and one behind it if that may help. Called under the lock, which is released meanwhile. */
static enum outbox_result deliver_first(struct outbox *box, bool last)
{
	enum outbox_result result = deliver(box, box->queue.first, false, last);
	struct outbox_entry *ahead;

	if (result == OUTBOX_DONE)
		box->ahead = 0;
	if (result != OUTBOX_NEXT || last || box->stopped)
		return result;
	ahead = choose_ahead(box);
	if (!ahead || deliver(box, ahead, true, false) != OUTBOX_DONE)
		return result;
	box->ahead = 0;
	/* The first may have been dropped meanwhile. */
	return box->queue.first && !box->stopped ? deliver(box, box->queue.first, false, false) : OUTBOX_DONE;
}

/* Called under the lock. At the last try the first item that is not delivered ends it. */
static void deliver_all(struct outbox *box)
{
	uint64_t delay_ns = box->opts.retry_ns;

	while (!box->stopped && (box->queue.first || !box->ending)) {
		bool last = box->ending;

		if (trim(box))
			continue;
		if (!box->queue.first) {
			pthread_cond_wait(&box->wake, &box->lock);
		} else if (deliver_first(box, last) == OUTBOX_DONE) {
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

/* One after the other, as that may take long: what still waits is counted. Called under the lock, which is released meanwhile. */
static void drop_left(struct outbox *box)
{
	struct outbox_entry *entry;

	while ((entry = box->queue.first)) {
		box->queue.busy = entry;
		pthread_mutex_unlock(&box->lock);
		box->opts.drop(box->opts.ctx, entry->item, OUTBOX_LEFT);
		pthread_mutex_lock(&box->lock);
		box->queue.busy = NULL;
		outbox_queue_take(&box->queue, entry);
		free(entry);
	}
}

static void *run(void *arg)
{
	struct outbox *box = arg;
	void (*gone)(void *ctx, struct outbox *box);

	pthread_mutex_lock(&box->lock);
	deliver_all(box);
	drop_left(box);
	box->ended = true;
	gone = box->gone;
	if (gone)
		box->started = false; /* nobody is to join it */
	pthread_mutex_unlock(&box->lock);
	if (gone)
		gone(box->opts.ctx, box);
	else if (box->opts.ended)
		box->opts.ended(box->opts.ctx);
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

static void put(struct outbox *box, void *item, enum outbox_place place, uint64_t bytes, bool last)
{
	struct outbox_entry *entry = malloc(sizeof(*entry)), *gone = NULL;
	bool taken;

	pthread_mutex_lock(&box->lock);
	taken = entry && !box->ending && !box->stopped && (box->started || start(box));
	if (taken) {
		*entry = (struct outbox_entry){ .item = item, .place = place, .bytes = bytes };
		if (place == OUTBOX_IN_MEMORY)
			gone = outbox_queue_make_room(&box->queue, place, 1, bytes);
		outbox_queue_append(&box->queue, entry);
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

void outbox_put(struct outbox *box, void *item, size_t bytes, bool last)
{
	put(box, item, OUTBOX_IN_MEMORY, bytes, last);
}

void outbox_put_stored(struct outbox *box, void *item, uint64_t bytes)
{
	put(box, item, OUTBOX_STORED, bytes, false);
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
	n = box->queue.held[OUTBOX_IN_MEMORY].n + box->queue.held[OUTBOX_STORED].n;
	pthread_mutex_unlock(&box->lock);
	return n;
}

size_t outbox_count_in_memory(struct outbox *box)
{
	size_t n;

	pthread_mutex_lock(&box->lock);
	n = box->queue.held[OUTBOX_IN_MEMORY].n;
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

bool outbox_stop_within(struct outbox *box, uint64_t ns)
{
	const struct timespec step = { .tv_nsec = 2000000 };
	uint64_t until = monotonic_ns() + ns;
	size_t left, before = 0;

	outbox_stop(box);
	while (!outbox_has_ended(box) && monotonic_ns() < until) {
		nanosleep(&step, NULL);
		left = outbox_count(box);
		if (left != before)
			until = monotonic_ns() + ns;
		before = left;
	}
	return outbox_has_ended(box);
}

void outbox_free(struct outbox *box)
{
	if (!box)
		return;
	outbox_stop(box);
	if (box->started)
		pthread_join(box->thread, NULL);
	pthread_cond_destroy(&box->wake);
	pthread_mutex_destroy(&box->lock);
	free(box);
}

bool outbox_leave(struct outbox *box, void (*gone)(void *ctx, struct outbox *box))
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
