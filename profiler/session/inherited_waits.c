/* Keeps the last waits of each thread, and splits a wait by those of the thread that ended it. */

#include "profiler/session/inherited_waits.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

/* Waits for the same thing are one if no more lies between. Where that leaves too many, ever longer gaps are closed, and then the oldest
 * waits forgotten. */
#define GAP_NS     500000ULL
#define GAP_MOST   4000000000ULL
#define GAP_FACTOR 2
/* What is below this part of a wait is left out. */
#define LEAST_PART 64

_Static_assert(sizeof(struct inherited) == 24, "no padding");

struct span {
	uint64_t begin_ns, end_ns;
};

struct wait {
	struct span span;
	uint64_t ns; /* of the span */
	struct inherited what;
};

struct waiter {
	uint32_t tid;
	size_t n;
	struct wait waits[INHERITED_KEPT]; /* in the order in which they began to be kept */
	UT_hash_handle hh;
};

/* The one that has waited last is the last. */
struct inherited_waits {
	struct waiter *by_tid;
};

struct inherited_waits *inherited_waits_new(void)
{
	return calloc(1, sizeof(struct inherited_waits));
}

void inherited_waits_free(struct inherited_waits *waits)
{
	struct waiter *waiter, *next;

	if (!waits)
		return;
	waiter = waits->by_tid;
	HASH_CLEAR(hh, waits->by_tid);
	for (; waiter; waiter = next) {
		next = waiter->hh.next;
		free(waiter);
	}
	free(waits);
}

static uint64_t length(const struct span *span)
{
	return span->end_ns - span->begin_ns;
}

static uint64_t overlap(const struct span *a, const struct span *b)
{
	uint64_t begin_ns = a->begin_ns > b->begin_ns ? a->begin_ns : b->begin_ns;
	uint64_t end_ns = a->end_ns < b->end_ns ? a->end_ns : b->end_ns;

	return begin_ns < end_ns ? end_ns - begin_ns : 0;
}

static uint64_t scaled(uint64_t value, uint64_t part, uint64_t whole)
{
	return whole ? (uint64_t)((unsigned __int128)value * part / whole) : 0;
}

/* --- what is kept ----------------------------------------------------------------------------------------- */

static struct waiter *find(const struct inherited_waits *waits, uint32_t tid)
{
	struct waiter *waiter;

	HASH_FIND(hh, waits->by_tid, &tid, sizeof(tid), waiter);
	return waiter;
}

/* False: it is freed, without memory. */
static bool add_last(struct inherited_waits *waits, struct waiter *waiter)
{
	HASH_ADD(hh, waits->by_tid, tid, sizeof(waiter->tid), waiter);
	if (waiter->hh.tbl)
		return true;
	free(waiter);
	return false;
}

/* The thread's, as the last; NULL without memory. */
static struct waiter *waiter_of(struct inherited_waits *waits, uint32_t tid)
{
	struct waiter *waiter = find(waits, tid);

	if (!waiter && HASH_COUNT(waits->by_tid) < INHERITED_THREADS) {
		waiter = malloc(sizeof(*waiter));
		if (!waiter)
			return NULL;
	} else {
		struct waiter *reused = waiter ? waiter : waits->by_tid;

		HASH_DEL(waits->by_tid, reused);
		if (waiter)
			return add_last(waits, waiter) ? waiter : NULL;
		waiter = reused;
	}
	memset(waiter, 0, sizeof(*waiter));
	waiter->tid = tid;
	return add_last(waits, waiter) ? waiter : NULL;
}

/* Takes `next` for a part of a wait that goes on, if it is for the same thing and begins soon enough after the end. */
static bool goes_on(struct wait *wait, const struct wait *next, uint64_t gap_ns)
{
	if (memcmp(&wait->what, &next->what, sizeof(next->what)) != 0 ||
	    next->span.begin_ns > wait->span.end_ns + gap_ns)
		return false;
	if (wait->span.begin_ns > next->span.begin_ns)
		wait->span.begin_ns = next->span.begin_ns;
	if (wait->span.end_ns < next->span.end_ns)
		wait->span.end_ns = next->span.end_ns;
	wait->ns += next->ns;
	return true;
}

/* Adds a wait to those that lie before it; there is room for it. */
static void append(struct waiter *waiter, const struct wait *next, uint64_t gap_ns)
{
	for (size_t i = waiter->n; i; i--)
		if (goes_on(&waiter->waits[i - 1], next, gap_ns))
			return;
	waiter->waits[waiter->n++] = *next;
}

/* Makes room: at least half of the places are free then. */
static void compact(struct waiter *waiter)
{
	for (uint64_t gap_ns = GAP_NS * GAP_FACTOR; waiter->n > INHERITED_KEPT / 2 && gap_ns < GAP_MOST;
	     gap_ns *= GAP_FACTOR) {
		size_t n = waiter->n;

		waiter->n = 0;
		for (size_t i = 0; i < n; i++) {
			struct wait wait = waiter->waits[i];

			append(waiter, &wait, gap_ns);
		}
	}
	if (waiter->n <= INHERITED_KEPT / 2)
		return;
	memmove(waiter->waits, waiter->waits + waiter->n - INHERITED_KEPT / 2,
	        INHERITED_KEPT / 2 * sizeof(waiter->waits[0]));
	waiter->n = INHERITED_KEPT / 2;
}

static void keep(struct waiter *waiter, const struct span *span, const struct inherited *what, uint64_t ns)
{
	const struct wait wait = { *span, ns, *what };

	if (!ns)
		return;
	if (waiter->n == INHERITED_KEPT)
		compact(waiter);
	append(waiter, &wait, GAP_NS);
}

/* Parts of this wait that were told before turn out to be something else: they are kept no longer. */
static void forget_moved(struct waiter *waiter, const struct abi_event *event, const struct span *span)
{
	for (size_t i = 0; i < waiter->n; i++) {
		struct wait *wait = &waiter->waits[i];

		if (wait->what.state == event->moved_state && wait->what.cause == event->moved_cause &&
		    wait->span.begin_ns >= span->begin_ns)
			wait->ns = 0;
	}
}

/* --- a wait that is split ------------------------------------------------------------------------------------ */

/* How much of `wait` lies in `span`. */
static uint64_t part_within(const struct wait *wait, const struct span *span)
{
	uint64_t both = overlap(&wait->span, span), ns = scaled(wait->ns, both, length(&wait->span));

	return ns < both ? ns : both;
}

static void add_part(struct inherited_part *parts, size_t *n, const struct inherited *what, uint64_t ns)
{
	for (size_t i = 0; i < *n; i++)
		if (!memcmp(&parts[i].what, what, sizeof(*what))) {
			parts[i].ns += ns;
			return;
		}
	parts[(*n)++] = (struct inherited_part){ *what, ns };
}

static int by_length(const void *left, const void *right)
{
	const struct inherited_part *a = left, *b = right;

	return (a->ns < b->ns) - (a->ns > b->ns);
}

/* The longest, no longer than the span together. Returns how many. */
static size_t longest(struct inherited_part *all, size_t n, const struct span *span,
                      struct inherited_part parts[INHERITED_PARTS])
{
	uint64_t whole = length(span), sum = 0;
	size_t taken = 0;

	qsort(all, n, sizeof(*all), by_length);
	for (size_t i = 0; i < n; i++)
		sum += all[i].ns;
	for (size_t i = 0; i < n && taken < INHERITED_PARTS; i++) {
		uint64_t ns = sum > whole ? scaled(all[i].ns, whole, sum) : all[i].ns;

		if (ns >= whole / LEAST_PART && ns)
			parts[taken++] = (struct inherited_part){ all[i].what, ns };
	}
	return taken;
}

static size_t split(const struct waiter *waker, const struct span *span,
                    struct inherited_part parts[INHERITED_PARTS])
{
	struct inherited_part all[INHERITED_KEPT];
	size_t n = 0;

	for (size_t i = 0; i < waker->n; i++) {
		uint64_t ns = part_within(&waker->waits[i], span);

		if (ns)
			add_part(all, &n, &waker->waits[i].what, ns);
	}
	return longest(all, n, span, parts);
}

/* Whether it is of a wait, and not of a CPU, or of a kernel thread's recovery. */
static bool is_wait(const struct abi_event *event)
{
	return (event->kind == ABI_EVENT_WAIT || event->kind == ABI_EVENT_INFLIGHT) &&
	       (event->state == ABI_STALL || event->state == ABI_SLEEP) && event->duration_ns &&
	       event->duration_ns <= event->time_ns;
}

size_t inherited_waits_take(struct inherited_waits *waits, const struct abi_event *event, const char *class,
                            uint32_t waker, struct inherited_part parts[INHERITED_PARTS])
{
	const struct inherited own = { class, event->tgid, event->dev, event->state, event->cause };
	struct span span = { event->time_ns - event->duration_ns, event->time_ns };
	uint64_t left = event->weight_ns;
	struct waiter *by = NULL, *waiter;
	size_t n = 0;

	if (!is_wait(event))
		return 0;
	if (waker && waker != event->tid)
		by = find(waits, waker);
	if (by)
		n = split(by, &span, parts);
	waiter = waiter_of(waits, event->tid);
	if (!waiter)
		return n;
	if (event->moved_ns > 0)
		forget_moved(waiter, event, &span);
	if (left > event->duration_ns && left < span.end_ns)
		span.begin_ns = span.end_ns - left;
	for (size_t i = 0; i < n; i++) {
		keep(waiter, &span, &parts[i].what, parts[i].ns);
		left -= parts[i].ns < left ? parts[i].ns : left;
	}
	keep(waiter, &span, &own, left);
	return n;
}
