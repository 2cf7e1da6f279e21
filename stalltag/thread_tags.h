/*
 * A thread's stack of tags: where its records live and where the pointers to them go.
 *
 * One mapping a thread, made at its first push and kept until the thread ends. The pointers in thread-local
 * storage stay small, so that a library loaded by dlopen() still gets them in the static block, where
 * reaching them is fast and readers find them at a fixed distance from the thread pointer.
 */
#ifndef STALLTAG_THREAD_TAGS_H
#define STALLTAG_THREAD_TAGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stalltag/stalltag.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the record's head, attribute and span_id are written as on a little-endian machine"
#endif

_Static_assert(offsetof(struct stalltag_record, span_id) == 16, "OTEP 4947");
_Static_assert(offsetof(struct stalltag_record, head) == 24, "OTEP 4947");
_Static_assert(offsetof(struct stalltag_record, attribute) == STALLTAG_RECORD_HEAD_BYTES, "OTEP 4947");
_Static_assert(offsetof(struct stalltag_record, name) == STALLTAG_RECORD_HEAD_BYTES + 2, "OTEP 4947");
_Static_assert(offsetof(struct stalltag_frame, record.name) == 64, "a cache line");
_Static_assert(sizeof(struct stalltag_frame) == 320, "five cache lines");

#pragma GCC visibility push(hidden)

/* NULL when there is no memory. Called undisturbed (undisturbed.h), until the pointer is where a handler's push finds it.
 * The first call of a process publishes. */
struct stalltag_thread *thread_tags_new(stalltag_slot *own_slot, const volatile uint64_t *attention);

/* Clears the calling thread's slots, then frees its tags. Registered to run at thread exit. */
void thread_tags_free(struct stalltag_thread *thread);

/* Whether the pointer leads to one of these tags' records. */
static inline bool thread_tags_owns(const struct stalltag_thread *thread,
                                    const struct stalltag_record *record)
{
	return (uintptr_t)record - (uintptr_t)thread->frames < sizeof(thread->frames);
}

/* Called at thread exit before the tags are freed; stalltag.c forgets its pointer to them. */
void thread_tags_forget(void);

#pragma GCC visibility pop

#endif
