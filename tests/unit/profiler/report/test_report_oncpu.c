/* Tests of report_oncpu.h: whose work grew where steps came more slowly. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/report/report_oncpu.h"
#include "profiler/report/report_rank.h"
#include "tests/unit/profiler/report/planted_run.h"

#define TENTH ((int64_t)SECOND / 10)

/* Ten seconds of 50 steps, and five of 10; what the classes have of each second by tenths, before and then. */
struct plan {
	int load, load_then, step, step_then, spin_then, disk_then;
};

static struct run recording(const struct plan *plan)
{
	struct run run = {
		.input = { .timeline = timeline_new(0), .ledger = ledger_new(0), .stamp = stamp_new() }
	};

	assert_int_equal(stamp_add_window(run.input.stamp, T0, T0 + 15 * SECOND), 0);
	tags(&run, "train_step", 1, 550);
	tags(&run, "data_load", 1, 550);
	seconds(&run, TIMELINE_STEPS, "train_step", 0, 10, 50);
	seconds(&run, TIMELINE_STEPS, "train_step", 10, 15, 10);
	seconds(&run, TIMELINE_ONCPU, "data_load", 0, 10, plan->load * TENTH);
	seconds(&run, TIMELINE_ONCPU, "data_load", 10, 15, plan->load_then * TENTH);
	seconds(&run, TIMELINE_ONCPU, "train_step", 0, 10, plan->step * TENTH);
	seconds(&run, TIMELINE_ONCPU, "train_step", 10, 15, plan->step_then * TENTH);
	lane(&run, TIMELINE_SPIN, "train_step", "gpu_sync", "", 10, 15, plan->spin_then / 10.0);
	lane(&run, TIMELINE_STALL, "data_load", "block_io", "vda", 10, 15, plan->disk_then / 10.0);
	return run;
}

static void expect(const struct plan *plan, const char *class, double before_ms, double during_ms)
{
	struct report_ranking ranking;
	struct run run = recording(plan);

	assert_int_equal(report_rank(&ranking, &run.input, NULL, NULL, NULL), 0);
	if (class) {
		assert_non_null(ranking.oncpu.class);
		assert_string_equal(ranking.oncpu.class, class);
		assert_true(fabs(ranking.oncpu.before_ns - before_ms * 1e6) < 1e4);
		assert_true(fabs(ranking.oncpu.during_ns - during_ms * 1e6) < 1e4);
	} else {
		assert_null(ranking.oncpu.class);
	}
	report_ranking_free(&ranking);
	end(&run);
}

/* The loader takes the time; or each step does, of which there are fewer. */
static void test_report_oncpu__whose_work_grew(void **state)
{
	(void)state;
	expect(&(struct plan){ .load = 1, .load_then = 8, .step = 8, .step_then = 2 }, "data_load", 2, 80);
	expect(&(struct plan){ .load = 1, .load_then = 1, .step = 8, .step_then = 8 }, "train_step", 16, 80);
}

/* A thread that spins for its GPU does not work. */
static void test_report_oncpu__spins_are_no_work(void **state)
{
	(void)state;
	expect(&(struct plan){ .load = 1, .load_then = 1, .step = 8, .step_then = 8, .spin_then = 7 }, NULL,
	       0, 0);
	expect(&(struct plan){ .load = 1, .load_then = 1, .step = 8, .step_then = 8, .spin_then = 1 },
	       "train_step", 16, 70);
}

/* Where the time that is lost stands out, that is told. */
static void test_report_oncpu__beside_lost_time(void **state)
{
	(void)state;
	expect(&(struct plan){ .load = 1, .load_then = 5, .step = 8, .step_then = 2, .disk_then = 3 }, NULL,
	       0, 0);
}

static void test_report_oncpu__words(void **state)
{
	struct report_ranking ranking = {
		.steps = "train_step",
		.oncpu = { .class = "data_load", .before_ns = 2 * (double)MS, .during_ns = 80 * (double)MS }
	};
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	assert_non_null(out);
	report_oncpu_text(out, &ranking);
	fputc('\n', out);
	ranking.oncpu.class = "train_step";
	report_oncpu_text(out, &ranking);
	assert_int_equal(fclose(out), 0);
	assert_string_equal(text, "data_load ran 80.0 ms on a CPU for each train_step instead of 2.00 ms\n"
	                          "each train_step ran 80.0 ms on a CPU instead of 2.00 ms");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_report_oncpu__whose_work_grew),
		cmocka_unit_test(test_report_oncpu__spins_are_no_work),
		cmocka_unit_test(test_report_oncpu__beside_lost_time),
		cmocka_unit_test(test_report_oncpu__words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
