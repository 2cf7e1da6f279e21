/* Sums samples by function, line, stack, class, tag, stall, device or process. */

#include "profiler/top/top_table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "profiler/loaded/loaded_frames.h"
#include "profiler/loaded/loaded_profiles.h"

static const char *const by_names[TOP_BYS] = {
	[TOP_BY_FUNCTION] = "function", [TOP_BY_LINE] = "line",       [TOP_BY_STACK] = "stack",
	[TOP_BY_CLASS] = "class",       [TOP_BY_TAG] = "tag",         [TOP_BY_STALL] = "stall",
	[TOP_BY_DEVICE] = "device",     [TOP_BY_PROCESS] = "process",
};

const char *top_by_name(enum top_by by)
{
	return by_names[by];
}

bool top_by_parse(const char *name, enum top_by *by)
{
	for (unsigned i = 0; i < TOP_BYS; i++) {
		if (!strcmp(name, by_names[i])) {
			*by = i;
			return true;
		}
	}
	return false;
}

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
};

static int64_t saturating_add(int64_t a, int64_t b)
{
	int64_t sum;

	if (__builtin_add_overflow(a, b, &sum))
		return b > 0 ? INT64_MAX : INT64_MIN;
	return sum;
}

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

/* Adds the current sample's value to a name it touches; as_flat also where it ends. */
static int sums_add(struct top_sums *sums, const char *name, bool as_flat)
{
	struct sum *sum = NULL;

	HASH_FIND_STR(sums->by_name, name, sum);
	if (!sum)
		sum = sum_new(sums, name);
	if (!sum)
		return -ENOMEM;
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

/* --- what a sample is counted under -----------------------------------------------------------------------
 */

static void format_frame(char *text, size_t size, const struct profile_frame *frame, bool with_line)
{
	const char *name = frame->function && *frame->function ? frame->function : "[unnamed]";

	if (!with_line || !frame->file || !*frame->file)
		snprintf(text, size, "%s", name);
	else if (!frame->line)
		snprintf(text, size, "%s %s", name, frame->file);
	else
		snprintf(text, size, "%s %s:%" PRIu32, name, frame->file, frame->line);
}

typedef int (*frame_visitor)(void *context, const char *text, bool is_leaf);

/* Calls visit for each frame of a stack, leaf first. */
static int visit_frames(const struct profile *profile, const struct profile_sample_view *view, bool with_line,
                        frame_visitor visit, void *context)
{
	struct profile_location_view location;
	char text[8192];
	int err = 0;

	for (size_t i = 0; i < view->n_locations && !err; i++) {
		if (!profile_get_location(profile, view->location_ids[i], &location))
			continue;
		for (size_t f = 0; f < location.n_frames && !err; f++) {
			format_frame(text, sizeof(text), &location.frames[f], with_line);
			err = visit(context, text, i == 0 && f == 0);
		}
		if (!location.n_frames) {
			loaded_address_text(text, sizeof(text), profile, &location);
			err = visit(context, text, i == 0);
		}
	}
	return err;
}

static int visit_sum(void *context, const char *text, bool is_leaf)
{
	return sums_add(context, text, is_leaf);
}

static int visit_print(void *context, const char *text, bool is_leaf)
{
	fprintf(context, "%s%s", is_leaf ? "" : "\n", text);
	return 0;
}

/* Equal stacks of different causes are different things to look at. */
static void print_cause(FILE *stream, const struct loaded_sample *sample)
{
	const char *parts[] = { sample->stall, sample->device, sample->class };
	const char *separator = "";

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (!*parts[i])
			continue;
		fprintf(stream, "%s%s", separator, parts[i]);
		separator = ", ";
	}
	fputs(*separator ? "\n" : "", stream);
}

static int add_stack(struct top_sums *sums, const struct profile *profile, const struct loaded_sample *sample)
{
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);
	bool failed;
	int err;

	if (!stream)
		return -ENOMEM;
	print_cause(stream, sample);
	visit_frames(profile, &sample->view, true, visit_print, stream);
	failed = ferror(stream) != 0;
	failed |= fclose(stream) != 0;
	err = failed ? -ENOMEM : sums_add(sums, text, true);
	free(text);
	return err;
}

/* The exact tag: ids are shared by names, and names by ids. */
static int add_tag(struct top_sums *sums, const struct loaded_sample *sample)
{
	char name[1024];

	if (!*sample->id)
		return sums_add(sums, *sample->tag ? sample->tag : "[no tag]", true);
	snprintf(name, sizeof(name), "%s id %s", sample->tag, sample->id);
	return sums_add(sums, name, true);
}

/* Each class of each process. */
static int add_process(struct top_sums *sums, const struct loaded_sample *sample)
{
	char name[1024];

	snprintf(name, sizeof(name), "%s [%" PRId64 "]", sample->class, sample->pid);
	return sums_add(sums, name, true);
}

static int add_sample(struct top_sums *sums, const struct loaded_profiles *input,
                      const struct loaded_sample *sample, enum top_by by)
{
	switch (by) {
	case TOP_BY_FUNCTION:
	case TOP_BY_LINE:
		return visit_frames(input->profile, &sample->view, by == TOP_BY_LINE, visit_sum, sums);
	case TOP_BY_STACK:
		return add_stack(sums, input->profile, sample);
	case TOP_BY_CLASS:
		return sums_add(sums, *sample->class ? sample->class : "[no tag]", true);
	case TOP_BY_TAG:
		return add_tag(sums, sample);
	case TOP_BY_PROCESS:
		return add_process(sums, sample);
	case TOP_BY_STALL:
		return sums_add(sums, *sample->stall ? sample->stall : "[no stall]", true);
	case TOP_BY_DEVICE:
		return sums_add(sums, *sample->device ? sample->device : "[no device]", true);
	case TOP_BYS:
		break;
	}
	return -EINVAL;
}

/* --- the table --------------------------------------------------------------------------------------------
 */

static int compare_i64(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

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
	struct top_sums *sums = calloc(1, sizeof(*sums));
	struct loaded_sample sample;
	int err = sums ? 0 : -ENOMEM;

	*table = (struct top_table){ .total = 0 };
	for (size_t i = 0; !err && loaded_sample_get(input, tags, i, &sample); i++) {
		int64_t value = sample.view.values[type];

		if (!value || !loaded_filter_sample(filter, input, &sample))
			continue;
		table->total = saturating_add(table->total, value);
		sums->sample = ++table->samples;
		sums->value = value;
		err = add_sample(sums, input, &sample, by);
	}
	if (!err)
		err = make_entries(table, sums, by_cum);
	if (err && sums) {
		sums_free(sums);
		free(sums);
	}
	return err;
}

void top_table_free(struct top_table *table)
{
	if (table->memory)
		sums_free(table->memory);
	free(table->memory);
	free(table->entries);
	*table = (struct top_table){ .total = 0 };
}
