/* A queue and a thread for each file system that has work. */

#include "profiler/session/file_lanes.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#define STACK_BYTES ((size_t)256 << 10)

struct entry {
	struct entry *next;
	void *item;
};

struct lane {
	struct file_lanes *lanes;
	bool runs; /* it has a thread: else it is free */
	uint32_t dev;
	struct entry *first, **end;
	size_t waiting;
};

struct file_lanes {
	struct file_lanes_opts opts;
	pthread_attr_t attributes;
	pthread_mutex_t lock; /* of all below */
	pthread_cond_t one_less;
	size_t running;
	struct lane lane[FILE_LANES_MAX];
};

struct file_lanes *file_lanes_new(const struct file_lanes_opts *opts)
{
	struct file_lanes *lanes = calloc(1, sizeof(*lanes));

	if (!lanes)
		return NULL;
	lanes->opts = *opts;
	pthread_attr_init(&lanes->attributes);
	pthread_attr_setdetachstate(&lanes->attributes, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&lanes->attributes, STACK_BYTES);
	pthread_mutex_init(&lanes->lock, NULL);
	pthread_cond_init(&lanes->one_less, NULL);
	return lanes;
}

void file_lanes_free(struct file_lanes *lanes)
{
	if (!lanes)
		return;
	pthread_mutex_lock(&lanes->lock);
	while (lanes->running)
		pthread_cond_wait(&lanes->one_less, &lanes->lock);
	pthread_mutex_unlock(&lanes->lock);
	pthread_cond_destroy(&lanes->one_less);
	pthread_mutex_destroy(&lanes->lock);
	pthread_attr_destroy(&lanes->attributes);
	free(lanes);
}

/* --- each under the lock -------------------------------------------------------------------------------- */

/* The lane of the file system, or one that is free; NULL: all are taken. */
static struct lane *find_lane(struct file_lanes *lanes, uint32_t dev)
{
	struct lane *found = NULL;

	for (size_t i = 0; i < lanes->opts.lanes_max && i < FILE_LANES_MAX; i++) {
		struct lane *lane = &lanes->lane[i];

		if (lane->runs && lane->dev == dev)
			return lane;
		if (!lane->runs && !found)
			found = lane;
	}
	return found;
}

static void end_lane(struct lane *lane)
{
	lane->runs = false;
	lane->lanes->running--;
	pthread_cond_signal(&lane->lanes->one_less);
}

static struct entry *take(struct lane *lane)
{
	struct entry *entry = lane->first;

	if (!entry)
		return NULL;
	lane->first = entry->next;
	if (!lane->first)
		lane->end = &lane->first;
	lane->waiting--;
	return entry;
}

/* --- the threads ---------------------------------------------------------------------------------------- */

static void *run(void *ctx)
{
	struct lane *lane = ctx;
	struct file_lanes *lanes = lane->lanes;
	struct entry *entry;

	if (lanes->opts.begin)
		lanes->opts.begin();
	pthread_mutex_lock(&lanes->lock);
	while ((entry = take(lane))) {
		pthread_mutex_unlock(&lanes->lock);
		lanes->opts.work(lanes->opts.ctx, entry->item);
		free(entry);
		pthread_mutex_lock(&lanes->lock);
	}
	end_lane(lane);
	pthread_mutex_unlock(&lanes->lock);
	return NULL;
}

/* With the lock. Signals are for the main thread. */
static bool begin_lane(struct file_lanes *lanes, struct lane *lane, uint32_t dev)
{
	sigset_t all, before;
	pthread_t thread;

	*lane = (struct lane){ .lanes = lanes, .runs = true, .dev = dev, .end = &lane->first };
	lanes->running++;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (pthread_create(&thread, &lanes->attributes, run, lane))
		end_lane(lane);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return lane->runs;
}

static bool append(struct file_lanes *lanes, uint32_t dev, struct entry *entry)
{
	struct lane *lane = find_lane(lanes, dev);

	if (!lane || (lane->runs && lane->waiting >= lanes->opts.waiting_max) ||
	    (!lane->runs && !begin_lane(lanes, lane, dev)))
		return false;
	*lane->end = entry;
	lane->end = &entry->next;
	lane->waiting++;
	return true;
}

bool file_lanes_put(struct file_lanes *lanes, uint32_t dev, void *item)
{
	struct entry *entry = calloc(1, sizeof(*entry));
	bool done = false;

	if (!entry)
		return false;
	entry->item = item;
	pthread_mutex_lock(&lanes->lock);
	done = append(lanes, dev, entry);
	pthread_mutex_unlock(&lanes->lock);
	if (!done)
		free(entry);
	return done;
}
