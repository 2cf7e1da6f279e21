/* Sums what rows are divided by, by classes of tags. */

#include "profiler/diff/diff_spreads.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/diff/diff_result.h"

#define MIB (1024.0 * 1024.0)

double diff_per_one(enum diff_per per)
{
	static const double ones[DIFF_PERS] = {
		[DIFF_PER_WALL] = 1e9, [DIFF_PER_TAG] = 1e9,   [DIFF_PER_STEP] = 1,
		[DIFF_PER_IO] = 1,     [DIFF_PER_BYTES] = MIB, [DIFF_PER_NONE] = 1
	};

	return ones[per];
}

/*
 * What a window's values are divided by. Where nothing is normalised that is its waits, so that bounds rest on how long a wait
 * took: of the same work a window may have more or less. Waits cannot say that of their own number.
 */
static enum diff_per weight_of(const struct diff *diff)
{
	bool waits = diff->side[0].amount[DIFF_PER_NONE] > 0 && diff->side[1].amount[DIFF_PER_NONE] > 0;

	if (diff->per != DIFF_PER_NONE)
		return diff->per;
	return waits && strcmp(diff->type, "contentions") != 0 ? DIFF_PER_NONE : DIFF_PER_WALL;
}

void diff_spreads_init(struct diff_spreads *spreads, const struct diff *diff)
{
	*spreads = (struct diff_spreads){ .diff = diff, .weight = weight_of(diff) };
	for (int s = 0; s < 2; s++)
		for (size_t i = 0; i < diff->side[s].count; i++)
			for (size_t c = 0; c < DIFF_CLASSES_MAX; c++)
				spreads->sum[s][c] += diff->side[s].windows[i].of[c][spreads->weight];
}

void diff_spreads_free(struct diff_spreads *spreads)
{
	for (size_t i = 0; i < spreads->count; i++) {
		free(spreads->spread[i].weight[0]);
		free(spreads->spread[i].weight[1]);
	}
	free(spreads->spread);
	free(spreads->classes);
	*spreads = (struct diff_spreads){ .count = 0 };
}

/* Whether both sides have steps of a class: of tags without ids there is one a run and name. */
static bool has_steps(const struct diff_spreads *spreads, unsigned int class)
{
	const struct diff_side *side = spreads->diff->side;

	for (int s = 0; s < 2; s++)
		if (spreads->sum[s][class] < DIFF_STEPS_MANY || !side[s].several_tags[class])
			return false;
	return true;
}

/* The class of them that has most steps, or of those of which both sides have several; 0: there is none. */
static uint64_t with_most_steps(const struct diff_spreads *spreads, uint64_t classes, bool several)
{
	uint64_t best = 0;
	double most = 0;

	for (unsigned int c = 0; c < DIFF_CLASSES_MAX; c++) {
		double steps = spreads->sum[0][c] + spreads->sum[1][c];

		if (classes >> c & 1 && steps > most && (!several || has_steps(spreads, c))) {
			most = steps;
			best = 1ULL << c;
		}
	}
	return best;
}

static bool all_have_steps(const struct diff_spreads *spreads, uint64_t classes)
{
	for (unsigned int c = 0; c < DIFF_CLASSES_MAX; c++)
		if (classes >> c & 1 && !has_steps(spreads, c))
			return false;
	return classes;
}

/* Rows of a class whose tags have no ids are divided by the loop's, also where others have a part in them: loaders have no steps, and their
 * time is none of the few checkpoints'. */
static uint64_t steps_of_set(const struct diff_spreads *spreads, uint64_t classes)
{
	uint64_t found = all_have_steps(spreads, classes) ? with_most_steps(spreads, classes, true) : 0;

	if (!found)
		found = with_most_steps(spreads, ~0ULL, true);
	return found ? found : with_most_steps(spreads, ~0ULL, false);
}

/* Wall time is that of all classes alike. Steps of several classes lie within each other, or come in turns: a loop's step has one of each. */
static uint64_t set_of(const struct diff_spreads *spreads, uint64_t classes)
{
	if (spreads->weight == DIFF_PER_STEP)
		return steps_of_set(spreads, classes);
	return spreads->weight == DIFF_PER_WALL ? 0 : classes;
}

static double sum_of_set(const double *of_class, uint64_t set)
{
	double sum = 0;

	for (unsigned int c = 0; c < DIFF_CLASSES_MAX; c++)
		if (set >> c & 1)
			sum += of_class[c];
	return sum;
}

/*
 * Where the classes have none of the amount, that of all classes stands for it; where these have none, windows are alike. Classes wait
 * without requests of their own, too: those of one side alone are nothing to compare by.
 */
static bool has_amount(const struct diff_spreads *spreads, int s, uint64_t set)
{
	bool has[2] = { sum_of_set(spreads->sum[0], set) > 0, sum_of_set(spreads->sum[1], set) > 0 };

	if (spreads->weight == DIFF_PER_IO || spreads->weight == DIFF_PER_BYTES)
		return has[0] && has[1];
	return has[s];
}

static double sum_of_side(const struct diff_spreads *spreads, int s, uint64_t set)
{
	const struct diff_side *side = &spreads->diff->side[s];

	if (has_amount(spreads, s, set))
		return sum_of_set(spreads->sum[s], set);
	return side->amount[spreads->weight] > 0 ? side->amount[spreads->weight] : (double)side->count;
}

void diff_spreads_per(const struct diff_spreads *spreads, uint64_t classes, double per[2])
{
	for (int s = 0; s < 2; s++) {
		double sum = sum_of_side(spreads, s, set_of(spreads, classes));

		per[s] = spreads->diff->per == DIFF_PER_NONE ? 1
		         : sum > 0                           ? diff_per_one(spreads->diff->per) / sum
		                                             : 0;
	}
}

static int fill_side(const struct diff_spreads *spreads, struct diff_spread *spread, int s, uint64_t set)
{
	const struct diff_side *side = &spreads->diff->side[s];
	bool own = has_amount(spreads, s, set), any = side->amount[spreads->weight] > 0;

	spread->weight[s] = malloc((side->count + 1) * sizeof(double));
	if (!spread->weight[s])
		return -ENOMEM;
	for (size_t i = 0; i < side->count; i++) {
		const struct diff_window *window = &side->windows[i];

		spread->weight[s][i] = any ? window->amount[spreads->weight] : 1;
		if (!own)
			continue;
		spread->weight[s][i] = 0;
		for (unsigned int c = 0; c < DIFF_CLASSES_MAX; c++)
			if (set >> c & 1)
				spread->weight[s][i] += window->of[c][spreads->weight];
	}
	spread->scale[s] = spreads->diff->per == DIFF_PER_NONE ? sum_of_side(spreads, s, set)
	                                                       : diff_per_one(spreads->diff->per);
	return 0;
}

int64_t diff_spreads_index(struct diff_spreads *spreads, uint64_t classes)
{
	uint64_t set = set_of(spreads, classes), *known;
	struct diff_spread *spread;
	size_t n = spreads->count;

	for (size_t i = 0; i < n; i++)
		if (spreads->classes[i] == set)
			return (int64_t)i;
	spread = realloc(spreads->spread, (n + 1) * sizeof(*spread));
	spreads->spread = spread ? spread : spreads->spread;
	known = realloc(spreads->classes, (n + 1) * sizeof(*known));
	spreads->classes = known ? known : spreads->classes;
	if (!spread || !known)
		return -ENOMEM;
	spread[n] = (struct diff_spread){ .scale = { 0, 0 } };
	known[n] = set;
	spreads->count++;
	for (int s = 0; s < 2; s++)
		if (fill_side(spreads, &spread[n], s, set))
			return -ENOMEM;
	return (int64_t)n;
}
