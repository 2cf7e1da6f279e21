/* The API: push and pop when they are not inlined, the thread-local slots, probes and loss counters. */

#include <string.h>

#define STALLTAG_NO_INLINE
#include "stalltag/change_log.h"
#include "stalltag/publication.h"
#include "stalltag/stalltag.h"
#include "stalltag/thread_tags.h"
#include "stalltag/undisturbed.h"
#include "stalltag/usdt.h"

#define COLD     __attribute__((noinline, cold))
#define EXPORTED __attribute__((visibility("default")))

/* The probes' semaphores, which count listeners, and the flag to leave the public slot: one load reads all of
 * them. */
union attention {
	struct {
		uint16_t listeners; /* to stalltag:change */
		uint16_t readers;   /* to stalltag:log */
		uint32_t withdrawn;
	};
	uint64_t any;
};
extern volatile union attention stalltag_change_semaphore __attribute__((visibility("hidden")));
USDT_SEMAPHORE volatile union attention stalltag_change_semaphore = { .any = 0 };

/*
 * Stands for the tags of a thread that has none: neither push nor pop finds room in it. It is recognised by its
 * content, not its address: if a program and a library each have a copy of this code, they may share the pointer to
 * it.
 */
#define NONE_USED_BYTES (SIZE_MAX / 2)
static struct stalltag_thread no_tags = { .used_bytes = NONE_USED_BYTES };

static inline bool has_none(const struct stalltag_thread *thread)
{
	return thread->used_bytes == NONE_USED_BYTES;
}

EXPORTED __thread stalltag_slot stalltag_thread_ctx_v1;
EXPORTED __thread struct stalltag_thread *stalltag_thread_tags = &no_tags;
static __thread unsigned int pushes_without_memory;

static struct stalltag_losses losses;
extern volatile uint16_t stalltag_lost_semaphore __attribute__((visibility("hidden")));
USDT_SEMAPHORE volatile uint16_t stalltag_lost_semaphore = 0;

/* `counter` is one of `losses`; readers are told which. */
COLD static void count_lost(uint64_t *counter)
{
	uintptr_t which = (uintptr_t)(counter - (uint64_t *)&losses);

	__atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
	if (stalltag_lost_semaphore)
		USDT_1("stalltag", "lost", "stalltag_lost_semaphore", which);
}

COLD static void fire_change(const struct stalltag_record *current)
{
	USDT_1("stalltag", "change", "stalltag_change_semaphore", current);
}

COLD void stalltag_attend(struct stalltag_thread *thread)
{
	if (stalltag_change_semaphore.withdrawn && thread->public_slot != &thread->off_slot) {
		if (thread_tags_owns(thread, *thread->public_slot))
			*thread->public_slot = NULL;
		thread->public_slot = &thread->off_slot;
	}
	if (stalltag_change_semaphore.readers)
		change_log_note(&thread->log, *thread->own_slot);
	if (stalltag_change_semaphore.listeners)
		fire_change(*thread->own_slot);
}

COLD void change_log_fire(const struct stalltag_record *current, const struct stalltag_log *log)
{
	if (stalltag_change_semaphore.readers)
		USDT_2("stalltag", "log", "stalltag_change_semaphore + 2", current, log);
}

void change_log_forked(void)
{
	if (!has_none(stalltag_thread_tags))
		stalltag_thread_tags->log.stale_after = 0;
}

/* A pointer that another library put into the public slot stays. */
static void set_slots(struct stalltag_thread *thread, const struct stalltag_record *record)
{
	const struct stalltag_record *in_public = *thread->public_slot;

	*thread->own_slot = record;
	if (!in_public || thread_tags_owns(thread, in_public))
		*thread->public_slot = record;
	STALLTAG_FENCE();
}

/* The public slot does not hold what ours held: another library wrote to it, or we found it empty. */
COLD void stalltag_push_settle(struct stalltag_thread *thread, struct stalltag_frame *frame)
{
	set_slots(thread, &frame->record);
	if (*thread->attention)
		stalltag_attend(thread);
}

COLD void stalltag_pop_settle(struct stalltag_thread *thread, struct stalltag_frame *frame)
{
	set_slots(thread, frame->outer);
	frame->record.head = 0;
	STALLTAG_FENCE();
	thread->used_bytes -= sizeof(*frame);
	if (*thread->attention)
		stalltag_attend(thread);
}

static struct stalltag_thread *begin_thread(void)
{
	struct stalltag_thread *thread = NULL;

	if (!has_none(stalltag_thread_tags)) /* a signal handler was faster */
		return stalltag_thread_tags;
	/* Counted beforehand: SIGSYS's handler, say, that pushes meanwhile is to have no memory. */
	if (!pushes_without_memory++)
		thread = thread_tags_new(&stalltag_thread_ctx_v1, &stalltag_change_semaphore.any);
	if (thread) {
		stalltag_thread_tags = thread;
		pushes_without_memory--;
	} else {
		count_lost(&losses.no_memory);
	}
	return thread;
}

/* A handler's push must find the thread's tags or make them, not make others beside them; and a cancelled thread would
 * keep the lock for good. */
COLD static struct stalltag_thread *first_push(void)
{
	struct stalltag_thread *thread;
	struct undisturbed before;

	undisturbed_begin(&before);
	thread = begin_thread();
	undisturbed_end(&before);
	return thread;
}

/* The longest part that ends between two UTF-8 characters. */
static size_t cut_name(const char *name)
{
	size_t bytes = STALLTAG_NAME_MAX;

	count_lost(&losses.names_cut);
	while (bytes > STALLTAG_NAME_MAX - 4 && ((unsigned char)name[bytes] & 0xc0) == 0x80)
		bytes--;
	return bytes;
}

static void fill_record(struct stalltag_record *record, const struct stalltag_thread *thread, uint64_t id,
                        const char *name, size_t name_bytes)
{
	uint32_t attrs_bytes = name_bytes ? (uint32_t)name_bytes + 2 : 0;

	memset(record->trace_id, 0, sizeof(record->trace_id));
	if (id)
		memcpy(record->trace_id, thread->trace_id, sizeof(record->trace_id));
	record->span_id = __builtin_bswap64(id);
	record->attribute = (uint16_t)(STALLTAG_KEY_AI_TAG | name_bytes << 8);
	if (name_bytes)
		memcpy(record->name, name, name_bytes);
	STALLTAG_FENCE();
	record->head = (id ? thread->head : 1) | attrs_bytes << 16;
	STALLTAG_FENCE();
}

/* As stalltag_push_fast(), but for all cases: a thread's first push, one too deep, no id, no name, a long name. */
void stalltag_push_any(uint64_t id, const char *name, size_t name_bytes)
{
	struct stalltag_thread *thread = has_none(stalltag_thread_tags) ? first_push() : stalltag_thread_tags;
	struct stalltag_frame *frame;

	if (!thread)
		return;
	frame = (struct stalltag_frame *)((char *)thread->frames + thread->used_bytes);
	thread->used_bytes += sizeof(*frame);
	STALLTAG_FENCE();
	if (thread->used_bytes > sizeof(thread->frames)) {
		count_lost(&losses.too_deep);
		return;
	}
	if (name_bytes > STALLTAG_NAME_MAX)
		name_bytes = cut_name(name);
	frame->outer = *thread->own_slot;
	fill_record(&frame->record, thread, id, name, name_bytes);
	stalltag_push_settle(thread, frame);
}

void stalltag_push_sized(uint64_t id, const char *name, size_t name_bytes)
{
	stalltag_push_fast(id, name, name_bytes);
}

void stalltag_push(uint64_t id, const char *name)
{
	stalltag_push_fast(id, name, name ? strlen(name) : 0);
}

COLD void stalltag_pop_any(void)
{
	struct stalltag_thread *thread = stalltag_thread_tags;

	if (!has_none(thread) && thread->used_bytes)
		thread->used_bytes -= sizeof(struct stalltag_frame);
	else if (has_none(thread) && pushes_without_memory)
		pushes_without_memory--;
	else
		count_lost(&losses.stray_pops);
}

void stalltag_pop(void)
{
	stalltag_pop_fast();
}

void thread_tags_forget(void)
{
	stalltag_thread_tags = &no_tags;
}

unsigned int stalltag_depth(void)
{
	if (has_none(stalltag_thread_tags))
		return pushes_without_memory;
	return (unsigned int)(stalltag_thread_tags->used_bytes / sizeof(struct stalltag_frame));
}

void stalltag_read_losses(struct stalltag_losses *out)
{
	out->too_deep = __atomic_load_n(&losses.too_deep, __ATOMIC_RELAXED);
	out->names_cut = __atomic_load_n(&losses.names_cut, __ATOMIC_RELAXED);
	out->stray_pops = __atomic_load_n(&losses.stray_pops, __ATOMIC_RELAXED);
	out->no_memory = __atomic_load_n(&losses.no_memory, __ATOMIC_RELAXED);
}

int stalltag_public_state(void)
{
	return publication_state();
}

void publication_withdrawn_mark(void)
{
	stalltag_change_semaphore.withdrawn = 1;
}
