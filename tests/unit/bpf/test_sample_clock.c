/* Tests of bpf/sample_clock.bpf.h, built for this machine: which samples of a CPU never came. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

typedef uint64_t u64;

#define STALLPROF_KERNEL_BPF_H
#define ALWAYS static inline

#include "bpf/sample_clock.bpf.h"

#define PERIOD 10101010ULL /* 99 Hz */
#define BEGIN  5000000000ULL

/* A sample that is late by half a period and more is taken for the next one, once. */
static void test_sample_clock__late(void **state)
{
	struct sample_clock clock = { 0 };
	u64 skipped = 0;

	(void)state;
	for (u64 i = 0; i < 1000; i++) {
		u64 late = (i * 7919) % (PERIOD / 2);

		assert_int_equal(samples_skipped(&clock, BEGIN + i * PERIOD + late, PERIOD, 1), 0);
	}
	for (u64 i = 1000; i < 2000; i++)
		skipped += samples_skipped(&clock, BEGIN + i * PERIOD + (i * 7919) % PERIOD, PERIOD, 1);
	assert_true(skipped <= 1);
}

/* The first sample's own lateness is not known: up to one is lost by it. */
static void test_sample_clock__skipped(void **state)
{
	static const u64 first_late[] = { 0, PERIOD / 3, PERIOD - 1 };
	u64 now;

	(void)state;
	for (size_t i = 0; i < sizeof(first_late) / sizeof(first_late[0]); i++) {
		struct sample_clock clock = { 0 };
		u64 skipped = samples_skipped(&clock, BEGIN + first_late[i], PERIOD, 1), n = 0;

		for (now = BEGIN + PERIOD; n < 400; n++) {
			skipped += samples_skipped(&clock, now, PERIOD, 1);
			now += n % 4 ? PERIOD : 6 * PERIOD; /* five skipped, a hundred times */
		}
		assert_in_range(skipped, 499, 500);
	}
}

/* While the hooks are away nothing is due. */
static void test_sample_clock__detached(void **state)
{
	struct sample_clock clock = { 0 };

	(void)state;
	assert_int_equal(samples_skipped(&clock, BEGIN, PERIOD, 1), 0);
	assert_int_equal(samples_skipped(&clock, BEGIN + 4 * PERIOD, PERIOD, 1), 3);
	assert_int_equal(samples_skipped(&clock, BEGIN + 5 * PERIOD, PERIOD, 2), 0);
	assert_int_equal(samples_skipped(&clock, BEGIN + 99 * PERIOD, PERIOD, 2), 0);
	assert_int_equal(samples_skipped(&clock, BEGIN + 100 * PERIOD, PERIOD, 3), 0);
	assert_int_equal(samples_skipped(&clock, BEGIN + 102 * PERIOD, PERIOD, 3), 1);
	assert_int_equal(samples_skipped(&clock, BEGIN + 902 * PERIOD, PERIOD, 1ULL << 32 | 3), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sample_clock__late),
		cmocka_unit_test(test_sample_clock__skipped),
		cmocka_unit_test(test_sample_clock__detached),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
