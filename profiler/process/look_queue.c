/* Queue of processes to look at: a heap by due time, with a rest after each look. */

#include "profiler/process/look_queue.h"

#include <errno.h>
#include <stdlib.h>
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#define NOT_QUEUED SIZE_MAX

/* A process that is queued, for a look or to be forgotten after its rest, or that is being looked at. */
struct entry {
	uint32_t pid;
	bool asked, first;
	uint64_t mapped_ns, due_ns, rests_until_ns;
	size_t at; /* in the heap */
	UT_hash_handle hh;
};

struct look_queue {
	struct entry *by_pid;
	struct entry **heap; /* by due_ns, the first is the least */
	size_t n, allocated;
};

struct look_queue *look_queue_new(void)
{
	return calloc(1, sizeof(struct look_queue));
}

void look_queue_free(struct look_queue *queue)
{
	struct entry *entry, *next;

	if (!queue)
		return;
	HASH_ITER (hh, queue->by_pid, entry, next) {
		HASH_DEL(queue->by_pid, entry);
		free(entry);
	}
	free(queue->heap);
	free(queue);
}

/* --- the heap ------------------------------------------------------------------------------------ */

static void put(struct look_queue *queue, size_t at, struct entry *entry)
{
	queue->heap[at] = entry;
	entry->at = at;
}

static void move_up(struct look_queue *queue, size_t at)
{
	struct entry *entry = queue->heap[at];

	for (; at && queue->heap[(at - 1) / 2]->due_ns > entry->due_ns; at = (at - 1) / 2)
		put(queue, at, queue->heap[(at - 1) / 2]);
	put(queue, at, entry);
}

static void move_down(struct look_queue *queue, size_t at)
{
	struct entry *entry = queue->heap[at];
	size_t child;

	for (; (child = 2 * at + 1) < queue->n; at = child) {
		if (child + 1 < queue->n && queue->heap[child + 1]->due_ns < queue->heap[child]->due_ns)
			child++;
		if (queue->heap[child]->due_ns >= entry->due_ns)
			break;
		put(queue, at, queue->heap[child]);
	}
	put(queue, at, entry);
}

/* Cannot fail: a place in the heap is reserved for every entry when it is made. */
static void enqueue(struct look_queue *queue, struct entry *entry, uint64_t due_ns)
{
	entry->due_ns = due_ns;
	put(queue, queue->n, entry);
	move_up(queue, queue->n++);
}

static void dequeue(struct look_queue *queue, struct entry *entry)
{
	size_t at = entry->at;

	if (at == NOT_QUEUED)
		return;
	entry->at = NOT_QUEUED;
	queue->n--;
	if (at == queue->n)
		return;
	put(queue, at, queue->heap[queue->n]);
	move_up(queue, at);
	move_down(queue, at);
}

/* --- the processes ------------------------------------------------------------------------------- */

static struct entry *find(const struct look_queue *queue, uint32_t pid)
{
	struct entry *entry;

	HASH_FIND(hh, queue->by_pid, &pid, sizeof(pid), entry);
	return entry;
}

static int reserve_place(struct look_queue *queue)
{
	size_t want = queue->allocated ? queue->allocated * 2 : 64;
	struct entry **grown;

	if (HASH_COUNT(queue->by_pid) < queue->allocated)
		return 0;
	grown = realloc(queue->heap, want * sizeof(struct entry *));
	if (!grown)
		return -ENOMEM;
	queue->heap = grown;
	queue->allocated = want;
	return 0;
}

static int add(struct look_queue *queue, uint32_t pid, struct entry **out)
{
	int err = HASH_COUNT(queue->by_pid) >= LOOK_QUEUE_MAX ? -ENOSPC : reserve_place(queue);
	struct entry *entry = err ? NULL : calloc(1, sizeof(*entry));

	if (!entry)
		return err ? err : -ENOMEM;
	entry->pid = pid;
	entry->at = NOT_QUEUED;
	HASH_ADD(hh, queue->by_pid, pid, sizeof(entry->pid), entry);
	if (!entry->hh.tbl) {
		free(entry);
		return -ENOMEM;
	}
	*out = entry;
	return 0;
}

static void drop(struct look_queue *queue, struct entry *entry)
{
	dequeue(queue, entry);
	HASH_DEL(queue->by_pid, entry);
	free(entry);
}

int look_queue_ask(struct look_queue *queue, uint32_t pid, uint64_t at_ns, bool first)
{
	struct entry *entry = find(queue, pid);
	int err = entry ? 0 : add(queue, pid, &entry);

	if (err)
		return err;
	if (at_ns < entry->rests_until_ns)
		at_ns = entry->rests_until_ns;
	if (entry->asked && entry->due_ns < at_ns)
		at_ns = entry->due_ns;
	entry->asked = true;
	entry->first |= first;
	dequeue(queue, entry);
	enqueue(queue, entry, at_ns);
	return 0;
}

void look_queue_mapped(struct look_queue *queue, uint32_t pid, uint64_t at_ns)
{
	struct entry *entry = find(queue, pid);

	if (entry && entry->asked && at_ns && (!entry->mapped_ns || at_ns < entry->mapped_ns))
		entry->mapped_ns = at_ns;
}

void look_queue_executed(struct look_queue *queue, uint32_t pid)
{
	struct entry *entry = find(queue, pid);

	if (entry)
		entry->mapped_ns = 0;
}

void look_queue_rouse(struct look_queue *queue, uint32_t pid)
{
	struct entry *entry = find(queue, pid);

	if (entry)
		entry->rests_until_ns = 0;
}

static struct look look_of(const struct entry *entry)
{
	return (struct look){ .pid = entry->pid, .first = entry->first, .mapped_ns = entry->mapped_ns };
}

bool look_queue_take(struct look_queue *queue, uint64_t now_ns, struct look *out)
{
	while (queue->n && queue->heap[0]->due_ns <= now_ns) {
		struct entry *entry = queue->heap[0];

		if (!entry->asked) {
			drop(queue, entry);
			continue;
		}
		*out = look_of(entry);
		entry->asked = entry->first = false;
		entry->mapped_ns = 0;
		dequeue(queue, entry);
		return true;
	}
	return false;
}

void look_queue_looked(struct look_queue *queue, uint32_t pid, uint64_t began_ns, uint64_t ended_ns)
{
	struct entry *entry = find(queue, pid);

	if (!entry)
		return;
	entry->rests_until_ns = ended_ns + (ended_ns - began_ns) * LOOK_QUEUE_REST;
	dequeue(queue, entry);
	if (entry->asked && entry->due_ns > entry->rests_until_ns)
		enqueue(queue, entry, entry->due_ns);
	else
		enqueue(queue, entry, entry->rests_until_ns);
}

bool look_queue_waits(const struct look_queue *queue, uint32_t pid, struct look *out)
{
	const struct entry *entry = find(queue, pid);

	if (!entry || entry->at == NOT_QUEUED)
		return false;
	*out = look_of(entry);
	return true;
}

void look_queue_forget(struct look_queue *queue, uint32_t pid)
{
	struct entry *entry = find(queue, pid);

	if (entry)
		drop(queue, entry);
}

uint64_t look_queue_next_ns(const struct look_queue *queue)
{
	return queue->n ? queue->heap[0]->due_ns : UINT64_MAX;
}
