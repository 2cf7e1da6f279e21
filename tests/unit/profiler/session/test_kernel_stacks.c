/* Tests of kernel_stacks.h: a stack that is met again has the same locations, in each profile its own. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bpf/abi.h"
#include "pprof/profile.h"
#include "profiler/session/kernel_stacks.h"
#include "symbolizer/symbolizer.h"

static struct profile *new_profile(void)
{
	const struct profile_value_type type = { "delay", "nanoseconds" };

	return profile_new(&type, 1, type, 1, 1 << 20);
}

static void test_kernel_stacks__again(void **state)
{
	struct symbolizer *symbolizer = symbolizer_new(NULL);
	struct kernel_stacks *stacks = kernel_stacks_new(symbolizer);
	struct profile *first = new_profile(), *second = new_profile();
	static struct abi_event event = { .kind = ABI_EVENT_WAIT, .kstack_len = 2 };
	int64_t ids[ABI_KSTACK_MAX], again[ABI_KSTACK_MAX];
	struct profile_location_view seen;
	size_t n = 0, n_again = 0;

	(void)state;
	event.kstack[0] = 0xffffffff81000010;
	event.kstack[1] = 0xffffffff81000020;
	assert_int_equal(kernel_stacks_resolve(stacks, &event, first, ids, &n), 0);
	assert_int_equal(n, 2);
	assert_int_equal(kernel_stacks_resolve(stacks, &event, first, again, &n_again), 0);
	assert_int_equal(n_again, 2);
	assert_memory_equal(again, ids, 2 * sizeof(*ids));
	assert_int_equal(profile_n_locations(first), 2);
	/* A shorter one is another. */
	event.kstack_len = 1;
	n_again = 0;
	assert_int_equal(kernel_stacks_resolve(stacks, &event, first, again, &n_again), 0);
	assert_int_equal(n_again, 1);
	assert_int_equal(again[0], ids[0]);
	/* In another profile it has locations of its own. */
	event.kstack_len = 2;
	n_again = 0;
	assert_int_equal(profile_n_locations(second), 0);
	assert_int_equal(kernel_stacks_resolve(stacks, &event, second, again, &n_again), 0);
	assert_int_equal(profile_n_locations(second), 2);
	assert_true(profile_get_location(second, again[1], &seen));
	/* An interrupted instruction is no return address. */
	event.kind = ABI_EVENT_CPU;
	n_again = 0;
	assert_int_equal(kernel_stacks_resolve(stacks, &event, first, again, &n_again), 0);
	assert_int_not_equal(again[0], ids[0]);
	kernel_stacks_clear(stacks);
	profile_free(first);
	profile_free(second);
	kernel_stacks_free(stacks);
	kernel_stacks_free(NULL);
	symbolizer_free(symbolizer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kernel_stacks__again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
