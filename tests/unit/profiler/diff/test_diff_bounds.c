/* Tests of diff_bounds.h: known answers of the statistics. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/diff/diff_bounds.h"

#define WINDOWS 16

static void assert_near(double found, double wanted, double part)
{
	if (fabs(found - wanted) > part * fabs(wanted))
		fail_msg("%.9g is not %.9g", found, wanted);
}

/* Quantiles as tables of Student's t have them. */
static void test_diff_bounds__student(void **state)
{
	static const struct {
		double confidence, degrees, t;
	} known[] = { { 0.95, 1, 12.7062 },   { 0.95, 10, 2.22814 }, { 0.99, 1, 63.6567 },
		      { 0.99, 5, 4.03214 },   { 0.99, 30, 2.75000 }, { 0.999, 20, 3.84952 },
		      { 0.95, 1e6, 1.95997 }, { 0.5, 4, 0.740697 } };

	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		assert_near(diff_student(known[i].confidence, known[i].degrees), known[i].t, 1e-5);
}

static void test_diff_bounds__points(void **state)
{
	static const uint32_t windows[] = { 5, 1, 5, 3, 1, 9 };
	struct diff_points points = { .count = 0 };

	(void)state;
	for (size_t i = 0; i < 6; i++)
		assert_int_equal(diff_points_add(&points, windows[i], (double)i + 1), 0);
	assert_int_equal(points.count, 4);
	for (size_t i = 1; i < points.count; i++)
		assert_true(points.window[i] > points.window[i - 1]);
	assert_near(points.value[0], 7, 0); /* 2 and 5 of window 1 */
	assert_near(diff_points_sum(&points), 21, 0);
	diff_points_free(&points);
}

/* A draw has as many windows as there are, and is the same each time. */
static void test_diff_bounds__draws(void **state)
{
	static const size_t sizes[] = { 2, 7, 19, 20, 100 };
	uint32_t times[100], again[100];

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		uint64_t one = DIFF_SEED, two = DIFF_SEED;

		for (int d = 0; d < 50; d++) {
			size_t sum = 0;

			diff_draw(times, sizes[i], &one);
			diff_draw(again, sizes[i], &two);
			assert_memory_equal(times, again, sizes[i] * sizeof(*times));
			for (size_t w = 0; w < sizes[i]; w++)
				sum += times[w];
			assert_int_equal(sum, sizes[i]);
		}
	}
}

/* --- bounds ----------------------------------------------------------------------------------------------- */

struct sides {
	struct diff_points points[2];
	double weight[2][WINDOWS];
	struct diff_spread spread;
	struct diff_windows windows;
	struct diff_bound bound;
};

static void set_up_sides(struct sides *sides, const double *base, const double *new, size_t count)
{
	const double *values[] = { base, new };

	memset(sides, 0, sizeof(*sides));
	for (int s = 0; s < 2; s++) {
		for (size_t w = 0; w < count; w++) {
			assert_int_equal(diff_points_add(&sides->points[s], (uint32_t)w, values[s][w]), 0);
			sides->weight[s][w] = 2;
		}
		sides->spread.weight[s] = sides->weight[s];
		sides->spread.scale[s] = 10;
		sides->windows.count[s] = count;
		sides->bound.side[s] = &sides->points[s];
	}
	sides->windows.spreads = &sides->spread;
	sides->windows.spread_count = 1;
}

static void tear_down_sides(struct sides *sides)
{
	diff_points_free(&sides->points[0]);
	diff_points_free(&sides->points[1]);
}

/* The standard error of a difference of means is that of the textbook, and so are the bounds, nearly. */
static void test_diff_bounds__of_means(void **state)
{
	double base[WINDOWS], new[WINDOWS], error;
	struct sides sides;

	(void)state;
	for (int w = 0; w < WINDOWS; w++) {
		base[w] = 100 + (w % 4 - 1.5) * 2; /* variance 5, over n - 1: 16/3 */
		new[w] = 110 + (w % 2 ? 3 : -3);   /* variance 9, over n - 1: 48/5 */
	}
	set_up_sides(&sides, base, new, WINDOWS);
	assert_int_equal(diff_bounds(&sides.bound, 1, &sides.windows, 0.99), 0);
	error = 5 * sqrt((16.0 / 3 + 48.0 / 5) / WINDOWS); /* 10 per weight of 2 */
	assert_near(sides.bound.value[0], 500, 1e-12);
	assert_near(sides.bound.value[1], 550, 1e-12);
	assert_near(sides.bound.error, error, 0.08);
	assert_true(sides.bound.judged && sides.bound.low > 50 - 3.3 * error &&
	            sides.bound.low < 50 - 2.4 * error);
	assert_near(50 - sides.bound.low, sides.bound.high - 50, 1e-9);
	tear_down_sides(&sides);
}

/* Equal windows have no spread; a window has none to be known. */
static void test_diff_bounds__without_spread(void **state)
{
	const double base[] = { 4, 4, 4 }, new[] = { 5, 5, 5 };
	struct sides sides;

	(void)state;
	set_up_sides(&sides, base, new, 3);
	assert_int_equal(diff_bounds(&sides.bound, 1, &sides.windows, 0.99), 0);
	assert_true(sides.bound.judged);
	assert_near(sides.bound.low, 5, 1e-9);
	assert_near(sides.bound.high, 5, 1e-9);
	sides.windows.count[1] = 1;
	sides.points[1].count = 1;
	assert_int_equal(diff_bounds(&sides.bound, 1, &sides.windows, 0.99), 0);
	assert_false(sides.bound.judged);
	assert_near(sides.bound.value[1], 25, 1e-12);
	tear_down_sides(&sides);
}

/* What both sides have in common is no difference when their windows are drawn together. */
static void test_diff_bounds__paired(void **state)
{
	double base[WINDOWS], new[WINDOWS], apart;
	struct sides sides;

	(void)state;
	for (int w = 0; w < WINDOWS; w++) {
		base[w] = 10 * (w + 1);
		new[w] = base[w] + 1 + w % 2;
	}
	set_up_sides(&sides, base, new, WINDOWS);
	assert_int_equal(diff_bounds(&sides.bound, 1, &sides.windows, 0.99), 0);
	apart = sides.bound.error;
	sides.windows.pairing = DIFF_PAIRED;
	assert_int_equal(diff_bounds(&sides.bound, 1, &sides.windows, 0.99), 0);
	assert_true(sides.bound.error < apart / 20 && sides.bound.low > 0);
	tear_down_sides(&sides);
}

/* Of `in` of sixteen windows alone is there anything that values are divided by. */
static void only_in(struct sides *sides, const double *base, const double *new, size_t in)
{
	const double *values[] = { base, new };

	set_up_sides(sides, base, new, WINDOWS);
	for (int s = 0; s < 2; s++)
		for (uint32_t w = 0; w < WINDOWS; w++) {
			bool has = w % (WINDOWS / in) == 0;

			sides->weight[s][w] = has ? 2 : 0;
			sides->points[s].value[w] = has ? values[s][w] : 0;
		}
}

/* What is in one window of many has no spread that could be known. */
static void test_diff_bounds__in_one_window(void **state)
{
	double base[WINDOWS], new[WINDOWS];
	struct sides sides;

	(void)state;
	for (int w = 0; w < WINDOWS; w++) {
		base[w] = 100;
		new[w] = 115;
	}
	only_in(&sides, base, new, 1);
	assert_int_equal(diff_bounds(&sides.bound, 1, &sides.windows, 0.99), 0);
	assert_false(sides.bound.judged);
	assert_int_equal(sides.bound.windows[0], 1);
	assert_int_equal(sides.bound.windows[1], 1);
	assert_near(sides.bound.low, 75, 1e-9);
	assert_near(sides.bound.high, 75, 1e-9);
	tear_down_sides(&sides);
}

/* Windows without anything to divide by say nothing: bounds are as wide as without them. */
static void test_diff_bounds__in_few_windows(void **state)
{
	double base[WINDOWS], new[WINDOWS], few[2][4], half;
	struct sides sides;

	(void)state;
	for (int w = 0; w < WINDOWS; w++) {
		base[w] = 100 + (w / 4 % 2 ? 6 : -6);
		new[w] = 115 + (w / 4 % 2 ? 9 : -9);
		few[0][w / 4] = base[w];
		few[1][w / 4] = new[w];
	}
	set_up_sides(&sides, few[0], few[1], 4);
	assert_int_equal(diff_bounds(&sides.bound, 1, &sides.windows, 0.99), 0);
	assert_int_equal(sides.bound.windows[1], 4);
	half = sides.bound.half;
	tear_down_sides(&sides);
	only_in(&sides, base, new, 4);
	assert_int_equal(diff_bounds(&sides.bound, 1, &sides.windows, 0.99), 0);
	assert_true(sides.bound.judged);
	assert_int_equal(sides.bound.windows[0], 4);
	assert_near(sides.bound.half, half, 0.3);
	tear_down_sides(&sides);
}

/* --- how often bounds are wrong --------------------------------------------------------------------------- */

#define ROWS   30
#define TRIALS 150

static double normal(unsigned short seed[3])
{
	return sqrt(-2 * log(1 - erand48(seed))) * cos(6.283185307179586 * erand48(seed));
}

static void fill_rows(struct diff_bound *bounds, struct diff_points (*points)[2], unsigned short seed[3],
                      double more)
{
	for (int r = 0; r < ROWS; r++)
		for (int s = 0; s < 2; s++) {
			points[r][s].count = 0;
			for (uint32_t w = 0; w < WINDOWS; w++)
				assert_int_equal(
				        diff_points_add(&points[r][s], w,
				                        100 + 10 * normal(seed) + (s && !r ? more : 0)),
				        0);
			bounds[r].side[s] = &points[r][s];
		}
}

/* Of 150 comparisons of 30 rows each that do not differ, 1 in 100 may call some row changed; a row that changes by six
 * standard errors is found nearly always. */
static void test_diff_bounds__false_alarms(void **state)
{
	struct diff_bound bounds[ROWS];
	struct diff_points points[ROWS][2];
	unsigned short seed[] = { 1, 2, 3 };
	struct sides sides;
	int alarms = 0, found = 0;
	double even[WINDOWS] = { 0 };

	(void)state;
	memset(points, 0, sizeof(points));
	memset(bounds, 0, sizeof(bounds));
	set_up_sides(&sides, even, even, WINDOWS);
	for (int trial = 0; trial < TRIALS; trial++) {
		bool any = false;

		fill_rows(bounds, points, seed, trial % 2 ? 21.2 : 0); /* 6 times 10 * sqrt(2 / 16) */
		assert_int_equal(diff_bounds(bounds, ROWS, &sides.windows, 0.99), 0);
		for (int r = trial % 2; r < ROWS; r++)
			any |= bounds[r].low > 0 || bounds[r].high < 0;
		alarms += any;
		found += trial % 2 && bounds[0].low > 0;
	}
	print_message("# %d alarms, %d found\n", alarms, found);
	assert_in_range(alarms, 0, 5);
	assert_in_range(found, TRIALS / 2 * 9 / 10, TRIALS);
	for (int r = 0; r < ROWS; r++) {
		diff_points_free(&points[r][0]);
		diff_points_free(&points[r][1]);
	}
	tear_down_sides(&sides);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_diff_bounds__student),
		cmocka_unit_test(test_diff_bounds__points),
		cmocka_unit_test(test_diff_bounds__draws),
		cmocka_unit_test(test_diff_bounds__of_means),
		cmocka_unit_test(test_diff_bounds__without_spread),
		cmocka_unit_test(test_diff_bounds__paired),
		cmocka_unit_test(test_diff_bounds__in_one_window),
		cmocka_unit_test(test_diff_bounds__in_few_windows),
		cmocka_unit_test(test_diff_bounds__false_alarms),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
