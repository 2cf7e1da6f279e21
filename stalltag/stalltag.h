/*
 * stalltag: say what a thread is working for, so that its waits can be told apart.
 *
 *	stalltag_push(80000, "checkpoint_write/run42/step80000/shard17");
 *	write_shard();
 *	stalltag_pop();
 *
 * Tags nest, each thread has its own stack of them, and the innermost one counts. A push and its pop
 * cost a few nanoseconds while nobody listens. The id is exact: 64 bits of yours, kept to the bit. The
 * name is UTF-8 and path-like, from the general to the particular; a profiler cuts it to a class by rules.
 *
 * How a reader finds a tag
 *	Two thread-local pointers, exported in .dynsym, lead to the current record or are NULL. The record
 *	(struct stalltag_record) is that of OpenTelemetry's OTEP 4947: the id is the span id, big-endian, and
 *	the name is attribute 0, `ai_tag`. The process context of OTEP 4719 (a mapping named OTEL_CTX) is
 *	published at the first push and again in each forked child.
 *		stalltag_thread_ctx_v1	always our tag
 *		otel_thread_ctx_v1	our tag too, as long as nobody else in the process publishes
 *	Three USDT probes, each behind a semaphore of its own, report changes:
 *		stalltag:change	fires after every push and pop. Argument 1: the record that is current
 *				now, or NULL.
 *		stalltag:lost	fires when a tag cannot be shown as it was pushed. Argument 1: which count of
 *				struct stalltag_losses grew by one, 0 the first.
 *		stalltag:log	while somebody listens to it, each thread writes its changes and their times
 *				to a log in its own memory (struct stalltag_log, below), which costs some 50 ns,
 *				not a trap. The probe fires for what the log has no room for, and often enough
 *				that nothing in it is overwritten unread. Argument 1 as above, argument 2 the log.
 *	A reader that stops or interrupts the thread at any instruction sees the tag before or the tag
 *	after, whole, or none.
 *
 * Beside an OpenTelemetry SDK
 *	An SDK may treat any pointer it finds in otel_thread_ctx_v1 as its own, and even free it (crate
 *	libdd-otel-thread-ctx 2.0 does). So our pointer must never be where an SDK looks:
 *	- One slot, shared by interposition (our library and an SDK both in the global scope). In
 *	  libstalltag.so the symbol carries a hidden version, so that no other object can bind to ours. If
 *	  an SDK came before us, ours may bind to theirs; the check at the first push finds that any other
 *	  object defines the symbol, and we keep off the public slot for good.
 *	- Two slots (each library loaded privately, as Python does). The same check keeps us off ours, so
 *	  that a reader which looks at either finds the SDK's context or nothing.
 *	- A process context that is not ours has its own map of attribute names, in which our attribute 0
 *	  would be something else: if there is one at the first push, we publish neither slot nor context.
 *	- An SDK that is loaded after our first push is noticed when the next new thread pushes for the
 *	  first time; then we withdraw the process context, and each thread's slot at its next push or
 *	  pop. Until then a reader may find two process contexts. Load the SDK first.
 *	- A pointer in the slot that is not ours is never overwritten; at pop we replace only what is ours.
 *	- libstalltag.a leaves the public slot out unless you ask for it, as a program's symbol can be
 *	  bound by any library it loads: -Wl,-u,stalltag_public_slot
 *	  -Wl,--export-dynamic-symbol=otel_thread_ctx_v1. Do so only if no SDK is loaded later.
 *	  It has stalltag_thread_ctx_v1 always; export it likewise if the program is stripped.
 *
 * Limits
 *	Nesting beyond STALLTAG_DEPTH_MAX and names beyond STALLTAG_NAME_MAX bytes are counted
 *	(stalltag_read_losses, and the probe stalltag:lost): deeper pushes leave the tag of the deepest level
 *	that fits, and their pops stay balanced; names are cut between two UTF-8 characters.
 *
 * A child of fork() holds the tags that its parent's thread held. Safe in signal handlers that pop what they push, but
 * for a thread's first push, which may allocate memory and take locks: push and pop once before, where handlers may
 * push. Not for coroutines (fibers, greenlets, gevent) that switch while they hold a tag, on one thread or several.
 */
#ifndef STALLTAG_H
#define STALLTAG_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define STALLTAG_DEPTH_MAX 32
#define STALLTAG_NAME_MAX  255

/*
 * Makes (id, name) the tag of the calling thread until the matching pop. The name is copied. id 0 means
 * "no id": readers then see the name alone. name may be NULL or empty: readers then see the id alone.
 */
void stalltag_push(uint64_t id, const char *name);

/* The same with the length of the name known; name need not end in a NUL, and must not hold one. */
void stalltag_push_sized(uint64_t id, const char *name, size_t name_bytes);

/* Ends the innermost tag. Without one it does nothing but count a stray pop. */
void stalltag_pop(void);

/* The calling thread's pushes minus its pops, including those too deep to be published. */
unsigned int stalltag_depth(void);

/* What could not be shown to readers since the process began, over all threads. */
struct stalltag_losses {
	uint64_t too_deep;   /* pushes beyond STALLTAG_DEPTH_MAX */
	uint64_t names_cut;  /* names longer than STALLTAG_NAME_MAX */
	uint64_t stray_pops; /* pops without a push */
	uint64_t no_memory;  /* pushes without memory, and of a fault's handler amid a first push */
};
void stalltag_read_losses(struct stalltag_losses *out);

/* Which of OpenTelemetry's two contexts we publish: 0: none yet; 1: both; -1: none, because another library
 * does. */
int stalltag_public_state(void);

/*
 * The thread context record of OTEP 4947, with our one attribute in its place. Packed, in host byte order except
 * the two ids, which are as in a W3C traceparent. A reader takes the first 28 bytes, and then as many more as attrs
 * says.
 *
 *	0          16        24      25      26      28    29    30
 *	| trace_id | span_id | valid | flags | attrs | key | len | name ...
 *	|          | id, BE  |   1   |       | bytes |  0  |     |
 */
#define STALLTAG_RECORD_HEAD_BYTES 28
#define STALLTAG_KEY_AI_TAG        0 /* its index in threadlocal.attribute_key_map */

struct stalltag_record {
	uint8_t trace_id[16]; /* the process's trace; zero if span_id is */
	uint64_t span_id;     /* the tag's id, big-endian; zero means that it has none */
	uint32_t head;        /* valid (1), trace flags, and in the upper half the bytes that follow */
	uint16_t attribute;   /* key, and in the upper half the length of the name */
	char name[STALLTAG_NAME_MAX];
	uint8_t end;
} __attribute__((__packed__, __aligned__(2)));

/*
 * A thread's last changes of tag. Readers never write to it: each remembers up to which entry it has read, so that
 * any number of them may listen. It lies in memory that ends with the thread.
 *
 *	entry	moment << 6 | row, at head % STALLTAG_LOG_ENTRIES: since that moment the tag is what rows[row] holds;
 *		STALLTAG_LOG_NONE: none. `head` counts the entries ever written, and grows after the entry and its
 *		row are there.
 *	moment	of CLOCK_MONOTONIC, ns: c.ns + ((moment - c.moment) * c.rate >> STALLTAG_LOG_RATE_BITS), c being
 *		clocks[clock], in which the difference has 58 bits and a sign.
 *	row	a tag; `made` counts how often each row was filled, so that a reader need not read again what it knows.
 *
 * The probe fires on the thread itself, when `head` and the record of argument 1 say what holds now; `fires` is
 * counted up after it. A row that entries refer to is filled anew, and an entry overwritten, only after the probe has
 * fired since the entry was written. So it fires
 *	- each STALLTAG_LOG_ENTRIES / 2 entries, and when no row is free: it alone then reports the change;
 *	- at a change that comes STALLTAG_LOG_STALE_NS or more after it fired last, and so at a thread's first: a
 *	  reader that came since then learns of the thread and its log. Until then it has the tag from the slot;
 *	- at each change of a signal handler that has interrupted another change: it alone reports that one;
 *	- before the thread's memory is freed: `closed` is not 0, and the log is not to be read after that.
 * The child of a fork() has a copy, at the same address.
 */
#define STALLTAG_LOG_ENTRIES   1024
#define STALLTAG_LOG_ROWS      62
#define STALLTAG_LOG_NONE      63
#define STALLTAG_LOG_STALE_NS  20000000
#define STALLTAG_LOG_RATE_BITS 24

struct stalltag_log_row {
	char name[STALLTAG_NAME_MAX + 1]; /* ends in NULs */
	uint64_t id;                      /* as it was pushed; 0: none */
	uint8_t trace_id[16];
};

struct stalltag_log_clock {
	uint64_t moment, ns, rate;
};

struct stalltag_log {
	uint64_t head;
	uint32_t fires;
	uint16_t closed;
	uint16_t clock;
	uint32_t made[STALLTAG_LOG_NONE + 1];
	struct stalltag_log_clock clocks[2];
	uint64_t entries[STALLTAG_LOG_ENTRIES];
	struct stalltag_log_row rows[STALLTAG_LOG_ROWS];
	/* The writer's own. */
	uint64_t fired_head;
	uint64_t set_at, stale_after, by_counter; /* log_clock.h */
	uint64_t read_ns, read_counter;
	uint32_t used[STALLTAG_LOG_ROWS]; /* `fires` + 1 when an entry last referred to the row */
	uint32_t next_row;
	uint32_t busy;     /* a change is being written */
	uint8_t memo[256]; /* where a tag with that hash was found last */
};

/*
 * Below: what the inlined push and pop are made of. Not for other use. The layout is part of the library's
 * ABI, which the soname numbers.
 */

/* Where readers find the pointer to the current record; they may look at any moment. */
typedef const struct stalltag_record *volatile stalltag_slot;

/* The name starts a cache line, the rest of the record ends the one before: no store crosses a line. */
struct stalltag_frame {
	const struct stalltag_record *outer; /* what our slot held before this push */
	uint8_t unused[26];
	struct stalltag_record record;
} __attribute__((__aligned__(64)));

/* A thread's stack of tags; see stalltag/thread_tags.h. */
struct stalltag_thread {
	size_t used_bytes; /* of frames; goes on growing when they are full */
	stalltag_slot *own_slot;
	stalltag_slot *public_slot;         /* off_slot while the public one is not ours to write */
	const volatile uint64_t *attention; /* non-zero: someone listens, or the public slot is to be left */
	uint8_t trace_id[16];
	uint32_t head; /* of a record without attributes */
	stalltag_slot off_slot;
	struct stalltag_frame frames[STALLTAG_DEPTH_MAX];
	struct stalltag_log log; /* memory that is not touched until somebody listens */
};

/* Never NULL: a thread without tags points at one that seems to be full. */
extern __thread struct stalltag_thread *stalltag_thread_tags;

void stalltag_push_any(uint64_t id, const char *name, size_t name_bytes);
void stalltag_push_settle(struct stalltag_thread *thread, struct stalltag_frame *frame);
void stalltag_pop_any(void);
void stalltag_pop_settle(struct stalltag_thread *thread, struct stalltag_frame *frame);
void stalltag_attend(struct stalltag_thread *thread);

#define STALLTAG_INLINE      extern __inline__ __attribute__((__always_inline__, __gnu_inline__))
#define STALLTAG_FENCE()     __atomic_signal_fence(__ATOMIC_SEQ_CST)
#define STALLTAG_RARELY(x)   __builtin_expect(!!(x), 0)
#define STALLTAG_FAST_MAX    64
#define STALLTAG_FRAME_BYTES (STALLTAG_DEPTH_MAX * sizeof(struct stalltag_frame))

/* Pairs of moves that overlap in the middle; a call of memcpy() would cost as much as all the rest. */
STALLTAG_INLINE void stalltag_copy_short(char *to, const char *from, size_t bytes)
{
	if (bytes > 32) {
		__builtin_memcpy(to, from, 16);
		__builtin_memcpy(to + 16, from + 16, 16);
		__builtin_memcpy(to + bytes - 32, from + bytes - 32, 16);
		__builtin_memcpy(to + bytes - 16, from + bytes - 16, 16);
	} else if (bytes >= 16) {
		__builtin_memcpy(to, from, 16);
		__builtin_memcpy(to + bytes - 16, from + bytes - 16, 16);
	} else if (bytes >= 8) {
		__builtin_memcpy(to, from, 8);
		__builtin_memcpy(to + bytes - 8, from + bytes - 8, 8);
	} else if (bytes >= 4) {
		__builtin_memcpy(to, from, 4);
		__builtin_memcpy(to + bytes - 4, from + bytes - 4, 4);
	} else {
		to[0] = from[0];
		to[bytes / 2] = from[bytes / 2];
		to[bytes - 1] = from[bytes - 1];
	}
}

/*
 * The record is filled while no slot leads to it, so that a reader finds it whole or not at all; its head,
 * which makes it valid, comes last, for the reader whom another library has led to it. The stack of frames
 * grows first and shrinks last: a signal handler that pushes in between takes the next frame.
 */
STALLTAG_INLINE void stalltag_push_fast(uint64_t id, const char *name, size_t name_bytes)
{
	struct stalltag_thread *thread = stalltag_thread_tags;
	size_t used_bytes = thread->used_bytes;
	stalltag_slot *own_slot, *public_slot;
	const struct stalltag_record *outer;
	struct stalltag_frame *frame;

	if (STALLTAG_RARELY(used_bytes >= STALLTAG_FRAME_BYTES || !id ||
	                    name_bytes - 1 >= STALLTAG_FAST_MAX)) {
		stalltag_push_any(id, name, name_bytes);
		return;
	}
	frame = (struct stalltag_frame *)((char *)thread->frames + used_bytes);
	thread->used_bytes = used_bytes + sizeof(*frame);
	STALLTAG_FENCE();
	own_slot = thread->own_slot;
	public_slot = thread->public_slot;
	outer = *own_slot;
	frame->outer = outer;
	__builtin_memcpy(frame->record.trace_id, thread->trace_id, sizeof(frame->record.trace_id));
	frame->record.span_id = __builtin_bswap64(id);
	frame->record.attribute = (uint16_t)(STALLTAG_KEY_AI_TAG | name_bytes << 8);
	stalltag_copy_short(frame->record.name, name, name_bytes);
	STALLTAG_FENCE();
	frame->record.head = thread->head + ((uint32_t)(name_bytes + 2) << 16);
	STALLTAG_FENCE();
	if (STALLTAG_RARELY(*public_slot != outer)) {
		stalltag_push_settle(thread, frame);
		return;
	}
	*own_slot = &frame->record;
	*public_slot = &frame->record;
	if (STALLTAG_RARELY(*thread->attention))
		stalltag_attend(thread);
}

/* The record left behind is made invalid: a library that kept the pointer may put it back into the slot. */
STALLTAG_INLINE void stalltag_pop_fast(void)
{
	struct stalltag_thread *thread = stalltag_thread_tags;
	size_t used_bytes = thread->used_bytes;
	stalltag_slot *public_slot = thread->public_slot;
	const struct stalltag_record *outer;
	struct stalltag_frame *frame;

	if (STALLTAG_RARELY(used_bytes - 1 >= STALLTAG_FRAME_BYTES)) {
		stalltag_pop_any();
		return;
	}
	used_bytes -= sizeof(*frame);
	frame = (struct stalltag_frame *)((char *)thread->frames + used_bytes);
	if (STALLTAG_RARELY(*public_slot != &frame->record)) {
		stalltag_pop_settle(thread, frame);
		return;
	}
	outer = frame->outer;
	*thread->own_slot = outer;
	*public_slot = outer;
	STALLTAG_FENCE();
	frame->record.head = 0;
	STALLTAG_FENCE();
	thread->used_bytes = used_bytes;
	if (STALLTAG_RARELY(*thread->attention))
		stalltag_attend(thread);
}

/* Inlined in a program only: in a shared library reaching the thread's tags would cost more than the call. */
#if defined(__OPTIMIZE__) && !defined(STALLTAG_NO_INLINE) && (!defined(__PIC__) || defined(__PIE__))
STALLTAG_INLINE void stalltag_push_sized(uint64_t id, const char *name, size_t name_bytes)
{
	stalltag_push_fast(id, name, name_bytes);
}

STALLTAG_INLINE void stalltag_push(uint64_t id, const char *name)
{
	stalltag_push_fast(id, name, name ? __builtin_strlen(name) : 0);
}

STALLTAG_INLINE void stalltag_pop(void)
{
	stalltag_pop_fast();
}
#endif

#ifdef __cplusplus
}
#endif

#endif
