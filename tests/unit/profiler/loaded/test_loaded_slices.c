/* Tests of loaded_slices.h: the time slices of a file. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "profiler/format/stamp.h"
#include "profiler/loaded/loaded_profiles.h"
#include "profiler/loaded/loaded_slices.h"

#define SECOND 1000000000LL

/* Slices of a recording whose samples are in slices that begin at two moments. */
static struct loaded_slices slices_of(int64_t first_s, int64_t second_s, uint64_t last_ns)
{
	const struct profile_value_type type = { "delay", "nanoseconds" };
	struct loaded_profiles input = { .stamp = stamp_new() };
	struct profile *profile = profile_new(&type, 1, type, 1, 1 << 20);
	const int64_t seconds[] = { first_s, second_s }, value = 1;
	int64_t id = profile_location(profile, 0, 1, NULL, 0);
	struct loaded_slices slices;

	for (size_t i = 0; i < 2; i++) {
		const struct profile_label at = { .key = "at", .num = seconds[i], .unit = "unix_seconds" };

		assert_int_equal(profile_add_sample(profile, &id, 1, &value, &at, 1), 0);
	}
	assert_int_equal(stamp_add_window(input.stamp, (uint64_t)(first_s * SECOND), last_ns), 0);
	input.profile = profile;
	assert_int_equal(loaded_slices_find(&slices, &input), 0);
	stamp_free(input.stamp);
	profile_free(profile);
	return slices;
}

static void test_loaded_slices__to_the_end_of_the_recording(void **state)
{
	struct loaded_slices slices = slices_of(1000, 1002, 1009 * SECOND);

	(void)state;
	assert_int_equal(slices.begin_ns, 1000 * SECOND);
	assert_int_equal(slices.width_ns, 2 * SECOND);
	assert_int_equal(slices.count, 5);
}

/* The last one would end behind what 64 bits have room for. */
static void test_loaded_slices__to_the_end_of_time(void **state)
{
	(void)state;
	assert_int_equal(slices_of(1000, 1000 + 90 * 86400, INT64_MAX).count, 1);
	assert_int_equal(slices_of(1000, 1000 + 90 * 86400, UINT64_MAX).count, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_loaded_slices__to_the_end_of_the_recording),
		cmocka_unit_test(test_loaded_slices__to_the_end_of_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
