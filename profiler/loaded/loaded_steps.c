/* Percentiles of the steps of classes. */

#include "profiler/loaded/loaded_steps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/format/ledger_row.h"
#include "profiler/format/saturating.h"

static int compare_u64(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare_i64(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

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

static int compare_processes(const void *left, const void *right)
{
	const struct ledger_row *a = *(const struct ledger_row *const *)left;
	const struct ledger_row *b = *(const struct ledger_row *const *)right;
	int order = compare_u64(a->pid, b->pid);

	return order ? order : compare_u64(a->start_ns, b->start_ns);
}

static bool is_same_tag_of(const struct ledger_row *a, const struct ledger_row *b)
{
	return a->id == b->id && !strcmp(a->tag, b->tag) && !compare_processes(&a, &b);
}

/* A row of each exact tag of each process, sorted by process. NULL: no memory. */
static const struct ledger_row **tags_of_processes(struct ledger *ledger, size_t *n)
{
	const struct ledger_row **tags = calloc(ledger_count(ledger) + 1, sizeof(struct ledger_row *));

	*n = 0;
	for (size_t i = 0; tags && i < ledger_count(ledger); i++) {
		const struct ledger_row *row = ledger_at(ledger, i);

		if (!*n || !is_same_tag_of(tags[*n - 1], row))
			tags[(*n)++] = row;
	}
	if (tags)
		qsort(tags, *n, sizeof(struct ledger_row *), compare_processes);
	return tags;
}

/* Sets `inherited` of those that are all that their process has. */
static int mark_only_ones(struct loaded_step *steps, size_t n, struct ledger *ledger)
{
	size_t n_tags;
	const struct ledger_row **tags = tags_of_processes(ledger, &n_tags);

	if (!tags)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const struct ledger_row **at =
		        bsearch(&steps[i].row, tags, n_tags, sizeof(*tags), compare_processes);

		steps[i].inherited = at && (at == tags || compare_processes(at - 1, at) != 0) &&
		                     (at == tags + n_tags - 1 || compare_processes(at, at + 1) != 0);
	}
	free(tags);
	return 0;
}

static bool same_tag(const struct loaded_step *a, const struct loaded_step *b)
{
	return a->of == b->of && a->row->id == b->row->id && !strcmp(a->row->tag, b->row->tag);
}

/* Takes it back where no other process has the tag that is marked not so. */
static void unmark_alone(struct loaded_step *steps, size_t n)
{
	size_t first = 0, end;

	for (; first < n; first = end) {
		bool has_owner = !steps[first].inherited;

		for (end = first + 1; end < n && same_tag(&steps[first], &steps[end]); end++)
			has_owner |= !steps[end].inherited;
		for (size_t i = first; i < end && !has_owner; i++)
			steps[i].inherited = false;
	}
}

int loaded_steps_take(struct loaded_step *steps, size_t n_steps, struct ledger *ledger,
                      void (*take)(void *of, const struct loaded_step_times *times))
{
	size_t first = 0, end, n;
	int err = mark_only_ones(steps, n_steps, ledger);

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
