/* Tests of sampling_threshold.h: T follows the load. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "profiler/config/config.h"
#include "profiler/session/sampling_threshold.h"
#include "tests/unit/fake_tracer.h"

#define SECOND_NS 1000000000ULL
#define TENTH_NS  100000000ULL
#define BASE_NS   100000ULL
#define MS_NS     1000000ULL
#define MAX_NS    (10 * SECOND_NS)
#define BUDGET    1000000ULL  /* bytes a second */
#define PERIOD_NS 10101010ULL /* of the clock of CPU samples */

static struct fake_tracer fake;
static struct sampling_threshold threshold;
static uint64_t now_ns;

static void begin(const struct config_sampling *sampling)
{
	fake_tracer_init(&fake);
	for (int waits = 0; waits < ABI_WAITS_MAX; waits++)
		fake.threshold_ns[waits] = sampling_threshold_first(sampling);
	fake.threshold_ns[ABI_WAITS_CPU] = PERIOD_NS;
	threshold = (struct sampling_threshold){ 0 };
	now_ns = 5 * SECOND_NS;
	sampling_threshold_begin(&threshold, sampling, &fake.tracer, now_ns);
}

/* A tenth of a second in which stacks come at a rate; the new T. */
static uint64_t pass(uint64_t bytes_per_second)
{
	now_ns += TENTH_NS;
	fake.event_bytes[ABI_WAITS_STALL] += bytes_per_second / 10;
	sampling_threshold_hold(&threshold, now_ns);
	return fake.threshold_ns[ABI_WAITS_STALL];
}

static const struct config_sampling usual = { .threshold_ns = BASE_NS, .budget_bytes_per_second = BUDGET };

static void test_sampling_threshold__begins_at_a_millisecond(void **state)
{
	const struct config_sampling fixed = { .threshold_ns = BASE_NS },
	                             high = { .threshold_ns = 7 * MS_NS, .budget_bytes_per_second = BUDGET };

	(void)state;
	assert_int_equal(sampling_threshold_first(&usual), MS_NS);
	assert_int_equal(sampling_threshold_first(&fixed), BASE_NS);
	assert_int_equal(sampling_threshold_first(&high), 7 * MS_NS);
}

/* A second's budget may come at once. */
static void test_sampling_threshold__grows_as_stacks_exceed_the_budget(void **state)
{
	(void)state;
	begin(&usual);
	assert_int_equal(pass(10 * BUDGET), MS_NS);
	assert_in_range(pass(2 * BUDGET), 2 * MS_NS, 3 * MS_NS);
	begin(&usual);
	assert_in_range(pass(30 * BUDGET), 20 * MS_NS, 23 * MS_NS);
	for (int i = 0; i < 20; i++)
		pass(1000 * BUDGET);
	assert_int_equal(fake.threshold_ns[ABI_WAITS_STALL], MAX_NS);
}

/* As at each step of a distributed job: their waits keep their stacks, while the sum is within the budget. */
static void test_sampling_threshold__bursts_within_the_budget(void **state)
{
	uint64_t largest = 0;

	(void)state;
	begin(&usual);
	for (int i = 0; i < 100; i++) {
		uint64_t now = pass(i % 5 ? 0 : 4 * BUDGET);

		largest = now > largest ? now : largest;
	}
	assert_true(largest <= MS_NS);
	begin(&usual);
	for (int i = 0; i <= 95; i++)
		largest = pass(i % 5 ? 0 : 8 * BUDGET);
	assert_true(largest > BASE_NS);
}

/* It halves ten times a second well below the budget, down to the configured one. */
static void test_sampling_threshold__halves_when_it_is_quiet(void **state)
{
	(void)state;
	begin(&usual);
	assert_int_equal(pass(BUDGET / 10), MS_NS / 2);
	assert_int_equal(pass(0), MS_NS / 4);
	assert_int_equal(pass(0), MS_NS / 8);
	assert_int_equal(pass(0), BASE_NS); /* a sixteenth would be below it */
	assert_int_equal(pass(0), BASE_NS);
}

static void test_sampling_threshold__stands_near_the_budget(void **state)
{
	(void)state;
	begin(&usual);
	for (int i = 0; i < 10; i++)
		assert_int_equal(pass(BUDGET / 2), MS_NS);
}

/* What came before the last look does not count again. */
static void test_sampling_threshold__counts_bytes_once(void **state)
{
	(void)state;
	begin(&usual);
	pass(18 * BUDGET);
	for (int i = 0; i < 12; i++)
		pass(0);
	assert_int_equal(fake.threshold_ns[ABI_WAITS_STALL], BASE_NS);
}

/* A burst is seen after 20 ms, not only after 100. */
static void test_sampling_threshold__a_burst_is_seen_soon(void **state)
{
	(void)state;
	begin(&usual);
	fake.event_bytes[ABI_WAITS_STALL] += 5 * BUDGET;
	sampling_threshold_hold(&threshold, now_ns + 10 * MS_NS);
	assert_int_equal(fake.threshold_ns[ABI_WAITS_STALL], MS_NS);
	sampling_threshold_hold(&threshold, now_ns + 25 * MS_NS);
	assert_true(fake.threshold_ns[ABI_WAITS_STALL] > 30 * MS_NS);
	begin(&usual);
	sampling_threshold_hold(&threshold, now_ns + 25 * MS_NS);
	assert_int_equal(fake.threshold_ns[ABI_WAITS_STALL], MS_NS); /* quiet has time */
}

static void test_sampling_threshold__without_a_budget_it_is_fixed(void **state)
{
	const struct config_sampling fixed = { .threshold_ns = BASE_NS };

	(void)state;
	begin(&fixed);
	assert_int_equal(pass(1000 * BUDGET), BASE_NS);
	assert_int_equal(pass(0), BASE_NS);
}

static void test_sampling_threshold__tells_the_windows_largest(void **state)
{
	uint64_t high;

	(void)state;
	begin(&usual);
	high = pass(29 * BUDGET);
	for (int i = 0; i < 20; i++)
		pass(0);
	assert_int_equal(sampling_threshold_take(&threshold, ABI_WAITS_STALL), high);
	assert_int_equal(sampling_threshold_take(&threshold, ABI_WAITS_STALL), BASE_NS);
}

/* Of waits that are no stalls four times as much is kept; neither T follows the others' load. */
static void test_sampling_threshold__of_its_own_for_what_is_no_stall(void **state)
{
	(void)state;
	begin(&usual);
	for (int i = 0; i < 50; i++) {
		fake.event_bytes[ABI_WAITS_BLOCKED] += 39 * BUDGET / 100;
		pass(BUDGET / 10);
	}
	assert_int_equal(fake.threshold_ns[ABI_WAITS_BLOCKED], MS_NS);
	assert_int_equal(fake.threshold_ns[ABI_WAITS_STALL], BASE_NS);
	fake.event_bytes[ABI_WAITS_BLOCKED] += 10 * BUDGET;
	pass(0);
	assert_true(fake.threshold_ns[ABI_WAITS_BLOCKED] > MS_NS);
	assert_int_equal(fake.threshold_ns[ABI_WAITS_STALL], BASE_NS);
	assert_int_equal(sampling_threshold_take(&threshold, ABI_WAITS_STALL), MS_NS);
	pass(100 * BUDGET);
	assert_true(sampling_threshold_take(&threshold, ABI_WAITS_BLOCKED) > 2 * MS_NS);
}

/* A tenth of a second of CPU samples at a rate; their new T. */
static uint64_t pass_cpu(uint64_t bytes_per_second)
{
	fake.event_bytes[ABI_WAITS_CPU] += bytes_per_second / 10;
	pass(0);
	return fake.threshold_ns[ABI_WAITS_CPU];
}

/* Those of CPUs are all kept up to four times the budget, whatever T waits have; beyond that one of so many is, until fewer come. */
static void test_sampling_threshold__of_cpu_samples(void **state)
{
	const struct config_sampling high = { .threshold_ns = 70 * MS_NS, .budget_bytes_per_second = BUDGET },
	                             fixed = { .threshold_ns = BASE_NS };
	uint64_t most;

	(void)state;
	for (int which = 0; which < 2; which++) {
		begin(which ? &high : &usual);
		for (int i = 0; i < 50; i++)
			assert_int_equal(pass_cpu(39 * BUDGET / 10), PERIOD_NS);
		most = pass_cpu(400 * BUDGET);
		assert_true(most >= 20 * PERIOD_NS);
		assert_true(fake.threshold_ns[ABI_WAITS_STALL] <= 70 * MS_NS);
		assert_int_equal(pass_cpu(3 * BUDGET), most);
		for (int i = 0; i < 10; i++)
			pass_cpu(BUDGET);
		assert_int_equal(fake.threshold_ns[ABI_WAITS_CPU], PERIOD_NS);
	}
	begin(&fixed);
	assert_int_equal(pass_cpu(4000 * BUDGET), PERIOD_NS);
}

/* As many CPUs as there may be: the bytes come near the budget, and stay there. */
static void test_sampling_threshold__holds_cpu_samples_at_the_budget(void **state)
{
	uint64_t all = 400 * BUDGET, bytes = 0;

	(void)state;
	begin(&usual);
	for (int i = 0; i < 100; i++) {
		uint64_t t = fake.threshold_ns[ABI_WAITS_CPU];
		uint64_t kept = all / 10 * PERIOD_NS / (t > PERIOD_NS ? t : PERIOD_NS);

		pass_cpu(kept * 10);
		bytes += i < 10 ? 0 : kept;
	}
	assert_in_range(bytes, 9 * 2 * BUDGET, 9 * 4 * BUDGET);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sampling_threshold__begins_at_a_millisecond),
		cmocka_unit_test(test_sampling_threshold__grows_as_stacks_exceed_the_budget),
		cmocka_unit_test(test_sampling_threshold__bursts_within_the_budget),
		cmocka_unit_test(test_sampling_threshold__halves_when_it_is_quiet),
		cmocka_unit_test(test_sampling_threshold__stands_near_the_budget),
		cmocka_unit_test(test_sampling_threshold__counts_bytes_once),
		cmocka_unit_test(test_sampling_threshold__a_burst_is_seen_soon),
		cmocka_unit_test(test_sampling_threshold__without_a_budget_it_is_fixed),
		cmocka_unit_test(test_sampling_threshold__tells_the_windows_largest),
		cmocka_unit_test(test_sampling_threshold__of_its_own_for_what_is_no_stall),
		cmocka_unit_test(test_sampling_threshold__of_cpu_samples),
		cmocka_unit_test(test_sampling_threshold__holds_cpu_samples_at_the_budget),
	};

	return cmocka_run_group_tests_name("sampling_threshold", tests, NULL, NULL);
}
