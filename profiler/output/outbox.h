/*
 * A thread with a bounded queue, for work that may take long or hang: writing to disks, talking to servers. The
 * caller of outbox_put() never waits for that work.
 *
 *     box = outbox_new(&opts)                    no thread yet: it begins with the first item
 *     outbox_put(box, item, bytes, false)        any number of times, by any thread
 *     outbox_put(box, item, bytes, true)         the last one: what waits has one more try
 *     until outbox_has_ended(box)                or until that takes too long:
 *     outbox_stop(box)
 *     outbox_free(box)
 *
 * Items are delivered one after the other, in order. One that cannot be delivered now keeps its place, and is tried
 * again after a delay that doubles up to a maximum, and is reset by the next success. When the queue is full its
 * oldest item is dropped, as the newest tell most about the present, and as servers refuse what is too old; the
 * item that is being delivered stays.
 *
 * One item that can never be delivered would hold up all others. So deliver() may have one behind it tried, once,
 * ahead of its turn; if that is delivered, the first has another try at once, else both wait. Which one: the second, and
 * if that was in vain, at the next try the third, and so on, up to OUTBOX_AHEAD, as they may be like the first.
 *
 * Items that have to wait may be stored elsewhere than in memory: once one could not be delivered, all that wait, and
 * those that come meanwhile. They keep their places; what is stored and what is in memory has bounds of its own.
 */
#ifndef STALLPROF_PROFILER_OUTBOX_H
#define STALLPROF_PROFILER_OUTBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum outbox_result {
	OUTBOX_DONE,  /* delivered, or given up: deliver() has freed the item */
	OUTBOX_AGAIN, /* not now: the item is ready for another try */
	OUTBOX_NEXT   /* the same, and try one behind it ahead of it */
};

#define OUTBOX_AHEAD 8

enum outbox_loss {
	OUTBOX_FULL, /* to make room for newer ones */
	OUTBOX_LEFT  /* still queued at the end, or no thread could be started */
};

#define OUTBOX_NEVER UINT64_MAX

struct outbox_opts {
	const char *name;            /* the thread's, 15 characters at most */
	size_t max_items, max_bytes; /* of what waits and is delivered; one item has room whatever its size */
	size_t max_stored;
	uint64_t max_stored_bytes;
	uint64_t retry_ns, retry_max_ns;
	void *ctx;
	/* Called in the thread, which has all signals blocked. `last`: there will be no other try. */
	enum outbox_result (*deliver)(void *ctx, void *item, bool last);
	/* The same, ahead of its turn, after OUTBOX_NEXT: OUTBOX_DONE or OUTBOX_AGAIN. NULL: deliver() does not return that. */
	enum outbox_result (*ahead)(void *ctx, void *item);
	/* Called in the thread, for an item that has to wait: stores it, and frees its memory. How many bytes are
	 * stored; 0: that cannot be done now, it stays in memory, and so do those behind it. Tried again after each try to
	 * deliver, and with each new item. OUTBOX_NEVER: it alone stays in memory. NULL: all do. */
	uint64_t (*store)(void *ctx, void *item);
	/* Frees an item that was not delivered, stored or not; in any thread. */
	void (*drop)(void *ctx, void *item, enum outbox_loss why);
	/* Makes deliver() return soon; in any thread. NULL: it does so by itself. */
	void (*interrupt)(void *ctx);
	/* The last call, when outbox_has_ended() says so. May be NULL. */
	void (*ended)(void *ctx);
};

struct outbox;

/* NULL: no memory. */
struct outbox *outbox_new(const struct outbox_opts *opts);

/* Takes over the item, which has `bytes` of memory, and delivers it later, or drops it later or at once. After the
 * last one all further ones are dropped. */
void outbox_put(struct outbox *box, void *item, size_t bytes, bool last);

/* The same with an item that is stored already, in so many bytes. When that is more than there is room for, the thread drops the
 * oldest: to do so may take long. */
void outbox_put_stored(struct outbox *box, void *item, uint64_t bytes);

/* Like a last outbox_put(), but without an item. */
void outbox_end(struct outbox *box);

/* How many wait or are being delivered; how many of them are not stored. */
size_t outbox_count(struct outbox *box);
size_t outbox_count_in_memory(struct outbox *box);

/* Whether anything was ever put into it. */
bool outbox_has_begun(struct outbox *box);

/* Whether nothing more will be delivered or dropped: after the last item, or outbox_stop(). */
bool outbox_has_ended(struct outbox *box);

/* Ends delivery soon: what waits is dropped. Does not wait for it. */
void outbox_stop(struct outbox *box);

/* Stops, and waits for the end as long as items go, each within `ns`. Whether it has ended. */
bool outbox_stop_within(struct outbox *box, uint64_t ns);

/* Stops, and waits for the end, as long as one deliver() takes. Takes NULL. */
void outbox_free(struct outbox *box);

/*
 * Instead of outbox_free(), when deliver() hangs: stops, and leaves the box to its thread, which at its end calls `gone` with the
 * ctx and the box, to be freed then or later. False: the thread has ended already, or was never started, and nothing
 * was done.
 */
bool outbox_leave(struct outbox *box, void (*gone)(void *ctx, struct outbox *box));

#endif
