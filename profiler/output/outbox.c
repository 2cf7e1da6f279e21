/* Outbox: a thread with a bounded queue, for work that may hang. */

#include "profiler/output/outbox.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "symbolizer/base/clock.h"

#define STACK_BYTES ((size_t)1 << 20)

enum place { IN_MEMORY, STORED, PLACES };

struct entry {
	struct entry *next;
	void *item;
	enum place place;
	uint64_t bytes;
	bool never_stored; /* as that is not possible */
};

struct outbox {
	struct outbox_opts opts;
	pthread_t thread;
	pthread_mutex_t lock; /* of all below */
	pthread_cond_t wake;
	struct entry *first, **end;
	struct {
		size_t n;
		uint64_t bytes;
	} held[PLACES];
	bool started;       /* the thread, which is to be joined */
	struct entry *busy; /* that is being delivered or stored: it stays */
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
	box->end = &box->first;
	pthread_mutex_init(&box->lock, NULL);
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&box->wake, &clock);
	pthread_condattr_destroy(&clock);
	return box;
}

/* --- the queue; each under the lock ---------------------------------------------------------------------- */

static void count(struct outbox *box, const struct entry *entry)
{
	box->held[entry->place].n++;
	box->held[entry->place].bytes += entry->bytes;
}

static void discount(struct outbox *box, const struct entry *entry)
{
	box->held[entry->place].n--;
	box->held[entry->place].bytes -= entry->bytes;
}

static void append(struct outbox *box, struct entry *entry)
{
	*box->end = entry;
	box->end = &entry->next;
	count(box, entry);
}

static struct entry *take(struct outbox *box, struct entry **at)
{
	struct entry *entry = *at;

	*at = entry->next;
	if (box->end == &entry->next)
		box->end = at;
	discount(box, entry);
	entry->next = NULL;
	return entry;
}

/* For so many more. */
static bool has_room(const struct outbox *box, enum place place, size_t more, uint64_t bytes)
{
	size_t n = box->held[place].n + more;
	uint64_t sum = box->held[place].bytes + bytes;

	if (n <= 1)
		return true;
	return place == STORED ? n <= box->opts.max_stored && sum <= box->opts.max_stored_bytes
	                       : n <= box->opts.max_items && sum <= box->opts.max_bytes;
}

/* Removes the oldest entries of a place to make room for so many more, and returns them as a list. */
static struct entry *make_room(struct outbox *box, enum place place, size_t more, uint64_t bytes)
{
	struct entry *gone = NULL, **end = &gone, **at = &box->first;

	while (*at && !has_room(box, place, more, bytes)) {
		if (*at == box->busy || (*at)->place != place) {
			at = &(*at)->next;
			continue;
		}
		*end = take(box, at);
		end = &(*end)->next;
	}
	return gone;
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

/* Called under the lock, which is released meanwhile. */
static bool store(struct outbox *box, struct entry *entry)
{
	struct entry *gone = NULL;
	uint64_t bytes;

	box->busy = entry;
	pthread_mutex_unlock(&box->lock);
	bytes = box->opts.store(box->opts.ctx, entry->item);
	pthread_mutex_lock(&box->lock);
	entry->never_stored = bytes == OUTBOX_NEVER;
	if (bytes && !entry->never_stored) {
		gone = make_room(box, STORED, 1, bytes);
		discount(box, entry);
		entry->place = STORED;
		entry->bytes = bytes;
		count(box, entry);
	}
	if (gone) {
		pthread_mutex_unlock(&box->lock);
		drop(box, gone, OUTBOX_FULL);
		pthread_mutex_lock(&box->lock);
	}
	box->busy = NULL;
	return bytes;
}

/* All that is in memory, until one can't be stored now. */
static void store_waiting(struct outbox *box)
{
	struct entry *entry = box->opts.store ? box->first : NULL;

	for (; entry && !box->stopped; entry = entry->next)
		if (entry->place == IN_MEMORY && !entry->never_stored && !store(box, entry))
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
	struct entry *gone = make_room(box, STORED, 0, 0);

	if (!gone)
		return false;
	pthread_mutex_unlock(&box->lock);
	drop(box, gone, OUTBOX_FULL);
	pthread_mutex_lock(&box->lock);
	return true;
}

/* Those before it may have been dropped meanwhile. */
static void remove_entry(struct outbox *box, struct entry *entry)
{
	struct entry **at = &box->first;

	while (*at != entry)
		at = &(*at)->next;
	free(take(box, at));
}

/* Called under the lock, which is released meanwhile. */
static enum outbox_result deliver(struct outbox *box, struct entry *entry, bool ahead, bool last)
{
	enum outbox_result result;

	box->busy = entry;
	pthread_mutex_unlock(&box->lock);
	result = ahead ? box->opts.ahead(box->opts.ctx, entry->item)
	               : box->opts.deliver(box->opts.ctx, entry->item, last);
	pthread_mutex_lock(&box->lock);
	box->busy = NULL;
	if (result == OUTBOX_DONE)
		remove_entry(box, entry);
	return result;
}

/* Delivers the first entry, and the next one if that may help. Called under the lock, which is released meanwhile. */
static enum outbox_result deliver_first(struct outbox *box, bool last)
{
	enum outbox_result result = deliver(box, box->first, false, last);

	if (result != OUTBOX_NEXT || last || box->stopped || !box->first->next ||
	    deliver(box, box->first->next, true, false) != OUTBOX_DONE)
		return result;
	/* The first may have been dropped meanwhile. */
	return box->first && !box->stopped ? deliver(box, box->first, false, false) : OUTBOX_DONE;
}

/* Called under the lock. At the last try the first item that is not delivered ends it. */
static void deliver_all(struct outbox *box)
{
	uint64_t delay_ns = box->opts.retry_ns;

	while (!box->stopped && (box->first || !box->ending)) {
		bool last = box->ending;

		if (trim(box))
			continue;
		if (!box->first) {
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
	struct entry *entry;

	while ((entry = box->first)) {
		box->busy = entry;
		pthread_mutex_unlock(&box->lock);
		box->opts.drop(box->opts.ctx, entry->item, OUTBOX_LEFT);
		pthread_mutex_lock(&box->lock);
		box->busy = NULL;
		free(take(box, &box->first));
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

static void put(struct outbox *box, void *item, enum place place, uint64_t bytes, bool last)
{
	struct entry *entry = malloc(sizeof(*entry)), *gone = NULL;
	bool taken;

	pthread_mutex_lock(&box->lock);
	taken = entry && !box->ending && !box->stopped && (box->started || start(box));
	if (taken) {
		*entry = (struct entry){ .item = item, .place = place, .bytes = bytes };
		if (place == IN_MEMORY)
			gone = make_room(box, place, 1, bytes);
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

void outbox_put(struct outbox *box, void *item, size_t bytes, bool last)
{
	put(box, item, IN_MEMORY, bytes, last);
}

void outbox_put_stored(struct outbox *box, void *item, uint64_t bytes)
{
	put(box, item, STORED, bytes, false);
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
	n = box->held[IN_MEMORY].n + box->held[STORED].n;
	pthread_mutex_unlock(&box->lock);
	return n;
}

size_t outbox_count_in_memory(struct outbox *box)
{
	size_t n;

	pthread_mutex_lock(&box->lock);
	n = box->held[IN_MEMORY].n;
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
