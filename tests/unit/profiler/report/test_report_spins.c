/* Tests of report_spins.h, and of what the report makes of it: threads that wait for their GPU, or for other ranks, on a CPU. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pprof/profile.h"
#include "profiler/loaded/loaded_sample.h"
#include "profiler/report/report_last_rank.h"
#include "profiler/report/report_path.h"
#include "profiler/report/report_primary.h"
#include "profiler/report/report_rank.h"
#include "profiler/report/report_spins.h"
#include "profiler/report/report_view.h"
#include "tests/unit/profiler/report/planted_run.h"

/* With a profile whose types are those of a recording's. */
static struct run usual_with_samples(void)
{
	const struct profile_value_type types[] = { { "delay", "nanoseconds" }, { "cpu", "nanoseconds" } };
	struct run run = usual();

	run.input.owned = profile_new(types, 2, types[0], 0, 1 << 20);
	run.input.profile = run.input.owned;
	assert_non_null(run.input.profile);
	return run;
}

static void end_with_samples(struct run *run)
{
	profile_free(run->input.owned);
	end(run);
}

static void cpu_sample_in(struct run *run, const char *call, const char *class, const char *stall,
                          int64_t pid, int64_t ns)
{
	struct profile_frame frames[] = { { .function = call },
		                          { .function = "step", .file = "train.py", .line = 7 } };
	const struct profile_label labels[] = { { .key = "ai_tag", .str = class },
		                                { .key = "stall", .str = stall },
		                                { .key = "pid", .num = pid, .unit = "id" } };
	int64_t id = profile_location(run->input.owned, 0, 0, frames, 2), values[] = { 0, ns };

	assert_true(id > 0);
	assert_int_equal(profile_add_sample(run->input.owned, &id, 1, values, labels, 3), 0);
}

static void cpu_sample(struct run *run, const char *class, const char *stall, int64_t pid, int64_t ns)
{
	cpu_sample_in(run, "cuStreamSynchronize", class, stall, pid, ns);
}

static void test_report_spins__sums(void **state)
{
	struct run run = usual_with_samples();
	struct report_spins spins;

	(void)state;
	lane(&run, TIMELINE_SPIN, "train_step", "gpu_sync", "", 0, 1, 1);
	cpu_sample(&run, "train_step", "gpu_sync", 1, 10);
	cpu_sample(&run, "train_step", "gpu_sync", 2, 20);
	cpu_sample(&run, "train_step", "gpu_sync", 1, 30);
	cpu_sample(&run, "eval", "gpu_sync", 1, 40);
	cpu_sample(&run, "train_step", "block_io", 1, 50); /* work of its own, beside a request */
	cpu_sample_in(&run, "cuMemcpyHtoD_v2", "train_step", "gpu_sync", 1, 60); /* it copies */
	assert_int_equal(report_spins_sum(&spins, &run.input), 0);
	assert_int_equal(spins.n, 3);
	assert_string_equal(spins.spin[0].class, "train_step");
	assert_string_equal(spins.spin[0].cause, "gpu_sync");
	assert_true(spins.spin[0].ns == 40 && spins.spin[1].ns == 20 && spins.spin[2].ns == 40);
	report_spins_free(&spins);
	end_with_samples(&run);
}

/* What is waited on a CPU is a part of the on-CPU time: threads have it once. */
static void test_report_spins__is_no_further_time(void **state)
{
	double sum[2];

	(void)state;
	for (int spins = 0; spins < 2; spins++) {
		struct run run = usual();
		struct report_series series;
		struct report_view view;

		if (spins)
			lane(&run, TIMELINE_SPIN, "train_step", "gpu_sync", "", 0, 10, 0.4);
		assert_int_equal(report_view_open(&view, &run.input, NULL), 0);
		assert_int_equal(report_view_sum(&series, &view, T0, T0 + 10 * SECOND, SECOND,
		                                 report_view_is_time, NULL),
		                 0);
		sum[spins] = report_mean(series.v, series.n);
		report_series_free(&series);
		report_view_close(&view);
		end(&run);
	}
	assert_true(sum[0] > 0.5 && fabs(sum[0] - sum[1]) < 1e-9);
}

/* The GPU takes longer: the loop is on the CPU as before. Its stack is told, too. */
static void test_report_spins__a_slow_gpu(void **state)
{
	struct run run = usual_with_samples();
	struct report_ranking ranking;
	struct report_paths paths;
	struct loaded_tags *known;

	(void)state;
	tags(&run, "train_step", 1, 450);
	seconds(&run, TIMELINE_STEPS, "train_step", 0, 6, 50);
	seconds(&run, TIMELINE_STEPS, "train_step", 6, 8, 25);
	seconds(&run, TIMELINE_STEPS, "train_step", 8, 10, 50);
	lane(&run, TIMELINE_SPIN, "train_step", "gpu_sync", "", 0, 6, 0.2);
	lane(&run, TIMELINE_SPIN, "train_step", "gpu_sync", "", 6, 8, 0.9);
	lane(&run, TIMELINE_SPIN, "train_step", "gpu_sync", "", 8, 10, 0.2);
	cpu_sample(&run, "train_step", "gpu_sync", 1, 3 * (int64_t)SECOND);
	assert_int_equal(report_rank(&ranking, &run.input, NULL, NULL, NULL), 0);
	assert_int_equal(ranking.mode, REPORT_SPIKE);
	assert_false(ranking.by_steps);
	assert_true(ranking.begin_ns >= T0 + 5700 * MS && ranking.begin_ns <= T0 + 6100 * MS);
	assert_string_equal(ranking.primary->name, "gpu_sync");
	assert_int_equal(ranking.primary->kind, TIMELINE_STALL);
	assert_true(fabs(ranking.primary->during - 0.85) < 0.1 && fabs(ranking.primary->before - 0.2) < 0.01);
	known = loaded_tags_new(&run.input);
	assert_int_equal(report_paths_find(&paths, &run.input, known, ranking.primary, ranking.begin_ns,
	                                   ranking.end_ns),
	                 0);
	assert_int_equal(paths.count, 1);
	assert_int_equal(paths.ns, 3 * SECOND);
	assert_string_equal(paths.path[0].own, "cuStreamSynchronize");
	loaded_tags_free(known);
	report_ranking_free(&ranking);
	end_with_samples(&run);
}

/* All the time: it is a part of the wall time, which the ledger has as on-CPU. */
static void test_report_spins__bound_by_the_gpu(void **state)
{
	struct run run = usual_with_samples();
	struct report_ranking ranking;

	(void)state;
	tags(&run, "train_step", 1, 500);
	seconds(&run, TIMELINE_STEPS, "train_step", 0, 10, 50);
	lane(&run, TIMELINE_SPIN, "train_step", "gpu_sync", "", 0, 10, 0.4);
	cpu_sample(&run, "train_step", "gpu_sync", 1, 4 * (int64_t)SECOND);
	assert_int_equal(report_rank(&ranking, &run.input, NULL, NULL, NULL), 0);
	assert_int_equal(ranking.mode, REPORT_STEADY);
	assert_string_equal(ranking.primary->name, "gpu_sync");
	assert_true(fabs(ranking.primary->of_loop - 4.0 / 6) < 1e-3); /* of train_step and loader */
	assert_true(fabs(ranking.primary->excess_ns - 4e9) < 1);
	assert_true(report_primary_is_bound(&ranking));
	report_ranking_free(&ranking);
	end_with_samples(&run);
}

/* Of ranks, one of which waits for its disk, the others wait in collectives that run on their GPUs. Other processes have jobs of their own. */
static void test_report_spins__gpus_of_ranks_that_wait(void **state)
{
	for (uint32_t ranks = 1; ranks <= 4; ranks += 3) {
		struct run run = usual();
		struct report_ranking ranking;

		for (uint32_t pid = 1; pid <= 4; pid++)
			rank_tags(&run, "train_step", pid, ranks > 1 ? pid : 0, 450);
		seconds(&run, TIMELINE_STEPS, "train_step", 0, 10, (int64_t)ranks * 50);
		lane(&run, TIMELINE_SPIN, "train_step", "gpu_sync", "", 0, 10, 0.1);
		lane(&run, TIMELINE_SPIN, "train_step", "gpu_sync", "", 6, 8, 2.7);
		/* Less than 15 % of what grew, and yet a third of it explains all. */
		lane(&run, TIMELINE_STALL, "train_step", "block_io", "vda", 6, 8, 0.46);
		assert_int_equal(report_rank(&ranking, &run.input, NULL, NULL, NULL), 0);
		assert_int_equal(ranking.mode, REPORT_SPIKE);
		assert_string_equal(ranking.primary->name, ranks > 1 ? "block_io" : "gpu_sync");
		report_ranking_free(&ranking);
		end(&run);
	}
	(void)state;
}

/* More causes than lanes and rows: those of samples that no lane has. */
static void test_report_spins__has_room(void **state)
{
	static const char *const names[] = { "a", "b", "c", "d", "e", "f" };
	struct run run = usual_with_samples();
	struct report_ranking ranking;

	(void)state;
	for (size_t i = 0; i < 6; i++) {
		lane(&run, TIMELINE_SPIN, "train_step", names[i], "gpu7", 0, 10, 0.1);
		cpu_sample(&run, "train_step", names[i], 1, (int64_t)SECOND);
	}
	assert_int_equal(report_rank(&ranking, &run.input, NULL, NULL, NULL), 0);
	assert_true(ranking.count >= 12);
	report_ranking_free(&ranking);
	end_with_samples(&run);
}

/* A recording of an earlier version has no such lanes: compared with it the same run is no other. */
static void test_report_spins__a_baseline_that_tells_of_none(void **state)
{
	struct run old = usual_with_samples(), new = usual_with_samples();
	struct report_ranking ranking;

	(void)state;
	lane(&new, TIMELINE_SPIN, "train_step", "gpu_sync", "", 0, 10, 0.8);
	cpu_sample(&new, "train_step", "gpu_sync", 1, 8 * (int64_t)SECOND);
	assert_int_equal(report_rank(&ranking, &new.input, &old.input, NULL, NULL), 0);
	assert_int_equal(ranking.mode, REPORT_SPIKE); /* it had none */
	report_ranking_free(&ranking);
	cpu_sample(&old, "train_step", "gpu_sync", 1, 8 * (int64_t)SECOND);
	assert_int_equal(report_rank(&ranking, &new.input, &old.input, NULL, NULL), 0);
	assert_int_not_equal(ranking.mode, REPORT_SPIKE);
	assert_null(find(&ranking, "gpu_sync"));
	report_ranking_free(&ranking);
	end_with_samples(&old);
	end_with_samples(&new);
}

/* --- the last rank ---------------------------------------------------------------------------------------------- */

static bool one_pid;

static void rank_row(struct run *run, uint32_t rank, uint64_t id, enum ledger_state state, const char *cause,
                     int64_t ns)
{
	const struct ledger_row added = { .tag = (char *)"train_step",
		                          .class = (char *)"train_step",
		                          .id = id,
		                          .pid = one_pid ? 100 : 100 + rank,
		                          .rank_and_1 = rank + 1,
		                          .state = state,
		                          .cause = (char *)cause,
		                          .device = (char *)"",
		                          .ns = ns };

	assert_int_equal(ledger_add(run->input.ledger, &added), 0);
}

/* Four ranks with so many steps each, of 100 ms; rank 2 is on the CPU all the time, the others wait for half of it: on the CPU, or off it. */
static size_t last_of(const char *cause, bool spins, const uint64_t steps[4], struct report_last_rank *last)
{
	struct report_loop loop = { .n = 0 };
	struct run run = usual();
	struct report_spin spin[4];
	struct report_spins all = { .spin = spin };

	for (uint32_t rank = 0; rank < 4; rank++) {
		int64_t waits = rank == 2 ? 0 : 50 * (int64_t)MS;

		for (uint64_t id = 1; id <= steps[rank]; id++) {
			rank_row(&run, rank, id, LEDGER_ONCPU, "", 100 * (int64_t)MS - (spins ? 0 : waits));
			if (!spins && waits)
				rank_row(&run, rank, id, LEDGER_STALL, cause, waits);
		}
		if (spins)
			spin[all.n++] = (struct report_spin){ .class = "train_step",
				                              .cause = cause,
				                              .pid = one_pid ? 100 : 100 + rank,
				                              .ns = waits * (int64_t)steps[rank] };
	}
	assert_int_equal(report_last_rank_find(last, run.input.ledger, &loop, &all, "train_step"), 0);
	end(&run);
	return last->ranks;
}

static void test_report_spins__the_last_rank(void **state)
{
	const uint64_t together[] = { 100, 99, 100, 101 }, apart[] = { 100, 110, 100, 100 };
	struct report_last_rank last;

	(void)state;
	for (int spins = 0; spins < 2; spins++) {
		assert_int_equal(last_of("collective", spins, apart, &last), 4);
		assert_true(last.rank == 2 && !last.by_gpu && fabs(last.others_share - 0.5) < 1e-6);
		assert_int_equal(last_of("gpu_sync", spins, together, &last), 4);
		assert_true(last.rank == 2 && last.by_gpu && fabs(last.others_share - 0.5) < 1e-6);
		/* Ranks that do not go together do not wait for each other. */
		assert_int_equal(last_of("gpu_sync", spins, apart, &last), 0);
	}
	/* Of two hosts, each of which has such a process. */
	one_pid = true;
	assert_int_equal(last_of("gpu_sync", true, together, &last), 0);
	one_pid = false;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_report_spins__sums),
		cmocka_unit_test(test_report_spins__is_no_further_time),
		cmocka_unit_test(test_report_spins__a_slow_gpu),
		cmocka_unit_test(test_report_spins__bound_by_the_gpu),
		cmocka_unit_test(test_report_spins__gpus_of_ranks_that_wait),
		cmocka_unit_test(test_report_spins__has_room),
		cmocka_unit_test(test_report_spins__a_baseline_that_tells_of_none),
		cmocka_unit_test(test_report_spins__the_last_rank),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
