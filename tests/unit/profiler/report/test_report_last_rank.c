/* Tests of report_last_rank.h: the rank that the others waited for. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "profiler/format/ledger_row.h"
#include "profiler/report/report_last_rank.h"
#include "profiler/report/report_loop.h"
#include "profiler/report/report_spins.h"

#define SECOND 1000000000LL

static struct ledger *ledger;
static struct report_last_rank last;
static struct report_loop loop;
static struct report_spins spins;

static int begin(void **state)
{
	(void)state;
	ledger = ledger_new(0);
	return ledger ? 0 : -1;
}

static int end(void **state)
{
	(void)state;
	ledger_free(ledger);
	return 0;
}

static void add_of(const char *class, uint32_t rank_and_1, enum ledger_state state, const char *cause,
                   int64_t ns)
{
	const struct ledger_row row = { .tag = (char *)class,
		                        .class = (char *)class,
		                        .id = (uint64_t)ledger_count(ledger),
		                        .pid = 100 + rank_and_1,
		                        .rank_and_1 = rank_and_1,
		                        .state = state,
		                        .cause = (char *)cause,
		                        .ns = ns };

	assert_int_equal(ledger_add(ledger, &row), 0);
}

/* `rank_and_1` as in the ledger's rows; a process for each. */
static void add(uint32_t rank_and_1, enum ledger_state state, const char *cause, int64_t ns)
{
	add_of("train_step", rank_and_1, state, cause, ns);
}

static size_t found(void)
{
	assert_int_equal(report_last_rank_find(&last, ledger, &loop, &spins, "train_step"), 0);
	return last.ranks;
}

static void test_report_last_rank__waits_least(void **state)
{
	(void)state;
	assert_int_equal(found(), 0);
	for (uint32_t rank = 0; rank < 4; rank++) {
		add(rank + 1, LEDGER_STALL, "collective", rank == 2 ? SECOND / 10 : 2 * SECOND);
		add(rank + 1, LEDGER_STALL, "collective", rank == 2 ? SECOND / 10 : SECOND);
		add(rank + 1, LEDGER_STALL, "block_io", rank == 2 ? 9 * SECOND : 0);
		add(rank + 1, LEDGER_BLOCKED, "collective", SECOND);
	}
	assert_int_equal(found(), 4);
	assert_int_equal(last.rank, 2);
	assert_int_equal(last.ns, SECOND / 5);
	assert_int_equal(last.others_ns, 3 * SECOND);
}

static void test_report_last_rank__one_that_waits_for_nobody(void **state)
{
	(void)state;
	add(1, LEDGER_ONCPU, "", SECOND);
	add(2, LEDGER_STALL, "collective", SECOND);
	assert_int_equal(found(), 2);
	assert_int_equal(last.rank, 0);
	assert_int_equal(last.ns, 0);
}

static void test_report_last_rank__none(void **state)
{
	(void)state;
	add(0, LEDGER_STALL, "collective", 9 * SECOND); /* of no rank */
	add(1, LEDGER_STALL, "collective", 9 * SECOND);
	assert_int_equal(found(), 0); /* one alone */
	add(2, LEDGER_STALL, "collective", 5 * SECOND);
	assert_int_equal(found(), 0); /* more than half as long */
	ledger_free(ledger);
	ledger = ledger_new(0);
	add(1, LEDGER_STALL, "collective", SECOND / 2);
	add(2, LEDGER_ONCPU, "", SECOND);
	assert_int_equal(found(), 0); /* too little */
}

/* One that was recorded for less of the time, one of which its loader alone is tagged, and one that was hardly there. */
static void test_report_last_rank__by_shares_of_the_loop(void **state)
{
	char *names[] = { (char *)"train_step" };

	(void)state;
	for (uint32_t rank = 0; rank < 3; rank++) {
		add(rank + 1, LEDGER_STALL, "collective", rank == 1 ? 4 * SECOND : 10 * SECOND);
		add(rank + 1, LEDGER_ONCPU, "", rank == 1 ? 6 * SECOND : 10 * SECOND);
	}
	assert_int_equal(found(), 0);
	add_of("loader", 4, LEDGER_ONCPU, "", 15 * SECOND);
	assert_int_equal(found(), 4);
	loop = (struct report_loop){ .names = names, .n = 1 };
	assert_int_equal(found(), 0);
	add(5, LEDGER_ONCPU, "", 6 * SECOND);
	assert_int_equal(found(), 0);
	add(5, LEDGER_ONCPU, "", 2 * SECOND);
	assert_int_equal(found(), 4);
	assert_int_equal(last.rank, 4);
	assert_true(last.share == 0 && last.others_share > 0.47 && last.others_share < 0.49);
	loop = (struct report_loop){ .n = 0 };
}

/* The one that waits least of its own time may have waited longer than another that was there for less. */
static void test_report_last_rank__least_of_its_time(void **state)
{
	(void)state;
	add(1, LEDGER_STALL, "collective", 6 * SECOND);
	add(1, LEDGER_ONCPU, "", 54 * SECOND);
	add(2, LEDGER_STALL, "collective", 5 * SECOND);
	add(2, LEDGER_ONCPU, "", 25 * SECOND);
	add(3, LEDGER_STALL, "collective", 15 * SECOND);
	add(3, LEDGER_ONCPU, "", 15 * SECOND);
	assert_int_equal(found(), 3);
	assert_int_equal(last.rank, 0);
	assert_int_equal(last.ns, 6 * SECOND);
	assert_int_equal(last.others_ns, 10 * SECOND);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_report_last_rank__##name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(waits_least),           TEST(one_that_waits_for_nobody), TEST(none),
		TEST(by_shares_of_the_loop), TEST(least_of_its_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
