/* Tests of loaded_sample.h: which samples are of waits that are no stalls. */
#include "tests/unit/loaded_fixture.h"

static void test_loaded_sample__wait_kinds(void **state)
{
	(void)state;
	assert_int_equal(loaded_wait_kind("other"), 0);
	assert_true(loaded_wait_kind("lock") > 0 && loaded_wait_kind("undecided") > loaded_wait_kind("lock"));
	assert_int_equal(loaded_wait_kind("block_io"), -1);
	assert_int_equal(loaded_wait_kind("none"), -1);
	assert_int_equal(loaded_wait_kind(""), -1);
}

/* A profile that has no ledger at all, as from Pyroscope; with one of a kind that only a ledger tells. */
static void test_loaded_sample__waits_without_ledger(void **state)
{
	static const char *const stalls[] = { "lock", "poll", "block_io", "", "kind_of_2030" };
	static const bool waits[] = { true, true, false, false, false };

	(void)state;
	for (int with_ledger = 0; with_ledger < 2; with_ledger++) {
		struct profile *p = profile_new(types, 3, types[CPU], 1, 1 << 20);
		int64_t main_fn;
		struct ledger *ledger = ledger_new(0);
		struct stamp *stamp = stamp_new();
		struct loaded_profiles input;
		struct loaded_sample sample;
		struct loaded_tags *tags;
		char err[256] = "";

		assert_int_equal(profile_mapping(p, 0x1000, 0x9000, 0, "/bin/train", "ab", true, true), 1);
		main_fn = place(p, 0x1300, "main", NULL);
		for (size_t i = 0; i < COUNT(stalls); i++)
			add_sample(p, &main_fn, 1, MS, 0, "step", "", stalls[i], "");
		add_row(ledger, "step", 1, LEDGER_BLOCKED, "kind_of_2030", MS);
		if (with_ledger) {
			assert_int_equal(stamp_to_notes(stamp, p), 0);
			assert_int_equal(ledger_to_notes(ledger, p), 0);
		}
		assert_int_equal(loaded_profiles_borrow(&input, p, err, sizeof(err)), 0);
		tags = loaded_tags_new(&input);
		assert_non_null(tags);
		for (size_t i = 0; i < COUNT(stalls); i++) {
			assert_true(loaded_sample_get(&input, tags, i, &sample));
			assert_string_equal(sample.stall, stalls[i]);
			if (sample.is_wait != (waits[i] || (i == 4 && with_ledger)))
				fail_msg("%s, ledger %d: %d", stalls[i], with_ledger, sample.is_wait);
		}
		loaded_tags_free(tags);
		loaded_profiles_release(&input);
		ledger_free(ledger);
		stamp_free(stamp);
		profile_free(p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_loaded_sample__wait_kinds),
		cmocka_unit_test(test_loaded_sample__waits_without_ledger),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
