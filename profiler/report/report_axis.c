/* Maps Unix time to an axis without some stretches of it, and back. */

#include "profiler/report/report_axis.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/format/timeline.h"
#include "symbolizer/base/growing_array.h"
#include "symbolizer/base/search.h"

#define CUTS_MAX (1u << 20)

void report_axis_free(struct report_axis *axis)
{
	free(axis->cuts);
	*axis = (struct report_axis){ .n = 0 };
}

int report_axis_cut(struct report_axis *axis, uint64_t from_ns, uint64_t to_ns)
{
	struct report_cut *cuts;
	uint64_t before_ns = 0;
	size_t at, end;
	int err = growing_array_reserve((void **)&axis->cuts, axis->n + 1, &axis->room, sizeof(*axis->cuts),
	                                CUTS_MAX);

	if (err)
		return -ENOMEM;
	cuts = axis->cuts;
	at = search_past(i, 0, axis->n, cuts[i].to_ns < from_ns);
	for (end = at; end < axis->n && cuts[end].from_ns <= to_ns; end++) {
		from_ns = cuts[end].from_ns < from_ns ? cuts[end].from_ns : from_ns;
		to_ns = cuts[end].to_ns > to_ns ? cuts[end].to_ns : to_ns;
	}
	memmove(cuts + at + 1, cuts + end, (axis->n - end) * sizeof(*cuts));
	axis->n -= end - at;
	axis->n++;
	cuts[at] = (struct report_cut){ .from_ns = from_ns, .to_ns = to_ns };
	for (size_t i = 0; i < axis->n; i++) {
		cuts[i].before_ns = before_ns;
		before_ns += cuts[i].to_ns - cuts[i].from_ns;
	}
	return 0;
}

static int compare_begins(const void *left, const void *right)
{
	const struct report_cut *a = left, *b = right;

	return (a->from_ns > b->from_ns) - (a->from_ns < b->from_ns);
}

/* The buckets of all lanes that have a point, by their begin; the caller frees them. NULL: no memory, or there are none. */
static struct report_cut *list_buckets(const struct timeline *timeline, size_t *n)
{
	struct report_cut *buckets;
	size_t all = 0;

	*n = 0;
	for (size_t i = 0, count; i < timeline_count(timeline); i++, all += count)
		timeline_points(timeline, i, &count);
	buckets = all ? calloc(all, sizeof(*buckets)) : NULL;
	for (size_t i = 0, count; buckets && i < timeline_count(timeline); i++) {
		const struct timeline_point *points = timeline_points(timeline, i, &count);
		uint64_t bucket_ns = timeline_lane_at(timeline, i)->bucket_ns;

		for (size_t p = 0; p < count; p++)
			buckets[(*n)++] = (struct report_cut){ .from_ns = points[p].begin_ns,
				                               .to_ns = points[p].begin_ns + bucket_ns };
	}
	if (buckets)
		qsort(buckets, *n, sizeof(*buckets), compare_begins);
	return buckets;
}

int report_axis_cut_gaps(struct report_axis *axis, const struct timeline *timeline, uint64_t edge_ns,
                         uint64_t grain_ns)
{
	size_t n;
	struct report_cut *buckets = list_buckets(timeline, &n);
	uint64_t end_ns = n ? buckets[0].to_ns : 0;
	int err = buckets || !timeline_count(timeline) ? 0 : -ENOMEM;

	for (size_t i = 0; i < n && !err; i++) {
		const struct report_cut *bucket = &buckets[i];

		if (bucket->from_ns > end_ns && bucket->from_ns - end_ns > 2 * edge_ns) {
			uint64_t length_ns = bucket->from_ns - end_ns - 2 * edge_ns;

			length_ns -= length_ns % grain_ns;
			if (length_ns)
				err = report_axis_cut(axis, end_ns + edge_ns, end_ns + edge_ns + length_ns);
		}
		end_ns = bucket->to_ns > end_ns ? bucket->to_ns : end_ns;
	}
	free(buckets);
	return err;
}

uint64_t report_axis_at(const struct report_axis *axis, uint64_t unix_ns)
{
	const struct report_cut *cuts = axis->cuts;
	size_t past = search_past(i, 0, axis->n, cuts[i].from_ns <= unix_ns);

	if (!past)
		return unix_ns;
	cuts += past - 1;
	return unix_ns < cuts->to_ns ? cuts->from_ns - cuts->before_ns
	                             : unix_ns - cuts->before_ns - (cuts->to_ns - cuts->from_ns);
}

uint64_t report_axis_unix(const struct report_axis *axis, uint64_t at_ns)
{
	const struct report_cut *cuts = axis->cuts;
	size_t past = search_past(i, 0, axis->n, cuts[i].from_ns - cuts[i].before_ns <= at_ns);

	return past ? at_ns + cuts[past - 1].before_ns + (cuts[past - 1].to_ns - cuts[past - 1].from_ns)
	            : at_ns;
}
