/* Keeps the last waits of each thread, and splits a wait by those of the thread that ended it. */

#include "profiler/session/inherited_waits.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

/* A thread that has waited within this time is dropped at a loss. */
#define STILL_NS 10000000000ULL
/* What is below this part of a wait is left out. */
#define LEAST_PART 64

struct waiter {
	uint32_t tid;
	uint64_t process_start_ns;
	const char *class; /* of the tag of its last wait */
	struct kept_waits kept;
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
	return waiter->kept.n && waiter->kept.wait[waiter->kept.n - 1].span.end_ns + STILL_NS > now_ns;
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
static struct waiter *waiter_of(struct inherited_waits *waits, const struct abi_event *event,
                                const char *class)
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
	waiter->class = class;
	return add_last(waits, waiter) ? waiter : NULL;
}

/* --- a wait that is split ------------------------------------------------------------------------------------ */

/* For what a span of a wait was: the waits of another thread that lie in it, in the order in which they began, and the rest. */
struct pieces {
	struct span span;
	struct wait piece[KEPT_WAITS_MAX];
	size_t n;
	uint64_t sum_ns;
	struct inherited rest; /* state 0: not known */
};

static int by_begin(const void *left, const void *right)
{
	const struct wait *a = left, *b = right;

	return (a->span.begin_ns > b->span.begin_ns) - (a->span.begin_ns < b->span.begin_ns);
}

static void add_pieces(struct pieces *pieces, const struct waiter *waker, const struct span *span)
{
	for (size_t i = 0; waker && i < waker->kept.n; i++) {
		const struct wait *wait = &waker->kept.wait[i];
		uint64_t both = overlap(&wait->span, span);
		struct wait piece = { wait->span, scaled(wait->ns, both, span_ns(&wait->span)), wait->what };

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

/* Together they are no longer than the span: some were taken for longer ones, by lot. */
static void fit_pieces(struct pieces *pieces)
{
	uint64_t whole_ns = span_ns(&pieces->span), sum_ns = 0;

	for (size_t i = 0; i < pieces->n && pieces->sum_ns > whole_ns; i++) {
		struct wait *piece = &pieces->piece[i];

		piece->ns = scaled(piece->ns, whole_ns, pieces->sum_ns);
		sum_ns += piece->ns;
	}
	if (sum_ns)
		pieces->sum_ns = sum_ns;
}

/* `of`: the other thread, NULL if none of its waits is known; `class`: of its tag, NULL if it holds none. */
static void take_pieces(struct pieces *pieces, const struct waiter *of, const char *class,
                        const struct span *span)
{
	pieces->span = *span;
	pieces->n = 0;
	pieces->sum_ns = 0;
	pieces->rest = (struct inherited){ class, "", class ? INHERITED_ACTIVE : 0, 0 };
	add_pieces(pieces, of, span);
	qsort(pieces->piece, pieces->n, sizeof(pieces->piece[0]), by_begin);
	fit_pieces(pieces);
}

/* The waker's; of the time before it was made those of the thread that made it. Returns in how many spans. */
static size_t take_spans(struct pieces pieces[2], const struct inherited_waits *waits,
                         const struct inherited_waker *waker, const struct span *span)
{
	struct span alive = *span, before = *span;
	size_t n = 0;

	if (waker->creator && waker->born_ns > span->begin_ns && waker->born_ns < span->end_ns) {
		const struct waiter *creator = find(waits, waker->creator);

		alive.begin_ns = before.end_ns = waker->born_ns;
		take_pieces(&pieces[n++], creator, creator ? creator->class : NULL, &before);
	}
	take_pieces(&pieces[n++], find(waits, waker->tid), waker->class, &alive);
	return n;
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

/* The sums of what the spans were for, the longest first. Returns how many. */
static size_t sum_spans(const struct pieces *spans, size_t n_spans, uint64_t whole_ns,
                        struct inherited_part parts[INHERITED_PARTS])
{
	struct inherited_part all[2 * (KEPT_WAITS_MAX + 1)];
	size_t n = 0, told = 0;

	for (size_t i = 0; i < n_spans; i++) {
		const struct pieces *pieces = &spans[i];

		for (size_t k = 0; k < pieces->n; k++)
			add_part(all, &n, &pieces->piece[k].what, pieces->piece[k].ns);
		if (pieces->rest.state && span_ns(&pieces->span) > pieces->sum_ns)
			add_part(all, &n, &pieces->rest, span_ns(&pieces->span) - pieces->sum_ns);
	}
	qsort(all, n, sizeof(all[0]), by_length);
	while (told < n && told < INHERITED_PARTS && all[told].ns && all[told].ns >= whole_ns / LEAST_PART) {
		parts[told] = all[told];
		told++;
	}
	return told;
}

static uint64_t shortfall(const struct wait *piece)
{
	return span_ns(&piece->span) > piece->ns ? span_ns(&piece->span) - piece->ns : 0;
}

/* How much of the span lies between the pieces. */
static uint64_t between_pieces(const struct pieces *pieces, const struct span *span)
{
	uint64_t covered_to = span->begin_ns, sum_ns = 0;

	for (size_t i = 0; i < pieces->n; i++) {
		const struct span *piece = &pieces->piece[i].span;

		if (piece->begin_ns > covered_to)
			sum_ns += piece->begin_ns - covered_to;
		if (piece->end_ns > covered_to)
			covered_to = piece->end_ns;
	}
	return sum_ns + (span->end_ns - covered_to);
}

/* What is left of a wait that is split, and the room for it between and within the pieces. */
struct remainder {
	const struct inherited *what;
	uint64_t between_ns, gaps_ns; /* so much of it lies between them, in gaps that are so long */
	uint64_t within_ns,
	        short_ns; /* the same of what lies within those that are shorter than their spans */
};

static struct remainder remainder_of(const struct pieces *pieces, const struct inherited *what)
{
	uint64_t whole_ns = span_ns(&pieces->span),
	         left_ns = whole_ns > pieces->sum_ns ? whole_ns - pieces->sum_ns : 0;
	struct remainder rest = { .what = what, .gaps_ns = between_pieces(pieces, &pieces->span) };

	for (size_t i = 0; i < pieces->n; i++)
		rest.short_ns += shortfall(&pieces->piece[i]);
	/* A piece that was sampled by lot stands for others, which lie in the gaps. */
	rest.between_ns = left_ns < rest.gaps_ns ? left_ns : rest.gaps_ns;
	rest.within_ns = left_ns - rest.between_ns;
	return rest;
}

static void keep_gap(struct waiter *waiter, uint64_t begin_ns, uint64_t end_ns, const struct remainder *rest)
{
	const struct span gap = { begin_ns, end_ns };

	if (begin_ns < end_ns)
		kept_waits_add(&waiter->kept, &gap, rest->what,
		               scaled(rest->between_ns, span_ns(&gap), rest->gaps_ns));
}

/* Keeps the pieces as the waiter's own waits, each where it lies, and what is left of its wait between them and, as a piece
 * may be of several waits, within: together they are as long as the wait. */
static void keep_pieces(struct waiter *waiter, const struct pieces *pieces, const struct inherited *own)
{
	const struct remainder rest = remainder_of(pieces, pieces->rest.state ? &pieces->rest : own);
	const struct span *span = &pieces->span;
	uint64_t covered_to = span->begin_ns;

	for (size_t i = 0; i < pieces->n; i++) {
		const struct wait *piece = &pieces->piece[i];

		keep_gap(waiter, covered_to, piece->span.begin_ns, &rest);
		kept_waits_add(&waiter->kept, &piece->span, &piece->what, piece->ns);
		kept_waits_add(&waiter->kept, &piece->span, rest.what,
		               scaled(rest.within_ns, shortfall(piece), rest.short_ns));
		if (piece->span.end_ns > covered_to)
			covered_to = piece->span.end_ns;
	}
	keep_gap(waiter, covered_to, span->end_ns, &rest);
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
	kept_waits_add(&waiter->kept, span, own,
	               event->weight_ns > event->duration_ns ? event->weight_ns : event->duration_ns);
}

size_t inherited_waits_take(struct inherited_waits *waits, const struct abi_event *event, const char *class,
                            const char *device, const struct inherited_waker *waker,
                            struct inherited_part parts[INHERITED_PARTS])
{
	const struct inherited own = { class, device, event->state, event->cause };
	const struct span span = { event->time_ns - event->duration_ns, event->time_ns };
	struct pieces spans[2];
	struct waiter *waiter;
	size_t n = 0;

	if (!inherited_waits_wants(event))
		return 0;
	if (waker && waker->tid != event->tid)
		n = take_spans(spans, waits, waker, &span);
	waiter = waiter_of(waits, event, class);
	if (waiter && event->moved_ns > 0)
		kept_waits_forget(&waiter->kept, event->moved_state, event->moved_cause, span.begin_ns);
	for (size_t i = 0; waiter && i < n; i++)
		keep_pieces(waiter, &spans[i], &own);
	if (waiter && !n)
		keep_own(waiter, event, &span, &own);
	return sum_spans(spans, n, span_ns(&span), parts);
}

uint64_t inherited_waits_dropped(const struct inherited_waits *waits)
{
	return waits->dropped;
}
