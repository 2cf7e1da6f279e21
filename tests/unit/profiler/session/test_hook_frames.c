/* Tests of hook_frames.h: what hooks put on a kernel stack is left out. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "profiler/session/hook_frames.h"

static void test_hook_frames__hooked_function(void **state)
{
	struct hook_frames frames = { .hooked = false };

	(void)state;
	assert_false(hook_frames_skips(&frames, "generic_perform_write"));
	assert_false(hook_frames_skips(&frames, "nfs_file_write"));
	assert_true(hook_frames_skips(&frames, "bpf_trampoline_83751975554"));
	assert_true(hook_frames_skips(&frames, "nfs_file_write"));
	assert_false(hook_frames_skips(&frames, "vfs_write"));
}

/* The hooked function has left its frame to another, which it jumped to. */
static void test_hook_frames__tail_call(void **state)
{
	struct hook_frames frames = { .hooked = false };

	(void)state;
	assert_false(hook_frames_skips(&frames, "nfs_file_direct_read"));
	assert_true(hook_frames_skips(&frames, "bpf_trampoline_83751975568"));
	assert_false(hook_frames_skips(&frames, "nfs_file_read"));
	assert_false(hook_frames_skips(&frames, "vfs_read"));
}

static void test_hook_frames__recursion_is_kept(void **state)
{
	struct hook_frames frames = { .hooked = false };

	(void)state;
	assert_false(hook_frames_skips(&frames, "walk"));
	assert_false(hook_frames_skips(&frames, "walk"));
	assert_true(hook_frames_skips(&frames, "bpf_trampoline_1"));
	assert_true(hook_frames_skips(&frames, "walk"));
	assert_false(hook_frames_skips(&frames, "walk"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hook_frames__hooked_function),
		cmocka_unit_test(test_hook_frames__tail_call),
		cmocka_unit_test(test_hook_frames__recursion_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
