/* Tests of diff_sound.h: whether a stall was looked for, and on both sides, by the hooks of a stamp. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "profiler/diff/diff_sound.h"
#include "profiler/format/stamp.h"
#include "profiler/signals/signal_files.h"
#include "profiler/tracer/probe_table.h"

static void test_diff_sound__looked_for(void **state)
{
	static const struct {
		const char *cause, *hook, *reason;
		enum hook_state state;
	} hooks[] = {
		{ "gpu_fence_any", "a", "", HOOK_ATTACHED },
		{ "gpu_fence", "a", "too old", HOOK_MISSING },
		{ "block_io", "a", "", HOOK_ATTACHED },
		{ "block_io", "b", "", HOOK_ATTACHED },
		{ "throttle", "a", PROBE_OFF, HOOK_UNUSED },
		{ "nvme_reset", "a", "its module is not loaded", HOOK_UNUSED },
		{ "writeback", "a", "", HOOK_ATTACHED },
		{ "writeback", "b", "no function", HOOK_MISSING },
		{ "gpu_ring_xe", "a", "too old", HOOK_MISSING },
		{ "gpu_ring_i915", "a", "its module is not loaded", HOOK_UNUSED },
		{ "nfs_read_ahead", "a", "too old", HOOK_MISSING },
	};
	static const struct {
		const char *stall, *why; /* NULL: it was */
	} known[] = {
		{ "gpu_fence", "too old" },     { "block_io", NULL },
		{ "throttle", PROBE_OFF },      { "nvme_reset", NULL },
		{ "writeback", "no function" }, { "gpu_ring", NULL },
		{ "nfs_read", "too old" },      { "journal", NULL },
	};
	struct stamp *stamp = stamp_new();
	char why[64];

	(void)state;
	assert_non_null(stamp);
	assert_false(diff_sound_looked_for(stamp, "block_io", why, sizeof(why)));
	assert_string_equal(why, "it has no stamp");
	for (size_t i = 0; i < sizeof(hooks) / sizeof(hooks[0]); i++)
		assert_int_equal(
		        stamp_add_hook(stamp, hooks[i].cause, hooks[i].hook, hooks[i].state, hooks[i].reason),
		        0);
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		bool was = diff_sound_looked_for(stamp, known[i].stall, why, sizeof(why));

		assert_int_equal(was, !known[i].why);
		assert_string_equal(why, known[i].why ? known[i].why : "");
	}
	stamp_free(stamp);
}

/* A cause that was looked for on one side alone is no ground for a comparison; a signal that was is, as none is compared. */
static void test_diff_sound__hooks_of_one_side(void **state)
{
	static const struct {
		const char *cause, *hook;
		size_t lines;
	} cases[] = { { HOST_SIGNALS_CAUSE, "cpu_throttled", 0 }, { "block_io", "block_rq_issue", 1 } };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct diff_side side[2] = { { .files = 1, .stamp = stamp_new() },
			                     { .files = 1, .stamp = stamp_new() } };
		struct diff_lines against = { .count = 0 }, remarks = { .count = 0 };

		for (int s = 0; s < 2; s++) {
			assert_non_null(side[s].stamp);
			assert_int_equal(stamp_add_hook(side[s].stamp, cases[i].cause, cases[i].hook,
			                                s ? HOOK_MISSING : HOOK_ATTACHED,
			                                s ? "more than places" : ""),
			                 0);
		}
		diff_sound_check(side, &against, &remarks);
		assert_int_equal(against.count, cases[i].lines);
		assert_int_equal(remarks.count, 0);
		if (cases[i].lines)
			assert_non_null(strstr(against.text[0], "block_io was looked for in BASE alone"));
		for (int s = 0; s < 2; s++)
			stamp_free(side[s].stamp);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_diff_sound__looked_for),
		cmocka_unit_test(test_diff_sound__hooks_of_one_side),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
