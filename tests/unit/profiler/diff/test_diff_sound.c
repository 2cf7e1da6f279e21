/* Tests of diff_sound.h: whether a stall was looked for, by the hooks of a stamp. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "profiler/diff/diff_sound.h"
#include "profiler/format/stamp.h"
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_diff_sound__looked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
