/* Collects the windows of a side, with what they are normalised by. */

#include "profiler/diff/diff_side.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/diff/diff_steps.h"
#include "profiler/format/ledger_row.h"
#include "profiler/format/request_rows.h"
#include "profiler/format/saturating.h"
#include "profiler/format/stamp.h"
#include "profiler/format/tag_hash.h"
#include "profiler/loaded/loaded_profiles.h"
#include "profiler/loaded/loaded_sample.h"

#define SECOND_NS 1000000000

static const char *const per_names[DIFF_PERS] = {
	[DIFF_PER_WALL] = "wall", [DIFF_PER_TAG] = "tag",     [DIFF_PER_STEP] = "step",
	[DIFF_PER_IO] = "io",     [DIFF_PER_BYTES] = "bytes", [DIFF_PER_NONE] = "none",
};

const char *diff_per_name(enum diff_per per)
{
	return per_names[per];
}

bool diff_per_parse(const char *name, enum diff_per *per)
{
	for (unsigned int i = 0; i < DIFF_PERS; i++) {
		if (!strcmp(name, per_names[i])) {
			*per = i;
			return true;
		}
	}
	return false;
}

int diff_side_init(struct diff_side *side, const char *place, struct diff_classes *classes)
{
	*side = (struct diff_side){ .place = place, .classes = classes, .stamp = stamp_new() };
	return side->stamp ? 0 : -ENOMEM;
}

void diff_side_release(struct diff_side *side)
{
	diff_filter_release(&side->filter);
	for (size_t i = 0; i < side->count; i++)
		free(side->windows[i].of);
	free(side->windows);
	stamp_free(side->stamp);
	*side = (struct diff_side){ .count = 0 };
}

/* --- what a profile has of each ---------------------------------------------------------------------------- */

/* Adds to a window's amount, and to that of a class. 0, -ENOMEM. */
static int add_amount(struct diff_side *side, struct diff_window *window, const char *class, unsigned int per,
                      double amount)
{
	int number = diff_classes_number(side->classes, class);

	if (number < 0)
		return number;
	window->amount[per] += amount;
	window->of[number][per] += amount;
	return 0;
}

/* Apart for tags of processes: a window without any other says nothing of the rest of the recording. */
static int add_tag_time(struct diff_side *side, struct diff_window *window, struct ledger *ledger)
{
	int err = 0;

	for (size_t i = 0; i < ledger_count(ledger) && !err; i++) {
		const struct ledger_row *row = ledger_at(ledger, i);

		if (!row || !diff_filter_row(&side->filter, row))
			continue;
		side->pushed |= !row->base;
		err = add_amount(side, window, row->class, row->base ? DIFF_BASE_TIME : DIFF_PER_TAG,
		                 (double)row->ns);
	}
	return err;
}

static int add_steps(struct diff_side *side, struct diff_window *window, const struct loaded_profiles *input)
{
	double count[DIFF_CLASSES_MAX] = { 0 };
	int err = diff_steps_count(count, side->classes, &side->filter, input);

	for (size_t c = 0; c < DIFF_CLASSES_MAX; c++) {
		window->amount[DIFF_PER_STEP] += count[c];
		window->of[c][DIFF_PER_STEP] += count[c];
	}
	return err;
}

static void add_waited(struct diff_side *side, const struct ledger_row *row)
{
	int kind = row->state == LEDGER_BLOCKED ? loaded_wait_kind(row->cause) : -1;
	bool base = row->base && !diff_filter_has_tag(&side->filter);

	if (kind >= 0)
		(base ? side->base_waited_ns : side->waited_ns)[kind] += (double)row->ns;
}

/* Each run begins all tags anew: a class whose tags have no ids has one, however many runs there are. 0, -ENOMEM. */
static int add_tag(struct diff_side *side, const struct ledger_row *row)
{
	int class = diff_classes_number(side->classes, row->class);
	struct diff_tag tag = { .known = true, .hash = tag_hash(row->tag), .id = row->id }, *first;

	if (class < 0)
		return class;
	first = &side->first_tag[class];
	if (!first->known)
		*first = tag;
	side->several_tags[class] |= first->hash != tag.hash || first->id != tag.id;
	return 0;
}

/* What is known of tags that have no samples, and of the whole that losses are a part of. 0, -ENOMEM. */
static int add_known(struct diff_side *side, struct ledger *ledger)
{
	for (size_t i = 0; i < ledger_count(ledger); i++) {
		const struct ledger_row *row = ledger_at(ledger, i);
		int class;

		if (!row)
			continue;
		if (!row->base && !row->folded && add_tag(side, row))
			return -ENOMEM;
		side->ledger_rows++;
		side->any_pushed |= !row->base;
		if (row->base)
			side->base_ns += (double)row->ns;
		else
			side->tag_ns += (double)row->ns;
		if (!diff_filter_row(&side->filter, row))
			continue;
		class = diff_classes_number(side->classes, row->class);
		if (class < 0)
			return class;
		side->ledger_rows_passed++;
		side->ledger_has[class] = true;
		add_waited(side, row);
		side->runqueue_ns += row->state == LEDGER_RUNQUEUE ? (double)row->ns : 0;
	}
	return 0;
}

static int add_requests(struct diff_side *side, struct diff_window *window, const struct request_rows *rows)
{
	int err = 0;

	for (size_t i = 0; i < request_rows_count(rows) && !err; i++) {
		const struct request_row *row = request_rows_at(rows, i);

		/* Those of no tag are somebody else's. */
		if (!*row->class || !diff_filter_request(&side->filter, row))
			continue;
		err = add_amount(side, window, row->class, DIFF_PER_IO, (double)row->requests);
		if (!err)
			err = add_amount(side, window, row->class, DIFF_PER_BYTES, (double)row->bytes);
	}
	return err;
}

static int whole_of(struct diff_side *side, struct diff_window *window, const struct loaded_profiles *input)
{
	struct stamp_coverage coverage = stamp_coverage(input->stamp);
	int err;

	*window = (struct diff_window){ .begin_ns = saturating_i64(coverage.first_ns),
		                        .wall_ns = saturating_i64(coverage.covered_ns),
		                        .of = calloc(DIFF_CLASSES_MAX, sizeof(*window->of)) };
	if (!window->of)
		return -ENOMEM;
	if (!window->wall_ns) {
		window->begin_ns = profile_time_ns(input->profile);
		window->wall_ns = profile_duration_ns(input->profile);
	}
	window->amount[DIFF_PER_WALL] = (double)window->wall_ns;
	err = add_tag_time(side, window, input->ledger);
	if (!err)
		err = add_known(side, input->ledger);
	if (!err)
		err = add_steps(side, window, input);
	return err ? err : add_requests(side, window, input->requests);
}

/* --- windows ---------------------------------------------------------------------------------------------- */

/* The last slice is cut by the recording's end. What else than time it has is shared out by diff_side_share(). */
static int slice_of(struct diff_window *slice, const struct diff_window *whole,
                    const struct loaded_slices *slices, size_t index)
{
	int64_t begin = slices->begin_ns + (int64_t)index * slices->width_ns, end = begin + slices->width_ns;
	int64_t last = saturating_add(slices->begin_ns, whole->wall_ns);
	double share;

	if (index + 1 == slices->count && last > begin && last < end)
		end = last;
	*slice = (struct diff_window){ .begin_ns = begin,
		                       .wall_ns = end - begin,
		                       .of = calloc(DIFF_CLASSES_MAX, sizeof(*slice->of)) };
	if (!slice->of)
		return -ENOMEM;
	share = whole->wall_ns ? (double)slice->wall_ns / (double)whole->wall_ns : 1 / (double)slices->count;
	for (unsigned int per = 0; per < DIFF_AMOUNTS; per++) {
		slice->amount[per] = whole->amount[per] * share;
		for (size_t c = 0; c < DIFF_CLASSES_MAX; c++)
			slice->of[c][per] = whole->of[c][per] * share;
	}
	slice->amount[DIFF_PER_WALL] = (double)slice->wall_ns;
	return 0;
}

static void take_window(struct diff_side *side, const struct diff_window *window)
{
	side->windows[side->count++] = *window;
	for (unsigned int per = 0; per < DIFF_AMOUNTS; per++)
		side->amount[per] += window->amount[per];
}

static int take_slices(struct diff_side *side, struct diff_window *whole, const struct loaded_slices *slices)
{
	int err = 0;

	side->sliced |= slices->count > 1;
	if (slices->count < 2) {
		take_window(side, whole);
		return 0;
	}
	for (size_t i = 0; i < slices->count && !err; i++) {
		struct diff_window slice;

		err = slice_of(&slice, whole, slices, i);
		if (!err)
			take_window(side, &slice);
	}
	free(whole->of);
	return err;
}

int diff_side_add(struct diff_side *side, const struct loaded_profiles *input,
                  const struct loaded_slices *slices, size_t *first)
{
	struct diff_window *windows =
	        realloc(side->windows, (side->count + slices->count) * sizeof(*side->windows));
	struct diff_window whole;
	int result;

	if (!windows)
		return -ENOMEM;
	side->windows = windows;
	*first = side->count;
	result = whole_of(side, &whole, input);
	if (result) {
		free(whole.of);
		return result;
	}
	side->files += input->files;
	side->foreign_files += input->foreign_files;
	side->rewritten_files += input->rewritten_files;
	side->malformed_lines += input->malformed_lines;
	result = take_slices(side, &whole, slices);
	if (!result)
		result = stamp_from_notes(side->stamp, input->profile, NULL);
	return result == -ENODATA ? 0 : result;
}

void diff_side_add_waits(struct diff_side *side, size_t window, int class, double waits)
{
	side->windows[window].amount[DIFF_PER_NONE] += waits;
	side->windows[window].of[class][DIFF_PER_NONE] += waits;
	side->amount[DIFF_PER_NONE] += waits;
}

void diff_side_count(struct diff_side *side, const struct loaded_sample *sample, bool passes, double waits)
{
	side->samples_passed += passes;
	side->wait_samples += sample->is_wait;
	side->oncpu_samples += !strcmp(sample->stall, "none");
	side->stall_count += sample->is_wait ? 0 : waits;
}

static void count_base_time(struct diff_side *side)
{
	for (size_t i = 0; i < side->count; i++) {
		struct diff_window *window = &side->windows[i];

		window->amount[DIFF_PER_TAG] += window->amount[DIFF_BASE_TIME];
		for (size_t c = 0; c < DIFF_CLASSES_MAX; c++)
			window->of[c][DIFF_PER_TAG] += window->of[c][DIFF_BASE_TIME];
	}
	side->amount[DIFF_PER_TAG] += side->amount[DIFF_BASE_TIME];
}

void diff_side_settle(struct diff_side side[2], bool paired)
{
	bool pushed[] = { side[0].pushed, side[1].pushed };
	bool any = side[0].any_pushed || side[1].any_pushed;

	if (!paired)
		pushed[0] = pushed[1] = pushed[0] || pushed[1];
	for (int s = 0; s < 2; s++) {
		if (!pushed[s])
			count_base_time(&side[s]);
		if (!side[s].any_pushed)
			side[s].tag_ns += side[s].base_ns;
		for (int kind = 0; kind < ABI_WAIT_KINDS && !any; kind++)
			side[s].waited_ns[kind] += side[s].base_waited_ns[kind];
	}
}

void diff_side_share(struct diff_side *side, size_t first, int class, unsigned int per, const double *parts)
{
	double whole = 0, sum = 0;

	for (size_t i = first; i < side->count; i++) {
		whole += side->windows[i].of[class][per];
		sum += parts[i - first] > 0 ? parts[i - first] : 0;
	}
	for (size_t i = first; i < side->count && sum > 0; i++) {
		struct diff_window *window = &side->windows[i];
		double part = parts[i - first] > 0 ? whole * parts[i - first] / sum : 0;

		window->amount[per] += part - window->of[class][per];
		window->of[class][per] = part;
	}
}
