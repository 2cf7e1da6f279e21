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
#define NEWEST     8
/* A thread that has waited within this time is dropped at a loss. */
#define STILL_NS 10000000000ULL
/* What is below this part of a wait is left out. */
#define LEAST_PART 64

_Static_assert(sizeof(struct inherited) == 24, "no padding");

struct span {
	uint64_t begin_ns, end_ns;
};

struct wait {
	struct span span;
	uint64_t ns; /* within it; may be more, if the wait was sampled by lot */
	struct inherited what;
};

struct waiter {
	uint32_t tid;
	uint64_t process_start_ns;
	size_t n;
	struct wait waits[INHERITED_KEPT]; /* in the order in which they began to be kept */
	UT_hash_handle hh;
};

/* The one that has waited last is the last. */
struct inherited_waits {
	struct waiter *by_tid;
	uint64_t dropped;
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

/* False without memory: the waiter is freed. */
static bool add_last(struct inherited_waits *waits, struct waiter *waiter)
{
	HASH_ADD(hh, waits->by_tid, tid, sizeof(waiter->tid), waiter);
	if (waiter->hh.tbl)
		return true;
	free(waiter);
	return false;
}

/* Whether it has waited of late, so that another wait may be for it. */
static bool waits_still(const struct waiter *waiter, uint64_t now_ns)
{
	return waiter->n && waiter->waits[waiter->n - 1].span.end_ns + STILL_NS > now_ns;
}

/* One for a thread that has none: a new one, or that of the thread which has not waited for longest. NULL without memory. */
static struct waiter *fresh_waiter(struct inherited_waits *waits, uint64_t now_ns)
{
	struct waiter *oldest = waits->by_tid;

	if (HASH_COUNT(waits->by_tid) < INHERITED_THREADS)
		return malloc(sizeof(*oldest));
	waits->dropped += waits_still(oldest, now_ns);
	HASH_DEL(waits->by_tid, oldest);
	return oldest;
}

/* The thread's, as the last; NULL without memory. */
static struct waiter *waiter_of(struct inherited_waits *waits, const struct abi_event *event)
{
	struct waiter *waiter = find(waits, event->tid);
	bool known = waiter && waiter->process_start_ns == event->process_start_ns;

	if (waiter)
		HASH_DEL(waits->by_tid, waiter);
	else
		waiter = fresh_waiter(waits, event->time_ns);
	if (!waiter) {
		waits->dropped++;
		return NULL;
	}
	if (!known) {
		memset(waiter, 0, sizeof(*waiter));
		waiter->tid = event->tid;
		waiter->process_start_ns = event->process_start_ns;
	}
	return add_last(waits, waiter) ? waiter : NULL;
}

/* Takes `next` for a part of a wait that goes on, if it is for the same thing and begins soon enough after the end. */
static bool goes_on(struct wait *wait, const struct wait *next, uint64_t gap_ns)
{
	if (wait->what.cause != next->what.cause ||
	    memcmp(&wait->what, &next->what, sizeof(next->what)) != 0 ||
	    next->span.begin_ns > wait->span.end_ns + gap_ns ||
	    wait->span.begin_ns > next->span.end_ns + gap_ns)
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

/* Makes one of those that lie closest together, but for the newest, which the next wait is most often split by. Returns how many are left. */
static size_t close_gaps(struct waiter *waiter, uint64_t gap_ns)
{
	size_t n = waiter->n;

	waiter->n = 0;
	for (size_t i = 0; i < n; i++) {
		struct wait wait = waiter->waits[i];

		if (i + NEWEST < n)
			append(waiter, &wait, gap_ns);
		else
			waiter->waits[waiter->n++] = wait;
	}
	return waiter->n;
}

/* Makes room: at least half of the places are free then. */
static void compact(struct waiter *waiter)
{
	uint64_t gap_ns = GAP_NS;
	size_t left = waiter->n;

	while (left > INHERITED_KEPT / 2 && gap_ns < GAP_MOST)
		left = close_gaps(waiter, gap_ns *= GAP_FACTOR);
	if (left <= INHERITED_KEPT / 2)
		return;
	memmove(waiter->waits, waiter->waits + left - INHERITED_KEPT / 2,
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
	size_t n = waiter->n;

	waiter->n = 0;
	for (size_t i = 0; i < n; i++) {
		struct wait wait = waiter->waits[i];

		if (wait.what.state != event->moved_state || wait.what.cause != event->moved_cause ||
		    wait.span.begin_ns < span->begin_ns)
			waiter->waits[waiter->n++] = wait;
	}
}

/* --- a wait that is split ------------------------------------------------------------------------------------ */

/* What of the waker's waits lies in a span, in the order in which they began. */
struct pieces {
	struct wait piece[2 * INHERITED_KEPT]; /* of the waker, and of the thread that made it */
	size_t n;
	uint64_t sum_ns;
};

static int by_begin(const void *left, const void *right)
{
	const struct wait *a = left, *b = right;

	return (a->span.begin_ns > b->span.begin_ns) - (a->span.begin_ns < b->span.begin_ns);
}

static void add_pieces(struct pieces *pieces, const struct waiter *waker, const struct span *span)
{
	for (size_t i = 0; waker && i < waker->n; i++) {
		const struct wait *wait = &waker->waits[i];
		uint64_t both = overlap(&wait->span, span);
		struct wait piece = { wait->span, scaled(wait->ns, both, length(&wait->span)), wait->what };

		if (!piece.ns)
			continue;
		if (piece.span.begin_ns < span->begin_ns)
			piece.span.begin_ns = span->begin_ns;
		if (piece.span.end_ns > span->end_ns)
			piece.span.end_ns = span->end_ns;
		pieces->piece[pieces->n++] = piece;
		pieces->sum_ns += piece.ns;
	}
}

static void take_pieces(struct pieces *pieces, const struct inherited_waits *waits,
                        const struct inherited_waker *waker, const struct span *span)
{
	struct span alive = *span, before = *span;

	if (waker->creator && waker->born_ns > span->begin_ns && waker->born_ns < span->end_ns) {
		alive.begin_ns = before.end_ns = waker->born_ns;
		add_pieces(pieces, find(waits, waker->creator), &before);
	}
	add_pieces(pieces, find(waits, waker->tid), &alive);
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

static void add_part(struct inherited_part *parts, size_t *n, const struct inherited *what, uint64_t ns)
{
	size_t at = 0;

	while (at < *n && memcmp(&parts[at].what, what, sizeof(*what)) != 0)
		at++;
	if (at == *n)
		parts[(*n)++] = (struct inherited_part){ *what, 0 };
	parts[at].ns += ns;
}

/* The sums of what the pieces are for, and of `rest` if that is known, the longest first. Returns how many. */
static size_t sum_pieces(const struct pieces *pieces, const struct inherited *rest, uint64_t whole_ns,
                         struct inherited_part parts[INHERITED_PARTS])
{
	struct inherited_part all[2 * INHERITED_KEPT + 1];
	size_t n = 0, told = 0;

	for (size_t i = 0; i < pieces->n; i++)
		add_part(all, &n, &pieces->piece[i].what, pieces->piece[i].ns);
	if (rest->state && whole_ns > pieces->sum_ns)
		add_part(all, &n, rest, whole_ns - pieces->sum_ns);
	qsort(all, n, sizeof(all[0]), by_length);
	while (told < n && told < INHERITED_PARTS && all[told].ns && all[told].ns >= whole_ns / LEAST_PART) {
		parts[told] = all[told];
		told++;
	}
	return told;
}

static uint64_t shortfall(const struct wait *piece)
{
	return length(&piece->span) > piece->ns ? length(&piece->span) - piece->ns : 0;
}

/* Keeps what lies between the pieces as `rest`. Returns how much that is. */
static uint64_t keep_between(struct waiter *waiter, const struct pieces *pieces, const struct span *span,
                             const struct inherited *rest)
{
	struct span gap = { span->begin_ns, span->begin_ns };
	uint64_t sum_ns = 0;

	for (size_t i = 0; i <= pieces->n; i++) {
		const struct span *next = i < pieces->n ? &pieces->piece[i].span : NULL;

		gap.end_ns = next ? next->begin_ns : span->end_ns;
		if (gap.end_ns > gap.begin_ns) {
			keep(waiter, &gap, rest, length(&gap));
			sum_ns += length(&gap);
		}
		if (next && next->end_ns > gap.begin_ns)
			gap.begin_ns = next->end_ns;
	}
	return sum_ns;
}

/* Keeps the pieces as the waiter's own waits, each where it lies; what is left of its wait lies between them and, as pieces may be of
 * several waits, within. */
static void keep_pieces(struct waiter *waiter, const struct pieces *pieces, const struct span *span,
                        const struct inherited *rest)
{
	uint64_t whole_ns = length(span), short_ns = 0, left_ns, between_ns;

	for (size_t i = 0; i < pieces->n; i++) {
		keep(waiter, &pieces->piece[i].span, &pieces->piece[i].what, pieces->piece[i].ns);
		short_ns += shortfall(&pieces->piece[i]);
	}
	between_ns = keep_between(waiter, pieces, span, rest);
	left_ns = whole_ns > pieces->sum_ns + between_ns ? whole_ns - pieces->sum_ns - between_ns : 0;
	for (size_t i = 0; i < pieces->n; i++)
		keep(waiter, &pieces->piece[i].span, rest,
		     scaled(left_ns, shortfall(&pieces->piece[i]), short_ns));
}

bool inherited_waits_wants(const struct abi_event *event)
{
	return (event->kind == ABI_EVENT_WAIT || event->kind == ABI_EVENT_INFLIGHT) &&
	       (event->state == ABI_STALL || event->state == ABI_SLEEP) && event->duration_ns &&
	       event->duration_ns <= event->time_ns;
}

/* One that nobody ended who is known: where it lies, for as long as it stands for. */
static void keep_own(struct waiter *waiter, const struct abi_event *event, const struct span *span,
                     const struct inherited *own)
{
	keep(waiter, span, own,
	     event->weight_ns > event->duration_ns ? event->weight_ns : event->duration_ns);
}

size_t inherited_waits_take(struct inherited_waits *waits, const struct abi_event *event, const char *class,
                            const struct inherited_waker *waker, struct inherited_part parts[INHERITED_PARTS])
{
	const struct inherited own = { class, event->tgid, event->dev, event->state, event->cause };
	const struct span span = { event->time_ns - event->duration_ns, event->time_ns };
	struct inherited rest = { .state = 0 };
	struct pieces pieces = { .n = 0 };
	struct waiter *waiter;

	if (!inherited_waits_wants(event))
		return 0;
	if (waker && waker->tid != event->tid) {
		take_pieces(&pieces, waits, waker, &span);
		fit_pieces(&pieces, length(&span));
		if (waker->class)
			rest = (struct inherited){ .class = waker->class, .state = INHERITED_ACTIVE };
	}
	waiter = waiter_of(waits, event);
	if (waiter && event->moved_ns > 0)
		forget_moved(waiter, event, &span);
	if (waiter && (pieces.n || rest.state))
		keep_pieces(waiter, &pieces, &span, rest.state ? &rest : &own);
	else if (waiter)
		keep_own(waiter, event, &span, &own);
	return sum_pieces(&pieces, &rest, length(&span), parts);
}

uint64_t inherited_waits_dropped(const struct inherited_waits *waits)
{
	return waits->dropped;
}
