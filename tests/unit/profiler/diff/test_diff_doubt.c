/* Tests of diff_doubt.h: which growths cannot be judged, and what is said of them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "profiler/diff/diff_doubt.h"
#include "profiler/diff/diff_result.h"

static struct diff_bound bound_of(double base, double new, double half)
{
	return (struct diff_bound){ .value = { base, new },
		                    .half = half,
		                    .low = new - base - half,
		                    .high = new - base + half,
		                    .judged = true };
}

/* Of a value of 100 in BASE: what grows, what is within noise, and by how much noise may differ. */
static void test_diff_doubt__wide(void **state)
{
	static const struct {
		double new, half, limit, whole;
		bool wide;
	} known[] = {
		{ 455, 400, 5, 100, true },   /* a burst */
		{ 108, 9, 0, 100, false },    /* as noise goes */
		{ 112, 13, 0, 100, true },    /* more than 10 %, and not judged */
		{ 112, 13, 15, 100, false },  /* below the limit */
		{ 112, 9, 0, 100, false },    /* beyond noise */
		{ 112, 13, 0, 1000, false },  /* one row of many */
		{ 90, 99, 5, 100, false },    /* less, and twice as much would be seen */
		{ 90, 101, 5, 100, true },    /* and would not be seen */
		{ 90, 101, 200, 100, false }, /* nor matter */
		{ 30, 40, 5, 100, false },    /* better beyond noise */
		{ 101, 0, 0, 100, false },    /* windows that do not differ */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		struct diff_bound bound = bound_of(100, known[i].new, known[i].half);

		if (diff_doubt_wide(&bound, known[i].limit, known[i].whole) != known[i].wide)
			fail_msg("row %zu", i);
		bound.judged = false;
		assert_false(diff_doubt_wide(&bound, known[i].limit, known[i].whole));
	}
}

/* --- words ------------------------------------------------------------------------------------------------ */

struct sides {
	struct diff *diff;
	struct diff_points points[2];
	struct diff_bound bound;
};

static void set_up_sides(struct sides *sides, size_t base, size_t new, double burst)
{
	memset(sides, 0, sizeof(*sides));
	sides->diff = calloc(1, sizeof(*sides->diff));
	assert_non_null(sides->diff);
	sides->diff->side[0].count = base;
	sides->diff->side[1].count = new;
	for (int s = 0; s < 2; s++) {
		for (uint32_t w = 0; w < (s ? new : base); w++)
			assert_int_equal(diff_points_add(&sides->points[s], w, s && w == 3 ? burst : 1), 0);
		sides->bound.side[s] = &sides->points[s];
		sides->bound.windows[s] = s ? new : base;
	}
}

static void tear_down_sides(struct sides *sides)
{
	diff_points_free(&sides->points[0]);
	diff_points_free(&sides->points[1]);
	free(sides->diff);
}

static void test_diff_doubt__text(void **state)
{
	static const struct {
		size_t base, new;
		double burst;
		bool few;
		const char *words;
	} known[] = {
		{ 1, 30, 9, true, "BASE has 1 window and NEW 30, and it takes 5 of each" },
		{ 30, 4, 9, true, "BASE has 30 windows and NEW 4, and" },
		{ 5, 5, 16, false,
		  "80 % of what NEW has came in one of its 5 windows (number 4): the recordings differ" },
		{ 20, 10, 9, false, "50 % of what NEW has came in one of its 10 windows (number 4)" },
		{ 20, 10, 8, false, "windows differ so much that this may be noise: record longer" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		struct sides sides;
		char text[512];

		set_up_sides(&sides, known[i].base, known[i].new, known[i].burst);
		assert_int_equal(diff_doubt_few(sides.diff), known[i].few);
		diff_doubt_text(text, sizeof(text), sides.diff, &sides.bound);
		if (!strstr(text, known[i].words))
			fail_msg("%s", text);
		tear_down_sides(&sides);
	}
}

/* A class that is seldom there has few windows, however many the side has. */
static void test_diff_doubt__rare(void **state)
{
	struct sides sides;
	char text[512];

	(void)state;
	set_up_sides(&sides, 30, 20, 1);
	assert_false(diff_doubt_rare(&sides.bound));
	sides.bound.windows[0] = 5;
	sides.bound.windows[1] = 4;
	assert_true(diff_doubt_rare(&sides.bound));
	diff_doubt_text(text, sizeof(text), sides.diff, &sides.bound);
	if (!strstr(text, "in 5 of its 30 windows and NEW in 4 of 20, and it takes 5 of each"))
		fail_msg("%s", text);
	tear_down_sides(&sides);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_diff_doubt__wide),
		cmocka_unit_test(test_diff_doubt__text),
		cmocka_unit_test(test_diff_doubt__rare),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
