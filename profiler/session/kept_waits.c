/* Keeps the last waits of a thread in a few places. */

#include "profiler/session/kept_waits.h"

#include <stdbool.h>
#include <string.h>

/* Waits for the same thing that lie further apart are two, at first. */
#define TOUCH_NS 1000ULL
/* Where there are too many, the older ones are made one, as long as what has passed since, divided by that; if need be, multiplied. So
 * that a later wait which begins within one is at least that much longer, and how the shorter ones lay in there matters little. */
#define AGE_PART  4
#define AGE_TIMES 16
#define NEWEST    8

_Static_assert(sizeof(struct inherited) == 24, "no padding");

static bool same_thing(const struct wait *a, const struct wait *b)
{
	return a->what.cause == b->what.cause && !memcmp(&a->what, &b->what, sizeof(a->what));
}

static void merge(struct wait *wait, const struct wait *next)
{
	if (wait->span.begin_ns > next->span.begin_ns)
		wait->span.begin_ns = next->span.begin_ns;
	if (wait->span.end_ns < next->span.end_ns)
		wait->span.end_ns = next->span.end_ns;
	wait->ns += next->ns;
}

/* The last wait for the same thing; NULL: there is none. */
static struct wait *last_like(struct kept_waits *kept, const struct wait *next)
{
	for (size_t i = kept->n; i; i--)
		if (same_thing(&kept->wait[i - 1], next))
			return &kept->wait[i - 1];
	return NULL;
}

static uint64_t merged_ns(const struct wait *a, const struct wait *b)
{
	struct span both = a->span;

	if (both.begin_ns > b->span.begin_ns)
		both.begin_ns = b->span.begin_ns;
	if (both.end_ns < b->span.end_ns)
		both.end_ns = b->span.end_ns;
	return span_ns(&both);
}

static uint64_t newest_end(const struct kept_waits *kept)
{
	uint64_t end_ns = 0;

	for (size_t i = 0; i < kept->n; i++)
		if (kept->wait[i].span.end_ns > end_ns)
			end_ns = kept->wait[i].span.end_ns;
	return end_ns;
}

/* Makes one of older waits for the same thing, as long as their age allows, that times `times`. Returns how many are left. */
static size_t merge_older(struct kept_waits *kept, uint64_t times)
{
	uint64_t now_ns = newest_end(kept);
	size_t n = kept->n;

	kept->n = 0;
	for (size_t i = 0; i < n; i++) {
		struct wait wait = kept->wait[i];
		struct wait *before = i + NEWEST < n ? last_like(kept, &wait) : NULL;
		uint64_t age_ns = now_ns > wait.span.end_ns ? now_ns - wait.span.end_ns : 0;

		if (before && merged_ns(before, &wait) <= age_ns / AGE_PART * times)
			merge(before, &wait);
		else
			kept->wait[kept->n++] = wait;
	}
	return kept->n;
}

/* Makes room: at least half of the places are free then. */
static void compact(struct kept_waits *kept)
{
	size_t left = kept->n;

	for (uint64_t times = 1; left > KEPT_WAITS_MAX / 2 && times <= AGE_TIMES; times *= 2)
		left = merge_older(kept, times);
	if (left <= KEPT_WAITS_MAX / 2)
		return;
	memmove(kept->wait, kept->wait + left - KEPT_WAITS_MAX / 2,
	        KEPT_WAITS_MAX / 2 * sizeof(kept->wait[0]));
	kept->n = KEPT_WAITS_MAX / 2;
}

void kept_waits_add(struct kept_waits *kept, const struct span *span, const struct inherited *what,
                    uint64_t ns)
{
	const struct wait wait = { *span, ns, *what };
	struct wait *before;

	if (!ns)
		return;
	if (kept->n == KEPT_WAITS_MAX)
		compact(kept);
	before = last_like(kept, &wait);
	/* What windows cut, and pieces of one wait. */
	if (before && before->span.end_ns <= span->begin_ns &&
	    span->begin_ns - before->span.end_ns <= TOUCH_NS && before->ns == span_ns(&before->span) &&
	    ns == span_ns(span))
		merge(before, &wait);
	else
		kept->wait[kept->n++] = wait;
}

void kept_waits_forget(struct kept_waits *kept, uint32_t state, uint32_t cause, uint64_t begin_ns)
{
	size_t n = kept->n;

	kept->n = 0;
	for (size_t i = 0; i < n; i++) {
		struct wait wait = kept->wait[i];

		if (wait.what.state != state || wait.what.cause != cause || wait.span.begin_ns < begin_ns)
			kept->wait[kept->n++] = wait;
	}
}
