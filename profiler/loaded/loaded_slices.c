/* Finds the time slices of a file by the label "at" of its samples. */

#include "profiler/loaded/loaded_slices.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/format/saturating.h"
#include "profiler/format/stamp.h"
#include "profiler/loaded/loaded_profiles.h"

#define SECOND_NS 1000000000
#define AT_MAX    (INT64_MAX / SECOND_NS / 4) /* sums of two times and a width still fit */

static bool at_of(const struct profile_sample_view *view, int64_t *at)
{
	for (size_t i = 0; i < view->n_labels; i++) {
		const struct profile_label *label = &view->labels[i];

		if (label->str || strcmp(label->key, "at") != 0 || !label->unit ||
		    strcmp(label->unit, "unix_seconds") != 0)
			continue;
		*at = label->num;
		return label->num > 0 && label->num <= AT_MAX;
	}
	return false;
}

static int compare_times(const void *left, const void *right)
{
	const int64_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

/* What all distances are multiples of: slices have one width. 0: all times are equal. */
static int64_t common_width(const int64_t *times, size_t count)
{
	int64_t width = 0;

	for (size_t i = 1; i < count; i++)
		for (int64_t a = times[i] - times[i - 1]; a;) {
			int64_t rest = width % a;

			width = a;
			a = rest;
		}
	return width;
}

/* A recording's slices begin when it does, and samples have that moment cut to a whole second. */
static void span_slices(struct loaded_slices *slices, const int64_t *times, size_t count,
                        const struct loaded_profiles *input)
{
	struct stamp_coverage coverage = stamp_coverage(input->stamp);
	int64_t width = common_width(times, count), begin_ns = saturating_i64(coverage.first_ns),
	        end_ns = saturating_i64(coverage.last_ns);

	if (!width)
		return;
	if (begin_ns <= 0 || begin_ns / SECOND_NS > times[0])
		begin_ns = times[0] * SECOND_NS;
	if (end_ns / SECOND_NS < times[count - 1])
		end_ns = (times[count - 1] + width) * SECOND_NS;
	if (end_ns <= begin_ns || end_ns > INT64_MAX - width * SECOND_NS ||
	    (end_ns - begin_ns) / SECOND_NS / width >= LOADED_SLICES_MAX)
		return;
	*slices = (struct loaded_slices){ .begin_ns = begin_ns,
		                          .width_ns = width * SECOND_NS,
		                          .count = (size_t)((end_ns - begin_ns - 1) / (width * SECOND_NS)) +
		                                   1 };
}

/* *times: when the samples' slices began, ascending; the caller frees it. 0, -ENOMEM. */
static int collect_times(int64_t **times, size_t *count, const struct loaded_profiles *input)
{
	size_t samples = profile_n_samples(input->profile);
	struct profile_sample_view view;

	*count = 0;
	*times = malloc((samples + 1) * sizeof(**times));
	if (!*times)
		return -ENOMEM;
	for (size_t i = 0; i < samples && profile_get_sample(input->profile, i, &view); i++)
		*count += at_of(&view, &(*times)[*count]);
	qsort(*times, *count, sizeof(**times), compare_times);
	return 0;
}

int loaded_slices_find(struct loaded_slices *slices, const struct loaded_profiles *input)
{
	int64_t *times;
	size_t count;
	int err = collect_times(&times, &count, input);

	*slices = (struct loaded_slices){ .count = 1 };
	if (err)
		return err;
	if (count)
		span_slices(slices, times, count, input);
	free(times);
	return 0;
}

int loaded_slices_width(int64_t *width_ns, const struct loaded_profiles *input)
{
	int64_t *times;
	size_t count;
	int err = collect_times(&times, &count, input);

	if (err)
		return err;
	*width_ns = common_width(times, count) * SECOND_NS;
	free(times);
	return 0;
}

size_t loaded_slices_of(const struct loaded_slices *slices, const struct profile_sample_view *view)
{
	int64_t at;

	if (slices->count < 2 || !at_of(view, &at) || at < slices->begin_ns / SECOND_NS)
		return 0;
	at = (at - slices->begin_ns / SECOND_NS) / (slices->width_ns / SECOND_NS);
	return at < (int64_t)slices->count ? (size_t)at : slices->count - 1;
}
