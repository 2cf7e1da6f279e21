/* Tests of loaded_steps.h: what many processes of one tag cost. Which steps are a part of others', test_loaded_classes.c asks. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <time.h>

#include "profiler/format/ledger_row.h"
#include "profiler/loaded/loaded_steps.h"

#define PROCESSES 200000
#define CPU_MOST  2 /* seconds; each process against each other takes ten */

static void count(void *of, const struct loaded_step_times *times)
{
	(*(size_t *)of)++;
	assert_int_equal(times->worst_ns, PROCESSES);
}

/* A command that runs often under one tag: each process has it alone, so that none is a part of another's step. */
static void test_loaded_steps__many_processes_of_one_tag(void **state)
{
	struct loaded_step *steps = calloc(PROCESSES, sizeof(*steps));
	struct ledger_row *rows = calloc(PROCESSES, sizeof(*rows));
	clock_t began;
	size_t told = 0;

	(void)state;
	assert_true(steps && rows);
	for (uint32_t i = 0; i < PROCESSES; i++) {
		rows[i] = (struct ledger_row){ .tag = (char *)"rsync", .pid = i + 1 };
		steps[i] = (struct loaded_step){ .of = &told, .row = &rows[i], .wall_ns = i + 1 };
	}
	began = clock();
	assert_int_equal(loaded_steps_take(steps, PROCESSES, count), 0);
	assert_in_range(clock() - began, 0, CPU_MOST * CLOCKS_PER_SEC);
	assert_int_equal(told, 1);
	free(steps);
	free(rows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_loaded_steps__many_processes_of_one_tag),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
