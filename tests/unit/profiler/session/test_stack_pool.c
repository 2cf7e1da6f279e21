/* Tests of stack_pool.h: how rows without samples share the stacks of like waits. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "profiler/session/stack_pool.h"

static const int64_t often[] = { 1, 2 }, seldom[] = { 3 };
static const char class_a[] = "a", class_b[] = "b";

static struct stack_pool_key key_of(const char *class, uint32_t dev)
{
	struct stack_pool_key key;

	memset(&key, 0, sizeof(key));
	key.class = class;
	key.dev = dev;
	return key;
}

static void test_stack_pool__shares_follow_the_weights(void **state)
{
	struct stack_pools *pools = stack_pools_new();
	struct stack_pool_key key = key_of(class_a, 1);
	unsigned int i, n_often = 0, n_seldom = 0;
	const int64_t *ids;
	size_t n;

	(void)state;
	assert_int_equal(stack_pools_offer(pools, &key, often, 2, 300), 0);
	assert_int_equal(stack_pools_offer(pools, &key, seldom, 1, 100), 0);
	for (i = 0; i < 1000; i++)
		assert_int_equal(stack_pools_want(pools, &key, 7), 0);
	for (i = 0; i < 1000; i++) {
		ids = stack_pools_take(pools, &key, 7, &n);
		assert_non_null(ids);
		assert_int_equal(n, ids == often ? 2 : 1);
		n_often += ids == often;
		n_seldom += ids == seldom;
	}
	assert_int_equal(n_often, 750);
	assert_int_equal(n_seldom, 250);
	stack_pools_free(pools);
}

static void test_stack_pool__none_of_the_like(void **state)
{
	struct stack_pools *pools = stack_pools_new();
	struct stack_pool_key a = key_of(class_a, 1), b = key_of(class_b, 1), other = key_of(class_a, 2);
	size_t n;

	(void)state;
	assert_int_equal(stack_pools_offer(pools, &a, often, 2, 1), 0);
	assert_int_equal(stack_pools_want(pools, &b, 5), 0);
	assert_int_equal(stack_pools_want(pools, &other, 5), 0);
	assert_null(stack_pools_take(pools, &b, 5, &n));
	assert_null(stack_pools_take(pools, &other, 5, &n));
	assert_null(stack_pools_take(pools, &a, 5, &n)); /* nobody said it would want one */
	stack_pools_free(pools);
	stack_pools_free(NULL);
}

/* The last row must not fall off the end, whatever the rounding. */
static void test_stack_pool__extremes(void **state)
{
	struct stack_pools *pools = stack_pools_new();
	struct stack_pool_key key = key_of(class_a, 0);
	size_t n;

	(void)state;
	assert_int_equal(stack_pools_offer(pools, &key, often, 2, UINT64_MAX / 4), 0);
	assert_int_equal(stack_pools_offer(pools, &key, seldom, 1, UINT64_MAX / 4), 0);
	assert_int_equal(stack_pools_want(pools, &key, UINT64_MAX / 4), 0);
	assert_int_equal(stack_pools_want(pools, &key, UINT64_MAX / 4), 0);
	assert_ptr_equal(stack_pools_take(pools, &key, UINT64_MAX / 4, &n), often);
	assert_ptr_equal(stack_pools_take(pools, &key, UINT64_MAX / 4, &n), seldom);
	assert_ptr_equal(stack_pools_take(pools, &key, 1, &n), seldom);
	stack_pools_free(pools);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stack_pool__shares_follow_the_weights),
		cmocka_unit_test(test_stack_pool__none_of_the_like),
		cmocka_unit_test(test_stack_pool__extremes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
