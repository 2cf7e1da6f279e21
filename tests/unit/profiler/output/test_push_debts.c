/* Tests of push_debts.h: what a window takes back is paid by samples of the same labels. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "profiler/output/push_debts.h"
#include "profiler/output/series.h"

#define ROOM (64 << 20)

static const struct profile_value_type types[] = { { "contentions", "count" },
	                                           { "delay", "nanoseconds" },
	                                           { "cpu", "nanoseconds" } };

static struct profile *window_new(void)
{
	struct profile *p = profile_new(types, 3, types[0], 1, ROOM);

	assert_non_null(p);
	return p;
}

static void add(struct profile *p, const char *function, const char *stall, const char *span, int64_t count,
                int64_t delay)
{
	const struct profile_label labels[] = { { .key = "stall", .str = stall },
		                                { .key = "span_id", .str = span } };
	const struct profile_frame frame = { .function = function };
	const int64_t values[] = { count, delay, 0 };
	int64_t location = profile_location(p, 0, 0, &frame, 1);

	assert_int_equal(profile_add_sample(p, &location, 1, values, labels, 2), 0);
}

/* The sums of what is pushed of the window, which is freed; sample n has the values at [n]. */
static int64_t push(struct push_debts *debts, struct profile *p, int64_t delay[])
{
	struct profile_sample_view sample;
	struct profile *out;
	int64_t sum = 0;

	assert_int_equal(series_extract(p, &series_table[0], 1, debts, ROOM, &out), 0);
	for (size_t i = 0; out && i < profile_n_samples(out); i++) {
		assert_true(profile_get_sample(out, i, &sample));
		assert_true(sample.values[0] >= 0 && sample.values[1] >= 0);
		if (delay)
			delay[i] = sample.values[1];
		sum += sample.values[1];
	}
	profile_free(out);
	profile_free(p);
	return sum;
}

static void test_push_debts__windows_add_up(void **state)
{
	struct push_debts *debts = push_debts_new();
	struct profile *p = window_new();
	int64_t delay[4];

	(void)state;
	add(p, "fsync", "writeback", "01", 1, 1000);
	assert_int_equal(push(debts, p, NULL), 1000);
	/* It was another wait; nothing can pay, least of all what has other labels. */
	p = window_new();
	add(p, "fsync", "writeback", "01", -1, -1000);
	add(p, "fsync", "block_io", "01", 1, 1500);
	assert_int_equal(push(debts, p, delay), 1500);
	assert_int_equal(delay[0], 1500);
	assert_int_equal(push_debts_owed(debts, "delay"), 1000);
	assert_int_equal(push_debts_owed(debts, "contentions"), 1);
	assert_int_equal(push_debts_owed(debts, "cpu"), 0);
	/* Others of these labels pay as much as they have, whatever their step. */
	p = window_new();
	add(p, "write", "writeback", "02", 1, 300);
	assert_int_equal(push(debts, p, NULL), 0);
	assert_int_equal(push_debts_owed(debts, "delay"), 700);
	/* Each by its part. */
	p = window_new();
	add(p, "write", "writeback", "03", 1, 300);
	add(p, "read", "writeback", "03", 2, 1101);
	assert_int_equal(push(debts, p, delay), 701);
	assert_int_equal(delay[0] + delay[1], 701);
	assert_in_range(delay[0], 150, 151);
	assert_int_equal(push_debts_owed(debts, "delay"), 0);
	p = window_new();
	add(p, "write", "writeback", "04", 1, 300);
	assert_int_equal(push(debts, p, NULL), 300);
	push_debts_free(debts);
	push_debts_free(NULL);
}

static void test_push_debts__within_one_window(void **state)
{
	struct push_debts *debts = push_debts_new();
	struct profile *p = window_new();

	(void)state;
	add(p, "write", "writeback", "01", 1, 300);
	add(p, "fsync", "writeback", "02", 0, -100);
	add(p, "read", "writeback", "03", 1, 200);
	assert_int_equal(push(debts, p, NULL), 400);
	assert_int_equal(push_debts_owed(debts, "delay"), 0);
	push_debts_free(debts);
}

/* It is taken back whatever the wait turns out to be, and the window that knows has its time. */
static void test_push_debts__undecided_waits_are_not_pushed(void **state)
{
	struct push_debts *debts = push_debts_new();
	struct profile *p = window_new();

	(void)state;
	add(p, "fsync", "undecided", "01", 1, 1000);
	assert_int_equal(push(debts, p, NULL), 0);
	p = window_new();
	add(p, "fsync", "undecided", "01", 0, -1000);
	add(p, "fsync", "throttle", "01", 1, 1500);
	assert_int_equal(push(debts, p, NULL), 1500);
	assert_int_equal(push_debts_owed(debts, "delay"), 0);
	push_debts_free(debts);
}

/* No other order of magnitude, and no overflow. */
static void test_push_debts__large_values(void **state)
{
	struct push_debts *debts = push_debts_new();
	struct profile *p = window_new();

	(void)state;
	add(p, "fsync", "writeback", "01", 1, INT64_MIN);
	add(p, "read", "writeback", "01", 1, INT64_MAX);
	assert_int_equal(push(debts, p, NULL), 0);
	assert_int_equal(push_debts_owed(debts, "delay"), 1);
	push_debts_free(debts);
}

static void test_push_debts__more_labels_than_are_remembered(void **state)
{
	struct push_debts *debts = push_debts_new();
	struct profile *p = window_new();
	char stall[32];

	(void)state;
	for (int i = 0; i < PUSH_DEBTS_MAX + 10; i++) {
		snprintf(stall, sizeof(stall), "cause%d", i);
		add(p, "fsync", stall, "01", 0, -5);
	}
	assert_int_equal(push(debts, p, NULL), 0);
	assert_int_equal(push_debts_owed(debts, "delay"), 5 * (PUSH_DEBTS_MAX + 10));
	p = window_new();
	add(p, "fsync", "cause0", "01", 1, 50);
	assert_int_equal(push(debts, p, NULL), 45);
	/* Nobody's. */
	p = window_new();
	add(p, "fsync", stall, "01", 1, 50);
	assert_int_equal(push(debts, p, NULL), 50);
	assert_int_equal(push_debts_owed(debts, "delay"), 5 * (PUSH_DEBTS_MAX + 9));
	push_debts_free(debts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_push_debts__windows_add_up),
		cmocka_unit_test(test_push_debts__within_one_window),
		cmocka_unit_test(test_push_debts__undecided_waits_are_not_pushed),
		cmocka_unit_test(test_push_debts__large_values),
		cmocka_unit_test(test_push_debts__more_labels_than_are_remembered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
