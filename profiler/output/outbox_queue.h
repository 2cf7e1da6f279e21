/* The queue of an outbox (outbox.h): its entries in order, and how much room those in memory and the stored ones take. The caller locks. */
#ifndef STALLPROF_PROFILER_OUTBOX_QUEUE_H
#define STALLPROF_PROFILER_OUTBOX_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum outbox_place { OUTBOX_IN_MEMORY, OUTBOX_STORED, OUTBOX_PLACES };

struct outbox_entry {
	struct outbox_entry *next;
	void *item;
	enum outbox_place place;
	uint64_t bytes;
	bool never_stored; /* as that is not possible */
};

struct outbox_room {
	size_t n;
	uint64_t bytes;
};

struct outbox_queue {
	struct outbox_entry *first, **end;
	struct outbox_entry *busy; /* that is being delivered or stored: it stays */
	struct outbox_room held[OUTBOX_PLACES], most[OUTBOX_PLACES];
};

void outbox_queue_init(struct outbox_queue *queue, struct outbox_room memory, struct outbox_room stored);
void outbox_queue_append(struct outbox_queue *queue, struct outbox_entry *entry);

/* The entry, which is in the queue, is the caller's then. */
void outbox_queue_take(struct outbox_queue *queue, struct outbox_entry *entry);

/* The entry is stored from now on, in so many bytes. */
void outbox_queue_set_stored(struct outbox_queue *queue, struct outbox_entry *entry, uint64_t bytes);

/* Takes the oldest entries of a place that are not busy until there is room for so many more, and returns them as a list; one entry has room
 * whatever its size. */
struct outbox_entry *outbox_queue_make_room(struct outbox_queue *queue, enum outbox_place place, size_t more,
                                            uint64_t bytes);

#endif
