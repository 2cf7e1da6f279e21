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

/* What of the waker's waits lies in a span, in the order in which they began. */
struct pieces {
	struct wait piece[INHERITED_KEPT];
	size_t n;
	uint64_t sum_ns;
};

static int by_begin(const void *left, const void *right)
{
	const struct wait *a = left, *b = right;

	return (a->span.begin_ns > b->span.begin_ns) - (a->span.begin_ns < b->span.begin_ns);
}

static void take_pieces(struct pieces *pieces, const struct waiter *waker, const struct span *span)
{
	pieces->n = 0;
	pieces->sum_ns = 0;
	for (size_t i = 0; i < waker->n; i++) {
		const struct wait *wait = &waker->waits[i];
		uint64_t both = overlap(&wait->span, span);
		uint64_t ns = scaled(wait->ns, both, length(&wait->span));
		struct wait piece = { wait->span, ns < both ? ns : both, wait->what };

		if (!piece.ns)
			continue;
		if (piece.span.begin_ns < span->begin_ns)
			piece.span.begin_ns = span->begin_ns;
		if (piece.span.end_ns > span->end_ns)
			piece.span.end_ns = span->end_ns;
		pieces->piece[pieces->n++] = piece;
		pieces->sum_ns += piece.ns;
	}
	qsort(pieces->piece, pieces->n, sizeof(pieces->piece[0]), by_begin);
}

/* Together they are no longer than the span: some were taken for longer ones, by lot. */
static void fit_pieces(struct pieces *pieces, uint64_t whole_ns)
{
	uint64_t sum_ns = 0;

	for (size_t i = 0; i < pieces->n && pieces->sum_ns > whole_ns; i++) {
		struct wait *piece = &pieces->piece[i];

		piece->ns = scaled(piece->ns, whole_ns, pieces->sum_ns);
		sum_ns += piece->ns;
	}
	if (sum_ns)
		pieces->sum_ns = sum_ns;
}

static int by_length(const void *left, const void *right)
{
	const struct inherited_part *a = left, *b = right;

	return (a->ns < b->ns) - (a->ns > b->ns);
}

/* The sums of what the pieces are for, the longest first. Returns how many. */
static size_t sum_pieces(const struct pieces *pieces, uint64_t whole_ns,
                         struct inherited_part parts[INHERITED_PARTS])
{
	struct inherited_part all[INHERITED_KEPT];
	size_t n = 0, told = 0;

	for (size_t i = 0; i < pieces->n; i++) {
		const struct wait *piece = &pieces->piece[i];
		size_t at = 0;

		while (at < n && memcmp(&all[at].what, &piece->what, sizeof(piece->what)) != 0)
			at++;
		if (at == n)
			all[n++] = (struct inherited_part){ piece->what, 0 };
		all[at].ns += piece->ns;
	}
	qsort(all, n, sizeof(all[0]), by_length);
	while (told < n && told < INHERITED_PARTS && all[told].ns >= whole_ns / LEAST_PART) {
		parts[told] = all[told];
		told++;
	}
	return told;
}

/* Keeps the pieces as the waiter's own waits, each where it lies, and between them what is left of its wait. */
static void keep_pieces(struct waiter *waiter, const struct pieces *pieces, const struct span *span,
                        const struct inherited *own)
{
	struct span rest = { span->begin_ns, span->begin_ns };

	for (size_t i = 0; i < pieces->n; i++) {
		const struct wait *piece = &pieces->piece[i];

		rest.end_ns = piece->span.begin_ns;
		if (rest.end_ns > rest.begin_ns)
			keep(waiter, &rest, own, length(&rest));
		keep(waiter, &piece->span, &piece->what, piece->ns);
		if (piece->span.end_ns > rest.begin_ns)
			rest.begin_ns = piece->span.end_ns;
	}
	rest.end_ns = span->end_ns;
	if (rest.end_ns > rest.begin_ns)
		keep(waiter, &rest, own, length(&rest));
}

/* Whether it is of a wait, and not of a CPU, or of a kernel thread's recovery. */
static bool is_wait(const struct abi_event *event)
{
	return (event->kind == ABI_EVENT_WAIT || event->kind == ABI_EVENT_INFLIGHT) &&
	       (event->state == ABI_STALL || event->state == ABI_SLEEP) && event->duration_ns &&
	       event->duration_ns <= event->time_ns;
}

/* What the sample stands for: the wait, or one as long as its weight. */
static struct span span_of(const struct abi_event *event)
{
	uint64_t ns = event->weight_ns > event->duration_ns && event->weight_ns < event->time_ns
	                      ? event->weight_ns
	                      : event->duration_ns;

	return (struct span){ event->time_ns - ns, event->time_ns };
}

size_t inherited_waits_take(struct inherited_waits *waits, const struct abi_event *event, const char *class,
                            uint32_t waker, struct inherited_part parts[INHERITED_PARTS])
{
	const struct inherited own = { class, event->tgid, event->dev, event->state, event->cause };
	const struct span span = span_of(event);
	struct waiter *by = NULL, *waiter;
	struct pieces pieces = { .n = 0 };

	if (!is_wait(event))
		return 0;
	if (waker && waker != event->tid)
		by = find(waits, waker);
	if (by)
		take_pieces(&pieces, by, &span);
	fit_pieces(&pieces, length(&span));
	waiter = waiter_of(waits, event->tid);
	if (waiter && event->moved_ns > 0)
		forget_moved(waiter, event, &span);
	if (waiter)
		keep_pieces(waiter, &pieces, &span, &own);
	return sum_pieces(&pieces, length(&span), parts);
}
