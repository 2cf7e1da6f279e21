/*
 * A thread with a bounded queue before it, for work that may take long or hang: writing to disks, talking to servers. Who
 * hands something over never waits for that.
 *
 *     box = outbox_new(&opts)                    no thread yet: it begins with the first item
 *     outbox_put(box, item, bytes, false)        any number of times, by any thread
 *     outbox_put(box, item, bytes, true)         the last one: what waits has one more try
 *     until outbox_has_ended(box)                or until that takes too long:
 *     outbox_stop(box)
 *     outbox_free(box)
 *
 * Items are delivered one after the other, in order. One that cannot be delivered now keeps its place, and is tried again
 * after a delay that doubles up to a maximum and begins anew with the next success. When the queue is full its oldest
 * item goes, as the newest say what is the matter now, and as servers refuse what is too old; the one that is being
 * delivered stays.
 */
#ifndef STALLPROF_PROFILER_OUTBOX_H
#define STALLPROF_PROFILER_OUTBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum outbox_result {
	OUTBOX_DONE, /* delivered, or given up: the item is freed */
	OUTBOX_AGAIN /* not now: the item is as it should be for another try */
};

enum outbox_loss {
	OUTBOX_FULL, /* for others, which are newer */
	OUTBOX_LEFT  /* at the end, or because there is no thread */
};

struct outbox_opts {
	const char *name;            /* the thread's, 15 characters at most */
	size_t max_items, max_bytes; /* of what waits and is delivered; one item has room whatever its size */
	uint64_t retry_ns, retry_max_ns;
	void *ctx;
	/* In the thread, which has all signals blocked. `last`: there will be no other try. */
	enum outbox_result (*deliver)(void *ctx, void *item, bool last);
	/* Frees an item that was not delivered; in any thread. */
	void (*drop)(void *ctx, void *item, enum outbox_loss why);
	/* Makes deliver() come to its end soon; in any thread. NULL: it does so by itself. */
	void (*interrupt)(void *ctx);
	/* The last call, when outbox_has_ended() says so. May be NULL. */
	void (*ended)(void *ctx);
};

struct outbox;

/* NULL: no memory. */
struct outbox *outbox_new(const struct outbox_opts *opts);

/* Takes the item over, which `bytes` of memory hold, and delivers or drops it later or now. After the last one all
 * further ones are dropped. */
void outbox_put(struct outbox *box, void *item, size_t bytes, bool last);

/* As after a last item. */
void outbox_end(struct outbox *box);

/* How many wait or are being delivered. */
size_t outbox_count(struct outbox *box);

/* Whether anything was ever put into it. */
bool outbox_has_begun(struct outbox *box);

/* Whether nothing more will be delivered or dropped: after the last item, or outbox_stop(). */
bool outbox_has_ended(struct outbox *box);

/* Ends delivery soon: what waits is dropped. Does not wait for it. */
void outbox_stop(struct outbox *box);

/* Stops, and waits for the end, as long as one deliver() takes. Takes NULL. */
void outbox_free(struct outbox *box);

/*
 * Instead of that, when deliver() hangs: stops, and leaves the box to its thread, which frees it when it comes to its end,
 * and then calls `gone` with the ctx. False: it has ended already, and nothing was done.
 */
bool outbox_leave(struct outbox *box, void (*gone)(void *ctx));

#endif
