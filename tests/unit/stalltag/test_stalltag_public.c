/* Tests of the public slot when another library publishes in the same thread. Pushes tags. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdint.h>
#include <string.h>

#include "stalltag/stalltag.h"

extern __thread const uint8_t *volatile stalltag_thread_ctx_v1;
extern __thread const uint8_t *volatile otel_thread_ctx_v1;

static const uint8_t theirs[28] = { 1, [16] = 2, [24] = 1 }, theirs_too[28] = { 3, [16] = 4, [24] = 1 };

static int clear(void **state)
{
	(void)state;
	otel_thread_ctx_v1 = NULL;
	return stalltag_depth() || stalltag_thread_ctx_v1;
}

static void test_stalltag_public__carries_our_tag(void **state)
{
	const uint8_t *record;

	(void)state;
	stalltag_push(1, "a");
	assert_non_null(stalltag_thread_ctx_v1);
	assert_ptr_equal(otel_thread_ctx_v1, stalltag_thread_ctx_v1);
	record = otel_thread_ctx_v1;
	assert_int_equal(record[24], 1);
	stalltag_pop();
	assert_null(otel_thread_ctx_v1);
	assert_int_equal(record[24], 0);
}

static void test_stalltag_public__foreign_context_survives_push_and_pop(void **state)
{
	(void)state;
	otel_thread_ctx_v1 = theirs;
	stalltag_push(1, "a");
	assert_ptr_equal(otel_thread_ctx_v1, theirs);
	assert_non_null(stalltag_thread_ctx_v1);
	stalltag_push(2, "b");
	assert_ptr_equal(otel_thread_ctx_v1, theirs);
	stalltag_pop();
	stalltag_pop();
	assert_ptr_equal(otel_thread_ctx_v1, theirs);
	assert_null(stalltag_thread_ctx_v1);
}

static void test_stalltag_public__foreign_overwrite_during_a_tag_stays(void **state)
{
	(void)state;
	stalltag_push(1, "a");
	otel_thread_ctx_v1 = theirs;
	stalltag_push(2, "b");
	assert_ptr_equal(otel_thread_ctx_v1, theirs);
	otel_thread_ctx_v1 = theirs_too;
	stalltag_pop();
	assert_ptr_equal(otel_thread_ctx_v1, theirs_too);
	stalltag_pop();
	assert_ptr_equal(otel_thread_ctx_v1, theirs_too);
}

static void test_stalltag_public__foreign_detach_gives_the_slot_back(void **state)
{
	(void)state;
	otel_thread_ctx_v1 = theirs;
	stalltag_push(1, "a");
	otel_thread_ctx_v1 = NULL;
	stalltag_push(2, "b");
	assert_ptr_equal(otel_thread_ctx_v1, stalltag_thread_ctx_v1);
	stalltag_pop();
	assert_ptr_equal(otel_thread_ctx_v1, stalltag_thread_ctx_v1);
	stalltag_pop();
	assert_null(otel_thread_ctx_v1);
}

/* A library that saves what it finds and puts it back later, when our tag has long been popped. */
static void test_stalltag_public__record_put_back_after_its_pop_is_invalid(void **state)
{
	const uint8_t *saved;

	(void)state;
	stalltag_push(1, "a");
	stalltag_push(2, "b");
	saved = otel_thread_ctx_v1;
	otel_thread_ctx_v1 = theirs;
	stalltag_pop();
	otel_thread_ctx_v1 = saved;
	assert_int_equal(saved[24], 0);
	stalltag_pop();
	assert_null(otel_thread_ctx_v1);
}

static void test_stalltag_public__state_is_published(void **state)
{
	(void)state;
	stalltag_push(1, "a");
	stalltag_pop();
	assert_int_equal(stalltag_public_state(), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_stalltag_public__carries_our_tag, clear, clear),
		cmocka_unit_test_setup_teardown(test_stalltag_public__foreign_context_survives_push_and_pop,
		                                clear, clear),
		cmocka_unit_test_setup_teardown(test_stalltag_public__foreign_overwrite_during_a_tag_stays,
		                                clear, clear),
		cmocka_unit_test_setup_teardown(test_stalltag_public__foreign_detach_gives_the_slot_back,
		                                clear, clear),
		cmocka_unit_test_setup_teardown(
		        test_stalltag_public__record_put_back_after_its_pop_is_invalid, clear, clear),
		cmocka_unit_test(test_stalltag_public__state_is_published),
	};

	return cmocka_run_group_tests_name("stalltag_public", tests, NULL, NULL);
}
