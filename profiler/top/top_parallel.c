/* Compares a process's tagged time with when the timeline has time of its classes. */

#include "profiler/top/top_parallel.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/format/saturating.h"
#include "profiler/format/stamp.h"
#include "profiler/format/timeline.h"

#define BUCKETS_MAX 65536

/* Of a bucket, for the waits that a sample stands for and for what the ledger counts in the next second. */
#define BUCKET_SLACK 4
/* Of the whole, as for what was covered (top_processes.c). */
#define SPAN_SLACK 100

/* From the first to the last time, in buckets as wide as the widest of its lanes. */
struct span {
	uint64_t begin_ns, end_ns, bucket_ns;
};

static bool is_of(const struct timeline_lane *lane, const struct top_parallel *time)
{
	return lane->kind != TIMELINE_STEPS && lane->kind != TIMELINE_SIGNAL && lane->kind != TIMELINE_SPIN &&
	       time->has_class(time->process, lane->class);
}

/* False: there is no such lane. */
static bool find_span(const struct timeline *timeline, const struct top_parallel *time, struct span *span)
{
	*span = (struct span){ .begin_ns = UINT64_MAX, .bucket_ns = TIMELINE_LEDGER_BUCKET_NS };
	for (size_t i = 0; i < timeline_count(timeline); i++) {
		const struct timeline_lane *lane = timeline_lane_at(timeline, i);
		const struct timeline_point *points;
		uint64_t end_ns;
		size_t n;

		if (!is_of(lane, time))
			continue;
		points = timeline_points(timeline, i, &n);
		if (!n)
			continue;
		end_ns = points[n - 1].begin_ns;
		end_ns = end_ns > UINT64_MAX - lane->bucket_ns ? UINT64_MAX : end_ns + lane->bucket_ns;
		if (points[0].begin_ns < span->begin_ns)
			span->begin_ns = points[0].begin_ns;
		if (end_ns > span->end_ns)
			span->end_ns = end_ns;
		if (lane->bucket_ns > span->bucket_ns)
			span->bucket_ns = lane->bucket_ns;
	}
	if (span->end_ns <= span->begin_ns)
		return false;
	while ((span->end_ns - span->begin_ns) / span->bucket_ns >= BUCKETS_MAX)
		span->bucket_ns *= 2;
	return true;
}

/* A narrower bucket counts in that in which it begins. */
static void sum_buckets(const struct timeline *timeline, const struct top_parallel *time,
                        const struct span *span, int64_t *buckets)
{
	for (size_t i = 0; i < timeline_count(timeline); i++) {
		const struct timeline_point *points;
		size_t n;

		if (!is_of(timeline_lane_at(timeline, i), time))
			continue;
		points = timeline_points(timeline, i, &n);
		for (size_t p = 0; p < n; p++) {
			int64_t *to = &buckets[(points[p].begin_ns - span->begin_ns) / span->bucket_ns];

			*to = saturating_add(*to, points[p].value);
		}
	}
}

/* Whether some bucket has more than so many threads can have had. What the one before lacks may be told in it: time on a run queue is, when it
 * is over. */
static bool any_above(const int64_t *buckets, size_t n, double each_ns)
{
	double untold_ns = 0;

	for (size_t i = 0; i < n; i++) {
		if ((double)buckets[i] > each_ns * (1 + 1.0 / BUCKET_SLACK) + untold_ns)
			return true;
		untold_ns = fmin(fmax(untold_ns + each_ns - (double)buckets[i], 0), each_ns);
	}
	return false;
}

/* Whether the lanes have more from the process's begin until the next one's than the older ones and one thread had, in the buckets that have any. The
 * last bucket before that may have some of the next one's. */
static bool more_until_next(const int64_t *buckets, const struct span *span, const struct top_parallel *time)
{
	double room_ns = 0, sum_ns = -(double)time->older_ns;
	uint64_t bucket_ns = span->bucket_ns, at_ns = span->begin_ns;

	if (!time->begin_ns || !time->next_ns || time->next_ns > span->end_ns)
		return false;
	for (size_t i = 0; at_ns < time->next_ns && time->next_ns - at_ns >= 2 * bucket_ns;
	     i++, at_ns += bucket_ns) {
		uint64_t from_ns = time->begin_ns > at_ns ? time->begin_ns : at_ns;

		sum_ns += (double)buckets[i];
		if (buckets[i] > 0 && from_ns - at_ns < bucket_ns)
			room_ns += (double)(bucket_ns - (from_ns - at_ns));
	}
	return room_ns > 0 && sum_ns > room_ns * (1 + 1.0 / SPAN_SLACK) + (double)bucket_ns / 2;
}

/* How long the process can have lived while its classes had time. */
static uint64_t longest_life(const struct span *span, const struct top_parallel *time)
{
	uint64_t begin_ns = time->begin_ns > span->begin_ns ? time->begin_ns : span->begin_ns;

	return begin_ns < span->end_ns ? span->end_ns - begin_ns : 0;
}

bool top_parallel(const struct timeline *timeline, const struct top_parallel *time)
{
	struct span span;
	uint64_t length_ns, life_ns;
	int64_t *buckets;
	double each_ns;
	bool more;

	if (!timeline || !find_span(timeline, time, &span))
		return false;
	length_ns = span.end_ns - span.begin_ns;
	life_ns = longest_life(&span, time);
	if ((uint64_t)time->ns >
	    life_ns + life_ns / SPAN_SLACK + (time->begin_ns ? STAMP_CLOCKS_DRIFT_NS : 0))
		return true;
	buckets = calloc(length_ns / span.bucket_ns + 1, sizeof(*buckets));
	if (!buckets)
		return false;
	sum_buckets(timeline, time, &span, buckets);
	each_ns = (double)span.bucket_ns * (double)time->n_processes;
	more = any_above(buckets, length_ns / span.bucket_ns + 1, each_ns) ||
	       more_until_next(buckets, &span, time);
	free(buckets);
	return more;
}
