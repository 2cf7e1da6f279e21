/* Tests of kernel_code.h: code that comes, goes and is replaced. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>

#include "symbolizer/kernel/kernel_code.h"

#define BASE 0xffffffffc0000000ULL

static void assert_found(const struct kernel_code *code, uint64_t address, const char *name)
{
	const char *found = kernel_code_find(code, address);

	if (!name)
		assert_null(found);
	else
		assert_string_equal(found ? found : "none", name);
}

static void test_kernel_code__comes_and_goes(void **state)
{
	struct kernel_code code = { 0 };

	(void)state;
	assert_found(&code, BASE, NULL);
	assert_int_equal(kernel_code_add(&code, BASE + 64, 32, "second"), 0);
	assert_int_equal(kernel_code_add(&code, BASE, 64, "first"), 0);
	assert_int_equal(kernel_code_add(&code, BASE + 128, 16, "third"), 0);
	assert_found(&code, BASE - 1, NULL);
	assert_found(&code, BASE, "first");
	assert_found(&code, BASE + 63, "first");
	assert_found(&code, BASE + 64, "second");
	assert_found(&code, BASE + 96, NULL);
	assert_found(&code, BASE + 143, "third");
	assert_found(&code, BASE + 144, NULL);
	kernel_code_remove(&code, BASE + 64, 32);
	kernel_code_remove(&code, BASE + 96, 32); /* nothing is there */
	assert_found(&code, BASE + 64, NULL);
	assert_found(&code, BASE + 63, "first");
	assert_found(&code, BASE + 128, "third");
	kernel_code_remove(&code, 0, UINT64_MAX);
	assert_int_equal(code.n, 0);
	assert_true(kernel_code_memory(&code) > 0);
	kernel_code_free(&code);
	assert_int_equal(kernel_code_memory(&code), 0);
}

/* Code at a place of which it was not told that the former has gone. */
static void test_kernel_code__replaced(void **state)
{
	struct kernel_code code = { 0 };

	(void)state;
	assert_int_equal(kernel_code_add(&code, BASE, 32, "a"), 0);
	assert_int_equal(kernel_code_add(&code, BASE + 32, 32, "b"), 0);
	assert_int_equal(kernel_code_add(&code, BASE + 64, 32, "c"), 0);
	assert_int_equal(kernel_code_add(&code, BASE + 32, 32, "b again"), 0);
	assert_found(&code, BASE + 40, "b again");
	assert_int_equal(kernel_code_add(&code, BASE + 16, 32, "d"), 0);
	assert_found(&code, BASE, NULL);
	assert_found(&code, BASE + 16, "d");
	assert_found(&code, BASE + 48, NULL);
	assert_found(&code, BASE + 64, "c");
	assert_int_equal(code.n, 2);
	kernel_code_free(&code);
}

static void test_kernel_code__refused(void **state)
{
	struct kernel_code code = { 0 };

	(void)state;
	assert_int_equal(kernel_code_add(&code, BASE, 0, "empty"), -EINVAL);
	assert_int_equal(kernel_code_add(&code, UINT64_MAX - 4, 32, "wraps"), -EINVAL);
	assert_int_equal(kernel_code_add(&code, BASE, 32, ""), -EINVAL);
	for (uint64_t i = 0; i < KERNEL_CODE_MAX; i++)
		assert_int_equal(kernel_code_add(&code, BASE + i * 16, 16, "x"), 0);
	assert_true(kernel_code_add(&code, BASE - 16, 16, "one too many") < 0);
	assert_found(&code, BASE - 16, NULL);
	assert_found(&code, BASE + 16 * (KERNEL_CODE_MAX - 1), "x");
	kernel_code_free(&code);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kernel_code__comes_and_goes),
		cmocka_unit_test(test_kernel_code__replaced),
		cmocka_unit_test(test_kernel_code__refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
