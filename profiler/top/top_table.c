/* Sums samples by function, line, stack, class, tag, stall, device or process. */

#include "profiler/top/top_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "profiler/format/saturating.h"
#include "profiler/loaded/loaded_frames.h"
#include "profiler/loaded/loaded_profiles.h"
#include "symbolizer/base/compare.h"

/* --- sums by name -----------------------------------------------------------------------------------------
 */

struct sum {
	struct top_entry entry;
	char *name;
	uint64_t last_sample; /* counted from 1: a function that recurs in a stack counts once */
	UT_hash_handle hh;
};

struct top_sums {
	struct sum *by_name;
	uint64_t sample;
	int64_t value;
	struct loaded_stack *stack; /* of the sample; NULL: names are no frames */
	size_t at;                  /* the next frame of it */
};

static struct sum *sum_new(struct top_sums *sums, const char *name)
{
	struct sum *sum = calloc(1, sizeof(*sum));

	if (!sum)
		return NULL;
	sum->name = strdup(name);
	sum->entry.name = sum->name;
	if (sum->name)
		HASH_ADD_KEYPTR(hh, sums->by_name, sum->name, strlen(sum->name), sum);
	if (sum->name && sum->hh.tbl)
		return sum;
	free(sum->name);
	free(sum);
	return NULL;
}

/* Whether the frame that comes now is no native code below Python's. */
static bool next_is_own(struct top_sums *sums)
{
	size_t at = sums->at++;

	return !sums->stack || at >= sums->stack->n || !loaded_stack_folds(sums->stack, at);
}

/* Adds the current sample's value to a name it touches; as_flat also where it ends. */
static int sums_add(struct top_sums *sums, const char *name, bool as_flat)
{
	bool is_own = next_is_own(sums);
	struct sum *sum = NULL;

	HASH_FIND_STR(sums->by_name, name, sum);
	if (!sum)
		sum = sum_new(sums, name);
	if (!sum)
		return -ENOMEM;
	sum->entry.is_own |= is_own;
	if (as_flat)
		sum->entry.flat = saturating_add(sum->entry.flat, sums->value);
	if (sum->last_sample == sums->sample)
		return 0;
	sum->last_sample = sums->sample;
	sum->entry.cum = saturating_add(sum->entry.cum, sums->value);
	sum->entry.samples++;
	return 0;
}

static void sums_free(struct top_sums *sums)
{
	struct sum *sum, *next;

	sum = sums->by_name;
	HASH_CLEAR(hh, sums->by_name);
	while (sum) {
		next = sum->hh.next;
		free(sum->name);
		free(sum);
		sum = next;
	}
}

static int add_name(void *context, const char *name, bool is_leaf)
{
	return sums_add(context, name, is_leaf);
}

/* --- the table --------------------------------------------------------------------------------------------
 */

static int compare_flat(const void *left, const void *right)
{
	const struct top_entry *a = left, *b = right;
	int order = compare_i64(b->flat, a->flat);

	order = order ? order : compare_i64(b->cum, a->cum);
	return order ? order : strcmp(a->name, b->name);
}

static int compare_cum(const void *left, const void *right)
{
	const struct top_entry *a = left, *b = right;
	int order = compare_i64(b->cum, a->cum);

	return order ? order : compare_flat(left, right);
}

/* Hands the names over to the table: they stay where they are, in sums. */
static int make_entries(struct top_table *table, struct top_sums *sums, bool by_cum)
{
	size_t i = 0;

	table->count = HASH_COUNT(sums->by_name);
	table->entries = calloc(table->count ? table->count : 1, sizeof(*table->entries));
	if (!table->entries)
		return -ENOMEM;
	for (const struct sum *sum = sums->by_name; sum; sum = sum->hh.next)
		table->entries[i++] = sum->entry;
	qsort(table->entries, table->count, sizeof(*table->entries), by_cum ? compare_cum : compare_flat);
	table->memory = sums;
	return 0;
}

int top_table_build(struct top_table *table, const struct loaded_profiles *input,
                    const struct loaded_tags *tags, const struct loaded_filter *filter, enum top_by by,
                    size_t type, bool by_cum)
{
	bool frames = by == TOP_BY_FUNCTION || by == TOP_BY_LINE;
	struct top_sums *sums = calloc(1, sizeof(*sums));
	struct loaded_stack *stack = frames ? calloc(1, sizeof(*stack)) : NULL;
	struct loaded_sample sample;
	int err = sums && (stack || !frames) ? 0 : -ENOMEM;

	*table = (struct top_table){ .total = 0 };
	for (size_t i = 0; !err && loaded_sample_get(input, tags, i, &sample); i++) {
		int64_t value = sample.view.values[type];

		if (!value || !loaded_filter_sample(filter, input, &sample))
			continue;
		table->total = saturating_add(table->total, value);
		sums->sample = ++table->samples;
		sums->value = value;
		sums->stack = stack;
		sums->at = 0;
		if (stack)
			loaded_stack_get(stack, input->profile, &sample.view);
		err = top_names_visit(input, &sample, by, NULL, add_name, sums);
	}
	if (!err)
		err = make_entries(table, sums, by_cum);
	if (err && sums) {
		sums_free(sums);
		free(sums);
	}
	free(stack);
	return err;
}

void top_table_fold(struct top_table *table)
{
	size_t kept = 0;

	for (size_t i = 0; i < table->count; i++)
		if (table->entries[i].is_own)
			table->entries[kept++] = table->entries[i];
	table->count = kept;
}

void top_table_free(struct top_table *table)
{
	if (table->memory)
		sums_free(table->memory);
	free(table->memory);
	free(table->entries);
	*table = (struct top_table){ .total = 0 };
}
