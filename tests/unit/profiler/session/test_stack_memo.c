/* Tests of stack_memo.h: the locations of equal stacks. */

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "profiler/session/stack_memo.h"

struct key {
	uint64_t process_start_ns, ip, sp;
	uint32_t tgid, tid;
};

static const struct key base = {
	.process_start_ns = 5, .ip = 0x401000, .sp = 0x7ffc0000, .tgid = 7, .tid = 8
};

static void test_stack_memo__gives_back_what_it_was_given(void **state)
{
	struct stack_memo *memo = stack_memo_new();
	const int64_t ids[] = { 3, 1, 2 }, others[] = { 9 };
	struct key other = base;
	const int64_t *got;
	size_t n = 0;

	(void)state;
	assert_null(stack_memo_get(memo, &base, sizeof(base), &n));
	stack_memo_put(memo, &base, sizeof(base), ids, 3);
	stack_memo_put(memo, &base, sizeof(base), others, 1);
	stack_memo_put(memo, &base, sizeof(base), ids, 3); /* the last stands */
	got = stack_memo_get(memo, &base, sizeof(base), &n);
	assert_int_equal(n, 3);
	assert_memory_equal(got, ids, sizeof(ids));
	other.sp += 16;
	assert_null(stack_memo_get(memo, &other, sizeof(other), &n));
	other = base;
	other.tid++;
	assert_null(stack_memo_get(memo, &other, sizeof(other), &n));
	assert_null(stack_memo_get(memo, &base, sizeof(base) - 8, &n)); /* a key that begins like it */
	stack_memo_clear(memo);
	assert_null(stack_memo_get(memo, &base, sizeof(base), &n));
	stack_memo_put(memo, &base, sizeof(base), others, 1);
	assert_int_equal(*stack_memo_get(memo, &base, sizeof(base), &n), 9);
	stack_memo_free(memo);
	stack_memo_free(NULL);
}

static bool knows(struct stack_memo *memo, uint64_t sp)
{
	struct key key = base;
	size_t n;

	key.sp = sp;
	return stack_memo_get(memo, &key, sizeof(key), &n) != NULL;
}

/* What was not put again for long is forgotten, what is in use is not. */
static void test_stack_memo__is_bounded(void **state)
{
	struct stack_memo *memo = stack_memo_new();
	struct key key = base;
	const int64_t id = 1;

	(void)state;
	stack_memo_put(memo, &base, sizeof(base), &id, 1);
	for (key.sp = 1; key.sp <= 4 * STACK_MEMO_MAX; key.sp++) {
		stack_memo_put(memo, &key, sizeof(key), &id, 1);
		if (key.sp % STACK_MEMO_MAX == 0)
			stack_memo_put(memo, &base, sizeof(base), &id, 1);
		assert_true(knows(memo, base.sp));
	}
	assert_true(knows(memo, 3 * STACK_MEMO_MAX + 1));
	assert_false(knows(memo, 2 * STACK_MEMO_MAX));
	stack_memo_free(memo);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stack_memo__gives_back_what_it_was_given),
		cmocka_unit_test(test_stack_memo__is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
