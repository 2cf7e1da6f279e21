/* A list of entries, and sums of what they take. */

#include "profiler/output/outbox_queue.h"

void outbox_queue_init(struct outbox_queue *queue, struct outbox_room memory, struct outbox_room stored)
{
	*queue = (struct outbox_queue){ .most = { [OUTBOX_IN_MEMORY] = memory, [OUTBOX_STORED] = stored } };
	queue->end = &queue->first;
}

static void count(struct outbox_queue *queue, const struct outbox_entry *entry)
{
	queue->held[entry->place].n++;
	queue->held[entry->place].bytes += entry->bytes;
}

static void discount(struct outbox_queue *queue, const struct outbox_entry *entry)
{
	queue->held[entry->place].n--;
	queue->held[entry->place].bytes -= entry->bytes;
}

void outbox_queue_append(struct outbox_queue *queue, struct outbox_entry *entry)
{
	*queue->end = entry;
	queue->end = &entry->next;
	count(queue, entry);
}

static struct outbox_entry *take_at(struct outbox_queue *queue, struct outbox_entry **at)
{
	struct outbox_entry *entry = *at;

	*at = entry->next;
	if (queue->end == &entry->next)
		queue->end = at;
	discount(queue, entry);
	entry->next = NULL;
	return entry;
}

void outbox_queue_take(struct outbox_queue *queue, struct outbox_entry *entry)
{
	struct outbox_entry **at = &queue->first;

	while (*at != entry)
		at = &(*at)->next;
	take_at(queue, at);
}

void outbox_queue_set_stored(struct outbox_queue *queue, struct outbox_entry *entry, uint64_t bytes)
{
	discount(queue, entry);
	entry->place = OUTBOX_STORED;
	entry->bytes = bytes;
	count(queue, entry);
}

static bool has_room(const struct outbox_queue *queue, enum outbox_place place, size_t more, uint64_t bytes)
{
	size_t n = queue->held[place].n + more;

	return n <= 1 ||
	       (n <= queue->most[place].n && queue->held[place].bytes + bytes <= queue->most[place].bytes);
}

struct outbox_entry *outbox_queue_make_room(struct outbox_queue *queue, enum outbox_place place, size_t more,
                                            uint64_t bytes)
{
	struct outbox_entry *gone = NULL, **end = &gone, **at = &queue->first;

	while (*at && !has_room(queue, place, more, bytes)) {
		if (*at == queue->busy || (*at)->place != place) {
			at = &(*at)->next;
			continue;
		}
		*end = take_at(queue, at);
		end = &(*end)->next;
	}
	return gone;
}
