/* A window with one sample, for tests of what becomes of windows whatever they hold. */
#ifndef TESTS_UNIT_SMALL_WINDOW_H
#define TESTS_UNIT_SMALL_WINDOW_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "pprof/profile.h"

static inline struct profile *small_window(void)
{
	const struct profile_value_type types[] = { { "contentions", "count" }, { "delay", "nanoseconds" } };
	struct profile *profile = profile_new(types, 2, types[0], 1, 1 << 20);
	const int64_t values[] = { 3, 500 };
	int64_t id;

	assert_non_null(profile);
	profile_set_time(profile, 1700000000000000000, 10);
	id = profile_location(profile, 0, 1, NULL, 0);
	assert_int_equal(profile_add_sample(profile, &id, 1, values, NULL, 0), 0);
	return profile;
}

#endif
