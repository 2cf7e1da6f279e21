/* The running kernel's tracepoints and functions, by its BTF. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "profiler/tracer/kernel_types.h"

static int set_up(void **state)
{
	*state = kernel_types_load();
	return !*state;
}

static int tear_down(void **state)
{
	kernel_types_free(*state);
	return 0;
}

static void test_kernel_types__tracepoint(void **state)
{
	bool in_module = true;

	assert_true(kernel_types_tracepoint(*state, "sched_switch", 0, &in_module));
	assert_false(in_module);
	assert_true(kernel_types_tracepoint(*state, "sched_switch", 3, &in_module));
	assert_false(kernel_types_tracepoint(*state, "sched_switch", 99, &in_module));
	assert_false(kernel_types_tracepoint(*state, "no_such_tracepoint", 0, &in_module));
	assert_false(in_module);
}

/* What is asked for again, under another cause, is answered alike; whether it can be hooked is the kernel's business. */
static void test_kernel_types__function(void **state)
{
	bool in_module = true, can = kernel_types_function(*state, "vfs_rename", true, &in_module);

	assert_false(in_module);
	assert_int_equal(kernel_types_function(*state, "vfs_rename", false, &in_module), can);
	assert_false(kernel_types_function(*state, "no_such_function", false, &in_module));
	assert_false(in_module);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_kernel_types__tracepoint, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_kernel_types__function, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
