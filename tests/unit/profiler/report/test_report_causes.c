/* Tests of report_causes.h: causes of lanes and of the ledger, also of very many. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "profiler/report/report_causes.h"
#include "tests/unit/profiler/report/planted_run.h"

#define MANY       30000
#define CPU_SECOND CLOCKS_PER_SEC

static struct report_cause a_cause(const char *name, const char *device)
{
	const struct timeline_lane lane = {
		.kind = TIMELINE_STALL, .class = "loader", .name = name, .device = device
	};

	return report_cause_of_lane(&lane);
}

static void test_report_causes__once_each(void **state)
{
	static const char *const names[] = { "block_io", "journal", "block_io",
		                             "block_io", "journal", "block_io" };
	static const char *const devices[] = { "vdb", "vda", "vda", "vdb", "vda", "vda" };
	struct report_cause causes[6];
	size_t count = 0;

	(void)state;
	for (size_t i = 0; i < 6; i++) {
		struct report_cause cause = a_cause(names[i], devices[i]);

		report_causes_add(causes, &count, &cause);
	}
	report_causes_unite(causes, &count);
	assert_int_equal(count, 3);
	assert_string_equal(causes[0].device, "vda");
	assert_string_equal(causes[1].device, "vdb");
	assert_string_equal(causes[2].name, "journal");
}

/* Of as many causes as rows each has its own sum, in no more time than it takes to look each up. */
static void test_report_causes__very_many(void **state)
{
	static char names[MANY][16];
	struct report_cause *causes = calloc(MANY + 8, sizeof(*causes));
	struct run run = usual();
	struct report_view view;
	clock_t before;
	size_t count = 0;

	(void)state;
	assert_non_null(causes);
	for (size_t i = 0; i < MANY; i++) {
		snprintf(names[i], sizeof(names[i]), "cause%zu", i);
		row(&run, "loader", false, LEDGER_STALL, names[i], (int64_t)MS + (int64_t)i);
	}
	assert_int_equal(report_view_open(&view, &run.input, NULL), 0);
	before = clock();
	report_causes_add_ledger(causes, &count, &view);
	assert_int_equal(count, MANY);
	report_causes_share(causes, count, &view);
	assert_true(clock() - before < 2 * CPU_SECOND);
	for (size_t i = 0; i < MANY; i++)
		assert_int_equal((int64_t)causes[i].excess_ns, (int64_t)MS + MANY - 1 - (int64_t)i);
	report_view_close(&view);
	free(causes);
	end(&run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_report_causes__once_each),
		cmocka_unit_test(test_report_causes__very_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
