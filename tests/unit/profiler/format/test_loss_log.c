/* Tests of loss_log.h: each kind of loss is logged once. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "profiler/format/loss_log.h"
#include "profiler/format/stamp.h"

static unsigned int n_said;
static char last_said[512];

static void take_line(const char *line)
{
	n_said++;
	snprintf(last_said, sizeof(last_said), "%s", line);
}

static void take(struct loss_log *log, const char *counter, uint64_t value, enum hook_state state)
{
	struct stamp *stamp = stamp_new();

	assert_non_null(stamp);
	assert_int_equal(stamp_add_hook(stamp, "block_io", "tp_btf/a", HOOK_ATTACHED, NULL), 0);
	assert_int_equal(stamp_add_hook(stamp, "journal", "tp/b", state, "not in this kernel"), 0);
	assert_int_equal(stamp_add_counter(stamp, "frames_dwarf", 7), 0);
	assert_int_equal(stamp_add_counter(stamp, counter, value), 0);
	loss_log_take(log, stamp, take_line);
	stamp_free(stamp);
}

static void test_loss_log__each_kind_once(void **state)
{
	struct loss_log log = { 0 };
	char totals[128];

	(void)state;
	n_said = 0;
	take(&log, "ring_full", 0, HOOK_ATTACHED);
	assert_int_equal(n_said, 0);
	loss_log_totals(&log, totals, sizeof(totals));
	assert_string_equal(totals, "");
	take(&log, "ring_full", 3, HOOK_ATTACHED);
	assert_int_equal(n_said, 1);
	assert_string_equal(last_said,
	                    "3 samples lost: the ring buffer was full: raise sampling.ring_bytes (further "
	                    "ones are counted in the profiles: ring_full)");
	take(&log, "ring_full", 4, HOOK_ATTACHED);
	assert_int_equal(n_said, 1);
	take(&log, "slots_exhausted", 1, HOOK_ATTACHED);
	assert_int_equal(n_said, 2);
	loss_log_totals(&log, totals, sizeof(totals));
	assert_string_equal(totals, "ring_full=7 slots_exhausted=1");
	take(&log, "samples_lost", 5, HOOK_ATTACHED);
	assert_string_equal(last_said,
	                    "5 samples lost: the profile was full, or there was no time to resolve them: "
	                    "lower sampling.budget_bytes_per_second (further ones are counted in the "
	                    "profiles: samples_lost)");
	/* What does not fit in is cut. */
	loss_log_totals(&log, totals, 8);
	assert_int_equal(strlen(totals), 7);
}

/* The totals go on; what is lost is said anew. */
static void test_loss_log__goes_on(void **state)
{
	struct loss_log log = { 0 }, next = { 0 }, last = { 0 };
	char totals[128];

	(void)state;
	take(&log, "ring_full", 3, HOOK_ATTACHED);
	loss_log_go_on(&next, &log);
	n_said = 0;
	take(&next, "ring_full", 4, HOOK_ATTACHED);
	assert_int_equal(n_said, 1);
	loss_log_go_on(&last, &next);
	loss_log_totals(&last, totals, sizeof(totals));
	assert_string_equal(totals, "ring_full=7");
}

static void test_loss_log__what_is_a_loss(void **state)
{
	(void)state;
	size_t n = 0, rings = 0;

	for (; loss_log_counter(n); n++) {
		rings += !strcmp(loss_log_counter(n), "ring_full");
		assert_string_not_equal(loss_log_counter(n), "frames_dwarf");
	}
	assert_int_equal(rings, 1);
	assert_true(n <= LOSS_KINDS_MAX);
}

static void test_loss_log__a_missing_hook_once(void **state)
{
	struct loss_log log = { 0 };

	(void)state;
	n_said = 0;
	take(&log, "ring_full", 0, HOOK_MISSING);
	assert_int_equal(n_said, 1);
	assert_string_equal(last_said,
	                    "journal is not seen by tp/b: not in this kernel (see stallprof doctor)");
	take(&log, "ring_full", 0, HOOK_MISSING);
	assert_int_equal(n_said, 1);
}

static void test_loss_log__hooks_that_miss_for_one_reason_in_a_line(void **state)
{
	struct loss_log log = { 0 };
	struct stamp *stamp = stamp_new();

	(void)state;
	n_said = 0;
	assert_int_equal(stamp_add_hook(stamp, "tag_wait", "a", HOOK_MISSING, "not in this kernel"), 0);
	assert_int_equal(stamp_add_hook(stamp, "gpu_sync", "b", HOOK_UNUSED, "no program with it was seen"),
	                 0);
	assert_int_equal(stamp_add_hook(stamp, "dma_map", "c", HOOK_MISSING, "not in this kernel"), 0);
	assert_int_equal(stamp_add_hook(stamp, "dma_map", "d", HOOK_MISSING, "not in this kernel"), 0);
	loss_log_take(&log, stamp, take_line);
	assert_int_equal(n_said, 1);
	assert_string_equal(
	        last_said, "not all is seen of tag_wait, dma_map: not in this kernel (see stallprof doctor)");
	loss_log_take(&log, stamp, take_line);
	assert_int_equal(n_said, 1);
	stamp_free(stamp);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_loss_log__each_kind_once),
		cmocka_unit_test(test_loss_log__goes_on),
		cmocka_unit_test(test_loss_log__what_is_a_loss),
		cmocka_unit_test(test_loss_log__a_missing_hook_once),
		cmocka_unit_test(test_loss_log__hooks_that_miss_for_one_reason_in_a_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
