/* Bootstrap over windows, in blocks, with bounds that hold for all rows together. */

#include "profiler/diff/diff_bounds.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Below so many windows they are drawn one by one. */
#define BLOCKS_FROM 20

/* --- points ----------------------------------------------------------------------------------------------- */

static int points_grow(struct diff_points *points)
{
	size_t room = points->room ? points->room * 2 : 4;
	uint32_t *window = realloc(points->window, room * sizeof(*window));
	double *value;

	if (!window)
		return -ENOMEM;
	points->window = window;
	value = realloc(points->value, room * sizeof(*value));
	if (!value)
		return -ENOMEM;
	points->value = value;
	points->room = room;
	return 0;
}

int diff_points_add(struct diff_points *points, uint32_t window, double value)
{
	size_t at = points->count;
	int err;

	while (at && points->window[at - 1] > window)
		at--;
	if (at && points->window[at - 1] == window) {
		points->value[at - 1] += value;
		return 0;
	}
	err = points->count == points->room ? points_grow(points) : 0;
	if (err)
		return err;
	memmove(points->window + at + 1, points->window + at, (points->count - at) * sizeof(*points->window));
	memmove(points->value + at + 1, points->value + at, (points->count - at) * sizeof(*points->value));
	points->window[at] = window;
	points->value[at] = value;
	points->count++;
	return 0;
}

void diff_points_free(struct diff_points *points)
{
	free(points->window);
	free(points->value);
	*points = (struct diff_points){ .count = 0 };
}

double diff_points_sum(const struct diff_points *points)
{
	double sum = 0;

	for (size_t i = 0; i < points->count; i++)
		sum += points->value[i];
	return sum;
}

/* --- draws ------------------------------------------------------------------------------------------------ */

/* SplitMix64: the state goes up by a constant, its bits are mixed. */
static uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

static size_t block_length(size_t count)
{
	return count < BLOCKS_FROM ? 1 : (size_t)ceil(cbrt((double)count));
}

/* How many windows count as independent ones. */
static double effective(size_t count)
{
	return (double)count / (double)block_length(count);
}

/* What makes a side's spread over draws that of its windows. */
static double widening(size_t count)
{
	double n = effective(count);

	return sqrt(n / (n - 1));
}

/* Blocks go round at the end. */
void diff_draw(uint32_t *times, size_t count, uint64_t *state)
{
	size_t block = block_length(count);

	memset(times, 0, count * sizeof(*times));
	for (size_t drawn = 0; drawn < count;) {
		size_t at = (size_t)(next_random(state) % count);

		for (size_t i = 0; i < block && drawn < count; i++, drawn++)
			times[(at + i) % count]++;
	}
}

static double drawn_weight(const double *weight, size_t count, const uint32_t *times)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += times[i] * weight[i];
	return sum;
}

static double drawn_sum(const struct diff_points *points, const uint32_t *times)
{
	double sum = 0;

	for (size_t i = 0; i < points->count; i++)
		sum += times[points->window[i]] * points->value[i];
	return sum;
}

/* *windows: in how many of them there is any. */
static double whole_weight(const double *weight, size_t count, size_t *windows)
{
	double sum = 0;

	*windows = 0;
	for (size_t i = 0; i < count; i++) {
		sum += weight[i];
		*windows += weight[i] > 0;
	}
	return sum;
}

/* --- Student's t ------------------------------------------------------------------------------------------ */

/* The continued fraction of the incomplete beta function, by Lentz's method. */
static double beta_fraction(double a, double b, double x)
{
	const double tiny = 1e-300;
	double c = 1, d = 1 - (a + b) * x / (a + 1), h;

	d = 1 / (fabs(d) < tiny ? tiny : d);
	h = d;
	for (int m = 1; m <= 300; m++) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
		const double terms[] = { even, odd };
		double before = h;

		for (int i = 0; i < 2; i++) {
			d = 1 + terms[i] * d;
			c = 1 + terms[i] / c;
			d = 1 / (fabs(d) < tiny ? tiny : d);
			c = fabs(c) < tiny ? tiny : c;
			h *= d * c;
		}
		if (fabs(h - before) < 1e-14 * fabs(h))
			break;
	}
	return h;
}

static double incomplete_beta(double a, double b, double x)
{
	double front;

	if (x <= 0 || x >= 1)
		return x <= 0 ? 0 : 1;
	front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
	if (x < (a + 1) / (a + b + 2))
		return front * beta_fraction(a, b, x) / a;
	return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double diff_student(double confidence, double degrees)
{
	double low = 0, high = 1e9;

	/* The probability that |T| is larger is I(degrees / (degrees + t^2); degrees / 2, 1 / 2). */
	for (int i = 0; i < 200 && high - low > 1e-12 * high; i++) {
		double t = (low + high) / 2;

		if (incomplete_beta(degrees / 2, 0.5, degrees / (degrees + t * t)) > 1 - confidence)
			low = t;
		else
			high = t;
	}
	return (low + high) / 2;
}

/* --- bounds ----------------------------------------------------------------------------------------------- */

struct boot {
	struct diff_bound *bounds;
	size_t count;
	const struct diff_windows *windows;
	uint32_t *times[2];
	double *drawn[2]; /* by spread: the weight of the windows drawn */
	double *deviation; /* draw by draw, row by row: of the difference; NAN: of the row's windows none was drawn */
	double *square[2]; /* by row: sum of squared deviations of a side */
};

static bool boot_init(struct boot *boot)
{
	boot->deviation = malloc((DIFF_DRAWS * boot->count + 1) * sizeof(*boot->deviation));
	for (int s = 0; s < 2; s++) {
		boot->times[s] = calloc(boot->windows->count[s] + 1, sizeof(*boot->times[s]));
		boot->drawn[s] = calloc(boot->windows->spread_count + 1, sizeof(*boot->drawn[s]));
		boot->square[s] = calloc(boot->count + 1, sizeof(*boot->square[s]));
		if (!boot->times[s] || !boot->drawn[s] || !boot->square[s])
			return false;
	}
	return boot->deviation;
}

static void boot_free(struct boot *boot)
{
	free(boot->deviation);
	for (int s = 0; s < 2; s++) {
		free(boot->times[s]);
		free(boot->drawn[s]);
		free(boot->square[s]);
	}
}

static void draw_windows(struct boot *boot, uint64_t *state)
{
	const struct diff_windows *windows = boot->windows;

	for (int s = 0; s < 2; s++) {
		if (s && windows->pairing == DIFF_PAIRED)
			memcpy(boot->times[1], boot->times[0], windows->count[0] * sizeof(**boot->times));
		else
			diff_draw(boot->times[s], windows->count[s], state);
		for (size_t i = 0; i < windows->spread_count; i++)
			boot->drawn[s][i] = drawn_weight(windows->spreads[i].weight[s], windows->count[s],
			                                 boot->times[s]);
	}
}

/* Of a row that is in a few windows alone a draw may have none: it says nothing then. */
static void take_row(struct boot *boot, size_t index, double *difference)
{
	const struct diff_bound *row = &boot->bounds[index];
	double deviation[2];

	*difference = NAN;
	if (!row->judged || !(boot->drawn[0][row->spread] > 0) || !(boot->drawn[1][row->spread] > 0))
		return;
	for (int s = 0; s < 2; s++) {
		deviation[s] = boot->windows->spreads[row->spread].scale[s] *
		                       drawn_sum(row->side[s], boot->times[s]) / boot->drawn[s][row->spread] -
		               row->value[s];
		deviation[s] *= widening(row->windows[s]);
		boot->square[s][index] += deviation[s] * deviation[s];
	}
	*difference = deviation[1] - deviation[0];
}

static void take_draw(struct boot *boot, size_t number, uint64_t *state)
{
	draw_windows(boot, state);
	for (size_t i = 0; i < boot->count; i++)
		take_row(boot, i, &boot->deviation[number * boot->count + i]);
}

static double error_of(const struct boot *boot, size_t row)
{
	const struct diff_bound *bound = &boot->bounds[row];
	double largest = fmax(fabs(bound->value[0]), fabs(bound->value[1])), sum = 0, error;
	size_t draws = 0;

	for (size_t d = 0; d < DIFF_DRAWS; d++) {
		double deviation = boot->deviation[d * boot->count + row];

		if (isnan(deviation))
			continue;
		sum += deviation * deviation;
		draws++;
	}
	error = draws ? sqrt(sum / (double)draws) : 0;
	return error < 1e-9 * largest ? 0 : error; /* what rounding leaves of equal windows */
}

static int compare_doubles(const void *left, const void *right)
{
	const double *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

/* The quantile over draws of the largest deviation of any row, in standard errors. -1: no memory. */
static double largest_deviation(const struct boot *boot, double confidence)
{
	double *largest = calloc(DIFF_DRAWS, sizeof(*largest)), quantile;

	if (!largest)
		return -1;
	for (size_t d = 0; d < DIFF_DRAWS; d++)
		for (size_t i = 0; i < boot->count; i++)
			if (boot->bounds[i].error > 0) /* fmax() passes over NAN */
				largest[d] = fmax(largest[d], fabs(boot->deviation[d * boot->count + i]) /
				                                      boot->bounds[i].error);
	qsort(largest, DIFF_DRAWS, sizeof(*largest), compare_doubles);
	quantile = largest[(size_t)(confidence * (DIFF_DRAWS - 1))];
	free(largest);
	return quantile;
}

/* Welch and Satterthwaite's degrees of freedom of a difference. */
static double degrees_of(const struct boot *boot, size_t row)
{
	double n[2], part[2], sum;

	for (int s = 0; s < 2; s++) {
		n[s] = fmax(effective(boot->bounds[row].windows[s]) - 1, 1);
		part[s] = boot->square[s][row];
	}
	if (boot->windows->pairing == DIFF_PAIRED)
		return fmin(n[0], n[1]);
	sum = part[0] + part[1];
	return sum > 0 ? sum * sum / (part[0] * part[0] / n[0] + part[1] * part[1] / n[1]) : n[0];
}

static int run_draws(struct boot *boot, double confidence)
{
	uint64_t state = DIFF_SEED;
	double together, apart;

	for (size_t d = 0; d < DIFF_DRAWS; d++)
		take_draw(boot, d, &state);
	for (size_t i = 0; i < boot->count; i++)
		boot->bounds[i].error = error_of(boot, i);
	together = largest_deviation(boot, confidence);
	if (together < 0)
		return -ENOMEM;
	/* The chance that one row alone exceeds that, which Student's t then allows it: the error is itself an estimate. */
	apart = fmin(erfc(together / sqrt(2)), 1 - confidence);
	for (size_t i = 0; i < boot->count; i++) {
		struct diff_bound *row = &boot->bounds[i];
		double difference = row->value[1] - row->value[0];
		double wide = row->error > 0 ? diff_student(1 - fmax(apart, 1e-9), degrees_of(boot, i)) : 0;

		row->half = wide * row->error;
		row->low = difference - row->half;
		row->high = difference + row->half;
	}
	return 0;
}

static void set_values(struct diff_bound *bound, const struct diff_windows *windows)
{
	const struct diff_spread *spread = &windows->spreads[bound->spread];

	for (int s = 0; s < 2; s++) {
		double weight = whole_weight(spread->weight[s], windows->count[s], &bound->windows[s]);

		bound->value[s] =
		        weight > 0 ? spread->scale[s] * diff_points_sum(bound->side[s]) / weight : 0;
	}
	bound->low = bound->high = bound->value[1] - bound->value[0];
	bound->error = bound->half = 0;
	bound->judged = bound->windows[0] >= 2 && bound->windows[1] >= 2;
}

int diff_bounds(struct diff_bound *bounds, size_t count, const struct diff_windows *windows,
                double confidence)
{
	struct boot boot = { .bounds = bounds, .count = count, .windows = windows };
	int err;

	for (size_t i = 0; i < count; i++)
		set_values(&bounds[i], windows);
	if (windows->count[0] < 2 || windows->count[1] < 2)
		return 0;
	err = boot_init(&boot) ? run_draws(&boot, confidence) : -ENOMEM;
	boot_free(&boot);
	return err;
}
