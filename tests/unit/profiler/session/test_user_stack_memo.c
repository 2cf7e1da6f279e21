/* Tests of user_stack_memo.h: user frames taken from another wait. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "profiler/session/user_stack_memo.h"

static const struct user_stack_key base = {
	.process_start_ns = 5, .ip = 0x401000, .sp = 0x7ffc0000, .tgid = 7, .tid = 8
};

static void test_user_stack_memo__gives_back_what_it_was_given(void **state)
{
	struct user_stack_memo *memo = user_stack_memo_new();
	const int64_t ids[] = { 3, 1, 2 }, others[] = { 9 };
	struct user_stack_key other = base;
	const int64_t *got;
	size_t n = 0;

	(void)state;
	assert_null(user_stack_memo_get(memo, &base, &n));
	user_stack_memo_put(memo, &base, ids, 3);
	user_stack_memo_put(memo, &base, others, 1); /* the first stands */
	got = user_stack_memo_get(memo, &base, &n);
	assert_int_equal(n, 3);
	assert_memory_equal(got, ids, sizeof(ids));
	other.sp += 16;
	assert_null(user_stack_memo_get(memo, &other, &n));
	other = base;
	other.tid++;
	assert_null(user_stack_memo_get(memo, &other, &n));
	user_stack_memo_clear(memo);
	assert_null(user_stack_memo_get(memo, &base, &n));
	user_stack_memo_put(memo, &base, others, 1);
	assert_int_equal(*user_stack_memo_get(memo, &base, &n), 9);
	user_stack_memo_free(memo);
	user_stack_memo_free(NULL);
}

static void test_user_stack_memo__is_bounded(void **state)
{
	struct user_stack_memo *memo = user_stack_memo_new();
	struct user_stack_key key = base;
	const int64_t id = 1;
	size_t n;

	(void)state;
	for (key.sp = 0; key.sp < USER_STACK_MEMO_MAX + 5; key.sp++)
		user_stack_memo_put(memo, &key, &id, 1);
	key.sp = USER_STACK_MEMO_MAX - 1;
	assert_non_null(user_stack_memo_get(memo, &key, &n));
	key.sp = USER_STACK_MEMO_MAX;
	assert_null(user_stack_memo_get(memo, &key, &n));
	user_stack_memo_free(memo);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_user_stack_memo__gives_back_what_it_was_given),
		cmocka_unit_test(test_user_stack_memo__is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
