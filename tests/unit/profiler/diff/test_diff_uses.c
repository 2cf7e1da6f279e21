/* Tests of diff_uses.h: how long uses of tags took on both sides. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "profiler/diff/diff_uses.h"
#include "profiler/format/ledger_row.h"

#define MS 1000000LL

static struct diff_uses uses;
static struct diff_classes classes;

static int begin(void **state)
{
	(void)state;
	uses = (struct diff_uses){ .n = 0 };
	classes = (struct diff_classes){ .count = 0 };
	return 0;
}

static int end(void **state)
{
	(void)state;
	diff_uses_free(&uses);
	diff_classes_free(&classes);
	return 0;
}

static void add_row(struct ledger *ledger, const char *class, uint32_t pid, uint64_t id,
                    enum ledger_state state, int64_t ns)
{
	const struct ledger_row row = { .tag = (char *)class,
		                        .class = (char *)class,
		                        .pid = pid,
		                        .start_ns = pid,
		                        .id = id,
		                        .state = state,
		                        .cause = (char *)"",
		                        .device = (char *)"",
		                        .ns = ns };

	assert_int_equal(ledger_add(ledger, &row), 0);
}

static void give(int side, struct ledger *ledger)
{
	const struct diff_filter all = { .count = 0 };

	assert_int_equal(diff_uses_add(&uses, side, &all, &classes, ledger), 0);
	ledger_free(ledger);
}

/* So many uses of a process, each of about so many ms: a fifth of that on the CPU, the rest in the run queue. */
static void process(int side, uint32_t pid, unsigned int n, int64_t ms)
{
	struct ledger *ledger = ledger_new(0);

	for (uint64_t id = 1; id <= n; id++) {
		int64_t ns = ms * MS + (int64_t)(id % 5) * ms * MS / 100;

		add_row(ledger, "save", pid, id, LEDGER_ONCPU, ns / 5);
		add_row(ledger, "save", pid, id, LEDGER_RUNQUEUE, ns - ns / 5);
	}
	give(side, ledger);
}

static const struct diff_use_class *judged(void)
{
	assert_int_equal(diff_uses_judge(&uses, &classes, 0.99), 0);
	return diff_uses_find(&uses, "save");
}

static void test_diff_uses__ten_times_as_long(void **state)
{
	const struct diff_use_class *save;

	(void)state;
	process(0, 1, 4, 100);
	process(0, 2, 4, 100);
	process(1, 3, 4, 1000);
	process(1, 4, 4, 1000);
	save = judged();
	assert_int_equal(save->verdict, DIFF_WORSE);
	assert_true(save->significant);
	assert_true(save->count[0] == 8 && save->count[1] == 8);
	assert_true(fabs(save->median_ns[0] - 102.5 * MS) < MS &&
	            fabs(save->median_ns[1] - 1025.0 * MS) < 10 * MS);
	assert_true(fabs(save->oncpu_ns[1] - save->runqueue_ns[1] / 4) < 10 * MS);
	assert_null(diff_uses_find(&uses, "load"));
}

/* Runs differ: those of NEW are longer only if all of them are. */
static void test_diff_uses__processes_must_agree(void **state)
{
	(void)state;
	process(0, 1, 50, 100);
	process(0, 2, 50, 125);
	process(1, 3, 50, 120);
	process(1, 4, 50, 130);
	assert_int_equal(judged()->verdict, DIFF_NOISE);
	assert_false(diff_uses_find(&uses, "save")->significant);
	end(state);
	begin(state);
	process(0, 1, 50, 130);
	process(0, 2, 50, 125);
	process(1, 3, 50, 100);
	process(1, 4, 50, 105);
	assert_int_equal(judged()->verdict, DIFF_BETTER);
}

/* Of one run each nobody knows how much runs differ. */
static void test_diff_uses__one_run_each(void **state)
{
	(void)state;
	process(0, 1, 100, 100);
	process(1, 2, 100, 140);
	assert_int_equal(judged()->verdict, DIFF_NOISE);
	assert_false(diff_uses_find(&uses, "save")->significant);
	end(state);
	begin(state);
	process(0, 1, 100, 100);
	process(1, 2, 100, 160);
	assert_int_equal(judged()->verdict, DIFF_WORSE);
}

/* Workers that are forked in the first step have that one alone, for a while: they are no runs that differ. */
static void test_diff_uses__forked_within_one(void **state)
{
	(void)state;
	for (int side = 0; side < 2; side++) {
		process(side, 1, 100, side ? 380 : 100);
		for (uint32_t worker = 2; worker < 4; worker++)
			process(side, worker, 1, worker == 2 ? 50 : 700);
	}
	assert_int_equal(judged()->verdict, DIFF_WORSE);
	assert_int_equal(diff_uses_find(&uses, "save")->count[1], 100);
	assert_true(fabs(diff_uses_find(&uses, "save")->whole_ns[0] - 10200.0 * MS) < MS);
}

/* Each in a process of its own. */
static void test_diff_uses__a_process_a_use(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 8; i++) {
		process(0, 10 + i, 1, 100 + 5 * i);
		process(1, 30 + i, 1, 130 + 5 * i);
	}
	assert_int_equal(judged()->verdict, DIFF_WORSE);
}

static void test_diff_uses__too_few(void **state)
{
	(void)state;
	process(0, 1, DIFF_USES_LEAST - 1, 100);
	process(1, 2, 100, 1000);
	assert_int_equal(judged()->verdict, DIFF_UNKNOWN);
}

/* A loader that is too slow for each tenth batch: the others are there before they are asked for. */
static void test_diff_uses__a_few_take_most(void **state)
{
	struct ledger *ledgers[] = { ledger_new(0), ledger_new(0) };
	const struct diff_use_class *save;

	(void)state;
	for (uint64_t id = 1; id <= 300; id++) {
		add_row(ledgers[0], "save", 1, id, LEDGER_BLOCKED, 2 * MS + (int64_t)(id % 7) * MS / 10);
		add_row(ledgers[1], "save", 2, id, LEDGER_BLOCKED, id % 10 ? MS : 60 * MS);
	}
	give(0, ledgers[0]);
	give(1, ledgers[1]);
	save = judged();
	assert_int_equal(save->verdict, DIFF_WORSE);
	assert_true(save->mean_significant && save->median_ns[1] < save->median_ns[0]);
	assert_true(save->mean_ns[1] > 2.5 * save->mean_ns[0]);
}

/* One that took long may be chance. */
static void test_diff_uses__one_takes_most(void **state)
{
	struct ledger *ledgers[] = { ledger_new(0), ledger_new(0) };

	(void)state;
	for (uint64_t id = 1; id <= 300; id++) {
		add_row(ledgers[0], "save", 1, id, LEDGER_BLOCKED, 2 * MS);
		add_row(ledgers[1], "save", 2, id, LEDGER_BLOCKED, id == 7 ? 6000 * MS : 2 * MS);
	}
	give(0, ledgers[0]);
	give(1, ledgers[1]);
	assert_int_equal(judged()->verdict, DIFF_NOISE);
	assert_false(diff_uses_find(&uses, "save")->mean_significant);
}

/* The ranks say more, the median less. */
static void test_diff_uses__no_direction(void **state)
{
	struct ledger *ledgers[] = { ledger_new(0), ledger_new(0) };

	(void)state;
	for (uint64_t id = 1; id <= 1000; id++) {
		add_row(ledgers[0], "save", 1, id, LEDGER_ONCPU, id <= 550 ? 10 * MS : MS);
		add_row(ledgers[1], "save", 2, id, LEDGER_ONCPU, id <= 460 ? 12 * MS : 5 * MS);
	}
	give(0, ledgers[0]);
	give(1, ledgers[1]);
	assert_int_equal(judged()->verdict, DIFF_NOISE);
	assert_true(diff_uses_find(&uses, "save")->median_ns[1] <
	            diff_uses_find(&uses, "save")->median_ns[0]);
}

/* A class has so many; another one has its own. */
static void test_diff_uses__too_many(void **state)
{
	struct ledger *ledger = ledger_new(0);

	(void)state;
	for (uint64_t id = 1; id <= 2; id++)
		add_row(ledger, "train_step", 1, id, LEDGER_ONCPU, MS);
	process(0, 1, DIFF_USES_MAX, 1);
	assert_false(uses.too_many);
	process(0, 1, DIFF_USES_MAX, 1); /* the same ones */
	assert_false(uses.too_many);
	process(0, 2, 1, 1);
	assert_true(uses.too_many);
	give(0, ledger);
	assert_int_equal(judged()->count[0], DIFF_USES_MAX);
	assert_true(fabs(diff_uses_find(&uses, "save")->median_ns[0] - 2.04 * MS) < 0.1 * MS);
	assert_int_equal(diff_uses_find(&uses, "train_step")->count[0], 2);
}

/* Parts in several windows are one use; tags without an id, and processes' own, are none. */
static void test_diff_uses__what_is_a_use(void **state)
{
	struct ledger *ledger;

	(void)state;
	process(0, 1, 20, 100);
	process(0, 1, 20, 50);
	process(1, 2, 20, 150);
	ledger = ledger_new(0);
	add_row(ledger, "save", 3, 0, LEDGER_ONCPU, 100 * MS);
	give(1, ledger);
	assert_int_equal(judged()->verdict, DIFF_NOISE);
	assert_true(diff_uses_find(&uses, "save")->count[0] == 20 &&
	            diff_uses_find(&uses, "save")->count[1] == 20);
	assert_true(fabs(diff_uses_find(&uses, "save")->median_ns[0] -
	                 diff_uses_find(&uses, "save")->median_ns[1]) < 1);
}

static void test_diff_uses__small_beside_others(void **state)
{
	struct ledger *ledger = ledger_new(0);

	(void)state;
	process(0, 1, 50, 10);
	process(1, 2, 50, 20);
	for (uint64_t id = 1; id <= 50; id++)
		add_row(ledger, "train_step", 1, id, LEDGER_ONCPU, 5000 * MS);
	give(0, ledger);
	assert_int_equal(judged()->verdict, DIFF_SMALL);
	assert_true(diff_uses_find(&uses, "save")->significant);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_diff_uses__##name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(ten_times_as_long), TEST(processes_must_agree), TEST(one_run_each),
		TEST(forked_within_one), TEST(a_process_a_use),      TEST(too_few),
		TEST(a_few_take_most),   TEST(one_takes_most),       TEST(no_direction),
		TEST(too_many),          TEST(what_is_a_use),        TEST(small_beside_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
