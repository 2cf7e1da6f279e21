/* Percentiles of the steps of classes. */

#include "profiler/loaded/loaded_steps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/format/ledger_row.h"
#include "profiler/format/saturating.h"
#include "symbolizer/base/compare.h"

static bool is_no_step(const struct loaded_step *step)
{
	return step->row->folded || step->inherited;
}

static int compare_steps(const void *left, const void *right)
{
	const struct loaded_step *a = left, *b = right;
	int order = compare_u64((uintptr_t)a->of, (uintptr_t)b->of);

	order = order ? order : is_no_step(a) - is_no_step(b);
	order = order ? order : compare_i64(a->wall_ns, b->wall_ns);
	/* So that of equal steps the same one is the worst each time. */
	order = order ? order : -strcmp(a->row->tag, b->row->tag);
	return order ? order : -compare_u64(a->row->id, b->row->id);
}

/* The percentile of n sorted steps, interpolated between the two nearest, as numpy.percentile() does. */
static int64_t percentile(const struct loaded_step *steps, size_t n, unsigned int percent)
{
	size_t hundredths = (n - 1) * percent, below = hundredths / 100;
	int64_t low = steps[below].wall_ns, high = steps[below + (below + 1 < n)].wall_ns;
	int64_t part =
	        (int64_t)((double)saturating_subtract(high, low) * (double)(hundredths % 100) / 100 + 0.5);

	return saturating_add(low, part);
}

static int compare_by_process(const void *left, const void *right)
{
	const struct loaded_step *a = *(struct loaded_step *const *)left,
	                         *b = *(struct loaded_step *const *)right;
	int order = compare_u64((uintptr_t)a->of, (uintptr_t)b->of);

	order = order ? order : compare_u64(a->row->pid, b->row->pid);
	return order ? order : compare_u64(a->row->start_ns, b->row->start_ns);
}

/* Sets `inherited` of those that are their process's only one of the class. */
static int mark_only_ones(struct loaded_step *steps, size_t n)
{
	struct loaded_step **sorted = calloc(n + 1, sizeof(struct loaded_step *));

	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		sorted[i] = &steps[i];
	qsort(sorted, n, sizeof(struct loaded_step *), compare_by_process);
	for (size_t i = 0; i < n; i++)
		sorted[i]->inherited = (!i || compare_by_process(&sorted[i - 1], &sorted[i]) != 0) &&
		                       (i + 1 == n || compare_by_process(&sorted[i], &sorted[i + 1]) != 0);
	free(sorted);
	return 0;
}

static bool same_tag(const struct loaded_step *a, const struct loaded_step *b)
{
	return a->of == b->of && a->row->id == b->row->id && !strcmp(a->row->tag, b->row->tag);
}

/* Whether the step may be a part of the other: of the same rank, as far as ranks are known. A process has its parent's. */
static bool may_be_part_of(const struct loaded_step *step, const struct loaded_step *owner)
{
	return !owner->inherited && (!step->row->rank_and_1 || !owner->row->rank_and_1 ||
	                             step->row->rank_and_1 == owner->row->rank_and_1);
}

static bool has_owner(const struct loaded_step *step, const struct loaded_step *group, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (may_be_part_of(step, &group[i]))
			return true;
	return false;
}

/* Takes it back where no other process has the tag that is marked not so: also of a rank that has come to its first step only. */
static void unmark_alone(struct loaded_step *steps, size_t n)
{
	size_t first = 0, end;

	for (; first < n; first = end) {
		bool any_owner = !steps[first].inherited;

		for (end = first + 1; end < n && same_tag(&steps[first], &steps[end]); end++)
			any_owner |= !steps[end].inherited;
		/* Of many processes that have the tag alone none is asked for among all. */
		for (size_t i = first; i < end; i++)
			steps[i].alone = steps[i].inherited &&
			                 !(any_owner && has_owner(&steps[i], &steps[first], end - first));
		for (size_t i = first; i < end; i++)
			steps[i].inherited &= !steps[i].alone;
	}
}

int loaded_steps_take(struct loaded_step *steps, size_t n_steps,
                      void (*take)(void *of, const struct loaded_step_times *times))
{
	size_t first = 0, end, n;
	int err = mark_only_ones(steps, n_steps);

	if (err)
		return err;
	unmark_alone(steps, n_steps);
	qsort(steps, n_steps, sizeof(*steps), compare_steps);
	for (; first < n_steps; first = end) {
		for (end = first + 1; end < n_steps && steps[end].of == steps[first].of;)
			end++;
		for (n = end - first; n && is_no_step(&steps[first + n - 1]);)
			n--;
		if (n)
			take(steps[first].of,
			     &(struct loaded_step_times){ .p50_ns = percentile(steps + first, n, 50),
			                                  .p99_ns = percentile(steps + first, n, 99),
			                                  .worst_ns = steps[first + n - 1].wall_ns,
			                                  .worst = steps[first + n - 1].row });
	}
	return 0;
}
