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
	struct kernel_code_hit hit = { .name = "none" };

	assert_int_equal(kernel_code_find(code, address, &hit), name != NULL);
	if (name)
		assert_string_equal(hit.name, name);
}

static void test_kernel_code__comes_and_goes(void **state)
{
	struct kernel_code code = { 0 };
	struct kernel_code_hit hit;

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
	assert_true(kernel_code_find(&code, BASE + 70, &hit) && hit.start == BASE + 64 && !hit.is_rounded);
	kernel_code_remove(&code, BASE + 64);
	kernel_code_remove(&code, BASE + 96); /* nothing is there */
	kernel_code_remove(&code, BASE + 8);  /* nothing begins there */
	assert_found(&code, BASE + 64, NULL);
	assert_found(&code, BASE + 63, "first");
	assert_found(&code, BASE + 128, "third");
	assert_true(kernel_code_memory(&code) > 0);
	kernel_code_free(&code);
	assert_int_equal(kernel_code_memory(&code), 0);
	assert_found(&code, BASE, NULL);
}

/* Code at a place of which it was not told that the former has gone. */
static void test_kernel_code__replaced(void **state)
{
	struct kernel_code code = { 0 };

	(void)state;
	assert_int_equal(kernel_code_add(&code, BASE, 32, "a"), 0);
	assert_int_equal(kernel_code_add(&code, BASE + 32, 32, "b"), 0);
	assert_int_equal(kernel_code_add(&code, BASE + 64, 32, "c"), 0);
	assert_int_equal(kernel_code_add(&code, BASE + 32, 48, "b again"), 0);
	assert_found(&code, BASE + 31, "a");
	assert_found(&code, BASE + 40, "b again");
	assert_found(&code, BASE + 64, "c");
	assert_int_equal(code.n, 3);
	kernel_code_free(&code);
}

/* Trampolines are told with the size of a page, and lie side by side in less, in any order. */
static void test_kernel_code__trampolines(void **state)
{
	struct kernel_code code = { 0 };
	struct kernel_code_hit hit;

	(void)state;
	assert_int_equal(kernel_code_add(&code, BASE, 4096, "bpf_trampoline_1"), 0);
	assert_int_equal(kernel_code_add(&code, BASE + 0x280, 4096, "bpf_trampoline_3"), 0);
	assert_int_equal(kernel_code_add(&code, BASE + 0x140, 4096, "bpf_trampoline_2"), 0);
	assert_found(&code, BASE + 0x13f, "bpf_trampoline_1");
	assert_found(&code, BASE + 0x140, "bpf_trampoline_2");
	assert_found(&code, BASE + 0x27f, "bpf_trampoline_2");
	assert_found(&code, BASE + 0x280, "bpf_trampoline_3");
	assert_true(kernel_code_find(&code, BASE + 0x150, &hit) && hit.is_rounded);
	kernel_code_remove(&code, BASE);
	assert_found(&code, BASE + 8, NULL);
	assert_found(&code, BASE + 0x140, "bpf_trampoline_2");
	kernel_code_remove(&code, BASE + 0x280);
	assert_found(&code, BASE + 0x280, NULL);
	assert_int_equal(code.n, 1);
	/* One ends where another has begun since, also when that has gone. */
	assert_int_equal(kernel_code_add(&code, BASE + 0x200, 4096, "bpf_trampoline_4"), 0);
	kernel_code_remove(&code, BASE + 0x200);
	assert_found(&code, BASE + 0x1ff, "bpf_trampoline_2");
	assert_found(&code, BASE + 0x200, NULL);
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
		cmocka_unit_test(test_kernel_code__trampolines),
		cmocka_unit_test(test_kernel_code__refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
