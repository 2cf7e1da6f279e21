/* Maps Unix time to an axis without some stretches of it, and back. */

#include "profiler/report/report_axis.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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
