/* Tests of report_rank.h: timelines with a planted incident, and without one. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <string.h>

#include "profiler/format/ledger_row.h"
#include "profiler/format/request_rows.h"
#include "profiler/format/stamp.h"
#include "profiler/format/timeline.h"
#include "profiler/loaded/loaded_profiles.h"
#include "profiler/report/report_primary.h"
#include "profiler/report/report_rank.h"
#include "tests/unit/profiler/report/planted_run.h"

static void test_report_rank__the_disk_behind_the_loader(void **state)
{
	struct report_ranking ranking;
	struct run run = usual();
	const struct report_cause *disk;

	(void)state;
	seconds(&run, TIMELINE_STEPS, "train_step", 0, 6, 50);
	seconds(&run, TIMELINE_STEPS, "train_step", 6, 8, 10);
	seconds(&run, TIMELINE_STEPS, "train_step", 8, 10, 50);
	/* PyTorch's own range is a part of the step, though there may be more of it. */
	row(&run, "optimizer_step", false, LEDGER_ONCPU, "", (int64_t)SECOND);
	seconds(&run, TIMELINE_STEPS, "optimizer_step", 0, 10, 60);
	lane(&run, TIMELINE_STALL, "train_step", "gpu_sync", "", 0, 6, 0.4);
	lane(&run, TIMELINE_STALL, "train_step", "gpu_sync", "", 6, 8, 0.1);
	lane(&run, TIMELINE_STALL, "train_step", "gpu_sync", "", 8, 10, 0.4);
	lane(&run, TIMELINE_STALL, "loader", "block_io", "vda", 6, 8, 0.9);
	lane(&run, TIMELINE_BLOCKED, "train_step", "lock", "", 6.1, 8.1, 0.95);
	assert_int_equal(report_rank(&ranking, &run.input, NULL, NULL, NULL), 0);
	assert_int_equal(ranking.mode, REPORT_SPIKE);
	assert_true(ranking.begin_ns >= T0 + 5700 * MS && ranking.begin_ns <= T0 + 6100 * MS);
	assert_true(ranking.end_ns >= T0 + 8 * SECOND && ranking.end_ns <= T0 + 8400 * MS);
	assert_string_equal(ranking.steps, "train_step");
	assert_true(fabs(ranking.steps_before - 50) < 1e-6 && ranking.steps_during < 35);
	assert_non_null(ranking.primary);
	assert_string_equal(ranking.primary->name, "block_io");
	assert_string_equal(ranking.primary->device, "vda");
	assert_int_equal(ranking.primary->family, FAMILY_DISK);
	disk = ranking.primary;
	assert_true(disk->z > 20 && disk->correlation > 0.9 && disk->score <= 1);
	assert_true(fabs(disk->score - (disk->spike + disk->correlation) / 2) < 1e-9);
	assert_true(fabs(disk->spike - disk->z / (disk->z + 3)) < 1e-9);
	/* It was lost as often, but it is an effect. */
	assert_true(find(&ranking, "lock")->indirect);
	assert_true(find(&ranking, "gpu_sync")->excess_ns < 0);
	assert_null(find(&ranking, "poll"));
	report_ranking_free(&ranking);
	end(&run);
}

/* The same socket waits: a slow peer, or, with the host's own packets sent again, the network. */
static void test_report_rank__the_network_speaks(void **state)
{
	for (int with_signal = 0; with_signal < 2; with_signal++) {
		struct report_ranking ranking;
		struct run run = usual();

		lane(&run, TIMELINE_BLOCKED, "train_step", "socket", "", 5, 7, 0.9);
		if (with_signal)
			lane(&run, TIMELINE_SIGNAL, "", "tcp_retrans", "", 5, 7, 0.000001); /* one in 1 ms */
		assert_int_equal(report_rank(&ranking, &run.input, NULL, NULL, NULL), 0);
		assert_string_equal(ranking.primary->name, "socket");
		assert_int_equal(ranking.primary->indirect, !with_signal);
		assert_int_equal(ranking.signal_count, with_signal);
		report_ranking_free(&ranking);
		end(&run);
	}
	(void)state;
}

static void test_report_rank__slower_steps(void **state)
{
	struct report_ranking ranking;
	struct run run = usual();

	(void)state;
	seconds(&run, TIMELINE_STEPS, "train_step", 0, 5, 50);
	seconds(&run, TIMELINE_STEPS, "train_step", 5, 8, 30);
	seconds(&run, TIMELINE_STEPS, "train_step", 8, 10, 50);
	assert_int_equal(report_rank(&ranking, &run.input, NULL, NULL, NULL), 0);
	assert_int_equal(ranking.mode, REPORT_SPIKE);
	assert_true(ranking.by_steps);
	assert_int_equal(ranking.begin_ns, T0 + 5 * SECOND);
	assert_int_equal(ranking.end_ns, T0 + 8 * SECOND);
	assert_null(ranking.primary);
	report_ranking_free(&ranking);
	/* The class that was asked for came as fast as ever. */
	assert_int_equal(report_rank(&ranking, &run.input, NULL, "loader", NULL), 0);
	assert_int_equal(ranking.mode, REPORT_NOTHING);
	report_ranking_free(&ranking);
	end(&run);
}

/* What waits from second 5 to 7 in a run with `n` steps. */
static enum report_mode mode_of(const char *class, enum timeline_kind kind, const char *name, uint64_t n)
{
	struct report_ranking ranking;
	struct run run = usual();
	enum report_mode mode;

	tags(&run, "train_step", 0, n);
	tags(&run, "worker", 7, 2);
	seconds(&run, TIMELINE_STEPS, "train_step", 0, 10, 50);
	lane(&run, TIMELINE_BLOCKED, "train_step", "pipe", "", 0, 10, 0.1);
	lane(&run, kind, class, name, "", 5, 7, 2);
	assert_int_equal(report_rank(&ranking, &run.input, NULL, NULL, NULL), 0);
	mode = ranking.mode;
	report_ranking_free(&ranking);
	end(&run);
	return mode;
}

/* Workers that wait for others have nothing to do; where they wait for a device, or a loop is not known, it is told. */
static void test_report_rank__workers_that_idle(void **state)
{
	(void)state;
	assert_int_equal(mode_of("worker", TIMELINE_BLOCKED, "poll", 50), REPORT_NOTHING);
	assert_int_equal(mode_of("worker", TIMELINE_STALL, "block_io", 50), REPORT_SPIKE);
	assert_int_equal(mode_of("worker", TIMELINE_RUNQUEUE, "", 50), REPORT_SPIKE);
	assert_int_equal(mode_of("train_step", TIMELINE_BLOCKED, "poll", 50), REPORT_SPIKE);
	assert_int_equal(mode_of("worker", TIMELINE_BLOCKED, "poll", 1), REPORT_SPIKE);
	/* "loader" has no ids, and is in the process of the steps: it may be a part of the loop. */
	assert_int_equal(mode_of("loader", TIMELINE_BLOCKED, "poll", 50), REPORT_SPIKE);
}

/* Nor is it time lost where all is ranked by the ledger. */
static void test_report_rank__workers_that_idle_all_the_time(void **state)
{
	struct report_ranking ranking;
	struct run run = usual();

	(void)state;
	tags(&run, "train_step", 0, 50);
	tags(&run, "worker", 7, 2);
	seconds(&run, TIMELINE_STEPS, "train_step", 0, 10, 50);
	row(&run, "train_step", false, LEDGER_BLOCKED, "poll", (int64_t)SECOND);
	row(&run, "worker", false, LEDGER_BLOCKED, "poll", 80 * (int64_t)SECOND);
	assert_int_equal(report_rank(&ranking, &run.input, NULL, NULL, NULL), 0);
	assert_string_equal(ranking.primary->name, "poll");
	assert_float_equal(ranking.primary->excess_ns, SECOND, 1);
	report_ranking_free(&ranking);
	end(&run);
}

/* Two jobs in one recording, with nothing tagged for longer than both took. Their threads wait more than they run. */
static struct run two_jobs(bool steps)
{
	struct run run = {
		.input = { .timeline = timeline_new(0), .ledger = ledger_new(0), .stamp = stamp_new() }
	};

	assert_int_equal(stamp_add_window(run.input.stamp, T0, T0 + 60 * SECOND), 0);
	row(&run, "train_step", false, LEDGER_ONCPU, "", 10 * (int64_t)SECOND);
	for (int begin = 0; begin <= 50; begin += 50) {
		seconds(&run, TIMELINE_ONCPU, "train_step", begin, begin + 10, SECOND / 2);
		lane(&run, TIMELINE_STALL, "train_step", "gpu_sync", "", begin, begin + 10, 1.5);
		if (steps)
			seconds(&run, TIMELINE_STEPS, "train_step", begin, begin + 10, 50);
	}
	return run;
}

/* Nothing is lost in between, as nobody is there: that is no baseline. */
static void test_report_rank__nothing_tagged_in_between(void **state)
{
	(void)state;
	for (int steps = 0; steps < 2; steps++) {
		struct run run = two_jobs(steps);
		struct report_ranking ranking;

		assert_int_equal(report_rank(&ranking, &run.input, NULL, NULL, NULL), 0);
		assert_int_not_equal(ranking.mode, REPORT_SPIKE);
		assert_true(ranking.before > 1.4);
		assert_true(fabs(ranking.steps_before - (steps ? 50 : -1)) < 1e-6);
		report_ranking_free(&ranking);
		lane(&run, TIMELINE_STALL, "train_step", "block_io", "vda", 56, 58, 0.9);
		assert_int_equal(report_rank(&ranking, &run.input, NULL, NULL, NULL), 0);
		assert_int_equal(ranking.mode, REPORT_SPIKE);
		assert_in_range(ranking.begin_ns, T0 + 55700 * MS, T0 + 56100 * MS);
		assert_string_equal(ranking.primary->name, "block_io");
		report_ranking_free(&ranking);
		end(&run);
	}
}

/* A reset that takes no more than the disk takes at other times. */
static void test_report_rank__fault(void **state)
{
	struct report_ranking ranking;
	struct run run = usual();

	(void)state;
	lane(&run, TIMELINE_STALL, "train_step", "nvme_reset", "nvme0n1", 4, 4.03, 1);
	assert_int_equal(report_rank(&ranking, &run.input, NULL, NULL, NULL), 0);
	assert_int_equal(ranking.mode, REPORT_NOTHING); /* 30 ms are not worth telling */
	report_ranking_free(&ranking);
	lane(&run, TIMELINE_STALL, "train_step", "nvme_reset", "nvme0n1", 6, 6.1, 0.6);
	lane(&run, TIMELINE_STALL, "train_step", "nvme_reset", "nvme0n1", 7.5, 7.6, 0.6);
	assert_int_equal(report_rank(&ranking, &run.input, NULL, NULL, NULL), 0);
	assert_int_equal(ranking.mode, REPORT_SPIKE);
	assert_true(ranking.by_fault);
	assert_int_equal(ranking.spikes, 1);
	assert_string_equal(ranking.primary->name, "nvme_reset");
	/* Of the lost time, as the number of sigmas is. */
	assert_true(fabs(ranking.incident.excess - (ranking.during - ranking.before) *
	                                                   (double)(ranking.end_ns - ranking.begin_ns)) < 1);
	assert_in_range(ranking.begin_ns, T0 + 4 * SECOND, T0 + 6 * SECOND);
	assert_int_equal(ranking.end_ns, T0 + 7600 * MS);
	report_ranking_free(&ranking);
	end(&run);
}

/* The live report of a fault is of that, though other time was lost before. */
static void test_report_rank__fault_that_was_seen_live(void **state)
{
	struct report_hint hint = { .begin_ns = T0 + 7 * SECOND, .by_fault = true };
	struct report_ranking ranking;
	struct run run = usual();

	(void)state;
	lane(&run, TIMELINE_STALL, "train_step", "writeback", "vda", 2, 4, 0.9);
	lane(&run, TIMELINE_STALL, "train_step", "nvme_reset", "nvme0n1", 7, 7.3, 0.6);
	assert_int_equal(report_rank(&ranking, &run.input, NULL, NULL, NULL), 0);
	assert_false(ranking.by_fault);
	assert_string_equal(ranking.primary->name, "writeback");
	report_ranking_free(&ranking);
	assert_int_equal(report_rank(&ranking, &run.input, NULL, NULL, &hint), 0);
	assert_int_equal(ranking.mode, REPORT_SPIKE);
	assert_true(ranking.by_fault);
	assert_string_equal(ranking.primary->name, "nvme_reset");
	assert_int_equal(ranking.begin_ns, T0 + 7 * SECOND);
	report_ranking_free(&ranking);
	end(&run);
}

/* Three sigma, but less than a fifth. */
static void test_report_rank__little_slower_steps(void **state)
{
	struct report_ranking ranking;
	struct run run = usual();

	(void)state;
	seconds(&run, TIMELINE_STEPS, "train_step", 0, 5, 50);
	seconds(&run, TIMELINE_STEPS, "train_step", 5, 8, 42);
	seconds(&run, TIMELINE_STEPS, "train_step", 8, 10, 50);
	assert_int_equal(report_rank(&ranking, &run.input, NULL, NULL, NULL), 0);
	assert_int_equal(ranking.mode, REPORT_NOTHING);
	report_ranking_free(&ranking);
	end(&run);
}

/* Of steps that take four seconds most seconds have none. They have to stay away for long to be missed. */
static void test_report_rank__seldom_steps(void **state)
{
	for (int missed = 0; missed < 2; missed++) {
		struct report_ranking ranking;
		struct run run = usual();

		seconds(&run, TIMELINE_ONCPU, "train_step", 10, 60, SECOND / 2);
		lane(&run, TIMELINE_STALL, "loader", "block_io", "vda", 10, 60, 0.02);
		for (int at = 0; at < 60; at += 4)
			if (!missed || at < 32 || at > 50)
				seconds(&run, TIMELINE_STEPS, "train_step", at, at + 1, 1);
		assert_int_equal(report_rank(&ranking, &run.input, NULL, NULL, NULL), 0);
		assert_int_equal(ranking.mode, missed ? REPORT_SPIKE : REPORT_NOTHING);
		assert_true(ranking.by_steps == missed);
		report_ranking_free(&ranking);
		end(&run);
	}
	(void)state;
}

/* The quiet part is the baseline where steps take seconds, too, and wherever it lies. */
static void test_report_rank__seldom_steps_and_the_bad_part_first(void **state)
{
	struct report_ranking ranking;
	struct run run = usual();

	(void)state;
	seconds(&run, TIMELINE_ONCPU, "train_step", 10, 300, SECOND / 3);
	for (int at = 0; at < 300; at += 4)
		seconds(&run, TIMELINE_STEPS, "train_step", at, at + 1, 1);
	lane(&run, TIMELINE_STALL, "loader", "block_io", "vda", 0, 60, 0.6);
	assert_int_equal(report_rank(&ranking, &run.input, NULL, NULL, NULL), 0);
	assert_true(ranking.baseline_begin_ns >= T0 + 60 * SECOND);
	assert_int_equal(ranking.mode, REPORT_SPIKE);
	assert_true(ranking.end_ns >= T0 + 59 * SECOND && ranking.end_ns <= T0 + 62 * SECOND);
	report_ranking_free(&ranking);
	end(&run);
}

/* The seconds of a long recording are wider than a second, and its last one is not full. */
static void test_report_rank__wide_seconds_at_the_end(void **state)
{
	const struct timeline_lane steps = { .kind = TIMELINE_STEPS,
		                             .class = "train_step",
		                             .bucket_ns = 4 * SECOND };
	const struct timeline_lane busy = { .kind = TIMELINE_ONCPU,
		                            .class = "train_step",
		                            .bucket_ns = 4 * SECOND };
	struct report_ranking ranking;
	struct run run = usual();

	(void)state;
	timeline_free(run.input.timeline);
	run.input.timeline = timeline_new(0);
	assert_int_equal(stamp_add_window(run.input.stamp, T0 + 10 * SECOND, T0 + 202 * SECOND), 0);
	for (uint64_t at = 0; at < 202; at++) {
		uint64_t from = T0 + at * SECOND;

		assert_int_equal(timeline_add(run.input.timeline, &steps, from, from + SECOND, 10), 0);
		assert_int_equal(timeline_add(run.input.timeline, &busy, from, from + SECOND, SECOND), 0);
	}
	assert_int_equal(report_rank(&ranking, &run.input, NULL, NULL, NULL), 0);
	assert_int_equal(ranking.mode, REPORT_NOTHING);
	assert_false(ranking.by_steps);
	report_ranking_free(&ranking);
	end(&run);
}

static void test_report_rank__slow_all_the_time_or_not_at_all(void **state)
{
	struct report_ranking ranking;
	struct run run = usual();

	(void)state;
	assert_int_equal(report_rank(&ranking, &run.input, NULL, NULL, NULL), 0);
	assert_int_equal(ranking.mode, REPORT_NOTHING);
	assert_null(ranking.primary);
	report_ranking_free(&ranking);
	row(&run, "loader", false, LEDGER_STALL, "block_io", 2 * (int64_t)SECOND);
	assert_int_equal(report_rank(&ranking, &run.input, NULL, NULL, NULL), 0);
	assert_int_equal(ranking.mode, REPORT_STEADY);
	assert_string_equal(ranking.primary->name, "block_io");
	assert_true(fabs(ranking.primary->share - 0.25) < 1e-9); /* of 8 s */
	report_ranking_free(&ranking);
	end(&run);
}

/* Ten seconds of a program without tags of its own: three on the CPU, then it waits for the disk half of its time, until then. */
static struct run untagged(double until)
{
	struct run run = {
		.input = { .timeline = timeline_new(0), .ledger = ledger_new(0), .stamp = stamp_new() }
	};

	assert_int_equal(stamp_add_window(run.input.stamp, T0, T0 + 10 * SECOND), 0);
	row(&run, "train.py", true, LEDGER_ONCPU, "", 6 * (int64_t)SECOND);
	row(&run, "train.py", true, LEDGER_STALL, "block_io", 4 * (int64_t)SECOND);
	lane(&run, TIMELINE_ONCPU, "train.py", "", "", 0, 3, 1);
	lane(&run, TIMELINE_ONCPU, "train.py", "", "", 3, until, 0.5);
	lane(&run, TIMELINE_ONCPU, "train.py", "", "", until, 10, 1);
	lane(&run, TIMELINE_STALL, "train.py", "block_io", "vda", 3, until, 0.5);
	return run;
}

/* What begins after three seconds and stays is how the program runs; what ends again is an incident. */
static void test_report_rank__a_quiet_start_without_steps(void **state)
{
	static const struct {
		double until;
		enum report_mode mode;
	} cases[] = { { 10, REPORT_STEADY }, { 7, REPORT_SPIKE } };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct report_ranking ranking;
		struct run run = untagged(cases[i].until);

		assert_int_equal(report_rank(&ranking, &run.input, NULL, NULL, NULL), 0);
		assert_int_equal(ranking.mode, cases[i].mode);
		assert_string_equal(ranking.primary->name, "block_io");
		report_ranking_free(&ranking);
		end(&run);
	}
}

/* What another thread waited for all the time is to blame only where the loop may have waited for that thread. */
static void test_report_rank__what_the_loop_does_not_feel(void **state)
{
	struct report_ranking ranking;
	struct run run = usual();

	(void)state;
	tags(&run, "train_step", 0, 500);
	seconds(&run, TIMELINE_STEPS, "train_step", 0, 10, 50);
	row(&run, "train_step", false, LEDGER_BLOCKED, "sleep", 5 * (int64_t)SECOND);
	row(&run, "backup", false, LEDGER_STALL, "block_io", 8 * (int64_t)SECOND);
	assert_int_equal(report_rank(&ranking, &run.input, NULL, NULL, NULL), 0);
	assert_int_equal(ranking.mode, REPORT_STEADY);
	assert_string_equal(ranking.unfelt->name, "block_io");
	assert_string_equal(ranking.primary->name, "sleep");
	report_ranking_free(&ranking);
	/* At most a fourteenth, as it may be; then a sixth. */
	row(&run, "train_step", false, LEDGER_BLOCKED, "lock", 800 * (int64_t)MS);
	assert_int_equal(report_rank(&ranking, &run.input, NULL, NULL, NULL), 0);
	assert_string_equal(ranking.primary->name, "sleep");
	assert_true(ranking.unfelt->felt > 0.05 && ranking.unfelt->felt < 0.1);
	report_ranking_free(&ranking);
	row(&run, "train_step", false, LEDGER_BLOCKED, "lock", 1200 * (int64_t)MS);
	assert_int_equal(report_rank(&ranking, &run.input, NULL, NULL, NULL), 0);
	assert_int_equal(ranking.mode, REPORT_STEADY);
	assert_string_equal(ranking.primary->name, "block_io");
	assert_null(ranking.unfelt);
	report_ranking_free(&ranking);
	end(&run);
}

/* Waits without a sample are in no lane. */
static void test_report_rank__what_only_the_ledger_has(void **state)
{
	struct report_ranking ranking;
	struct run run = usual();

	(void)state;
	row(&run, "loader", false, LEDGER_STALL, "journal", 6 * (int64_t)SECOND);
	assert_int_equal(report_rank(&ranking, &run.input, NULL, NULL, NULL), 0);
	assert_int_equal(ranking.mode, REPORT_STEADY);
	assert_string_equal(ranking.primary->name, "journal");
	assert_true(fabs(ranking.primary->share - 0.5) < 1e-9); /* of 12 s */
	report_ranking_free(&ranking);
	end(&run);
}

/* A run of a second has no whole second, but a rate all the same. */
static void test_report_rank__steps_of_a_short_baseline(void **state)
{
	struct report_ranking ranking;
	struct run run = {
		.input = { .timeline = timeline_new(0), .ledger = ledger_new(0), .stamp = stamp_new() }
	};

	(void)state;
	assert_int_equal(stamp_add_window(run.input.stamp, T0 + 500 * MS, T0 + 3500 * MS), 0);
	row(&run, "train_step", false, LEDGER_ONCPU, "", 2 * (int64_t)SECOND);
	seconds(&run, TIMELINE_STEPS, "train_step", 0, 4, 50);
	seconds(&run, TIMELINE_ONCPU, "train_step", 0, 4, SECOND / 2);
	lane(&run, TIMELINE_STALL, "train_step", "block_io", "vda", 2, 3.5, 0.9);
	assert_int_equal(report_rank(&ranking, &run.input, NULL, NULL, NULL), 0);
	assert_int_equal(ranking.mode, REPORT_SPIKE);
	assert_true(fabs(ranking.steps_before - 50) < 1e-6);
	report_ranking_free(&ranking);
	end(&run);
}

/* What is usual is what another run says. */
static void test_report_rank__given_baseline(void **state)
{
	struct report_ranking ranking;
	struct run run = usual(), slow = usual();

	(void)state;
	lane(&slow, TIMELINE_STALL, "loader", "block_io", "vda", 0, 10, 0.7);
	assert_int_equal(report_rank(&ranking, &slow.input, NULL, NULL, NULL), 0);
	assert_int_not_equal(ranking.mode, REPORT_SPIKE);
	report_ranking_free(&ranking);
	assert_int_equal(report_rank(&ranking, &slow.input, &run.input, NULL, NULL), 0);
	assert_int_equal(ranking.mode, REPORT_SPIKE);
	assert_true(ranking.baseline.given);
	assert_string_equal(ranking.primary->name, "block_io");
	report_ranking_free(&ranking);
	end(&slow);
	end(&run);
}

/* Steps that come more slowly than in the other run, with no more waits than there. */
static void test_report_rank__given_baseline_of_steps(void **state)
{
	struct report_ranking ranking;
	struct run run = usual(), slow = usual(), uneven = usual();

	(void)state;
	/* Its fastest stretch is no measure. */
	seconds(&uneven, TIMELINE_STEPS, "train_step", 0, 5, 70);
	seconds(&uneven, TIMELINE_STEPS, "train_step", 5, 10, 30);
	seconds(&run, TIMELINE_STEPS, "train_step", 0, 10, 100);
	seconds(&slow, TIMELINE_STEPS, "train_step", 0, 10, 50);
	tags(&slow, "train_step", 0, 50);
	assert_int_equal(report_rank(&ranking, &slow.input, &run.input, NULL, NULL), 0);
	assert_true(fabs(ranking.steps_before - 100) < 1e-6 && fabs(ranking.steps_during - 50) < 1e-6);
	assert_true(ranking.by_steps);
	report_ranking_free(&ranking);
	assert_int_equal(report_rank(&ranking, &slow.input, &uneven.input, NULL, NULL), 0);
	assert_true(fabs(ranking.steps_before - 50) < 1e-6 && !ranking.by_steps);
	report_ranking_free(&ranking);
	end(&uneven);
	end(&slow);
	end(&run);
}

/* What the other recording did not look at is not known of it; what it looked at without finding any was 0. */
static void test_report_rank__given_baseline_without_a_signal(void **state)
{
	(void)state;
	for (int looked = 0; looked < 2; looked++) {
		struct run run = usual(), slow = usual();
		struct report_ranking ranking;

		if (looked)
			assert_int_equal(
			        stamp_add_hook(run.input.stamp, REPORT_SIGNALS, "steal", HOOK_ATTACHED, ""),
			        0);
		lane(&slow, TIMELINE_STALL, "loader", "block_io", "vda", 0, 10, 0.7);
		lane(&slow, TIMELINE_SIGNAL, "", "steal", "", 0, 10, 0.5);
		assert_int_equal(report_rank(&ranking, &slow.input, &run.input, NULL, NULL), 0);
		assert_int_equal(ranking.signal_count, 1);
		assert_int_equal(ranking.signals[0].before_unknown, !looked);
		assert_true(looked ? ranking.signals[0].z > 3 : fabs(ranking.signals[0].z) < 1e-9);
		assert_true(ranking.signals[0].during > 0);
		report_ranking_free(&ranking);
		end(&slow);
		end(&run);
	}
}

static void test_report_rank__no_timeline(void **state)
{
	struct report_ranking ranking;
	struct run run = {
		.input = { .timeline = timeline_new(0), .ledger = ledger_new(0), .stamp = stamp_new() }
	};

	(void)state;
	assert_int_equal(report_rank(&ranking, &run.input, NULL, NULL, NULL), -ENODATA);
	end(&run);
}

/* Seconds without the threads that make steps are no slow ones. */
static void test_report_rank__steps_without_threads(void **state)
{
	struct report_hint hint = { .begin_ns = T0 + 16 * SECOND,
		                    .baseline_begin_ns = T0 + 2 * SECOND,
		                    .baseline_end_ns = T0 + 6 * SECOND,
		                    .by_steps = true };
	struct report_ranking ranking;
	struct run run = usual();

	(void)state;
	seconds(&run, TIMELINE_STEPS, "train_step", 0, 10, 50);
	seconds(&run, TIMELINE_ONCPU, "loader", 0, 20, SECOND / 2);
	seconds(&run, TIMELINE_ONCPU, "train_step", 14, 16, SECOND / 2);
	seconds(&run, TIMELINE_STEPS, "train_step", 14, 16, 50);
	lane(&run, TIMELINE_STALL, "loader", "block_io", "vda", 10, 20, 0.02);
	assert_int_equal(report_rank(&ranking, &run.input, NULL, NULL, NULL), 0);
	assert_int_equal(ranking.mode, REPORT_NOTHING);
	report_ranking_free(&ranking);
	/* The live report of it would be of nothing. */
	lane(&run, TIMELINE_STALL, "loader", "block_io", "vda", 16, 20, 0.05);
	assert_int_equal(report_rank(&ranking, &run.input, NULL, NULL, &hint), 0);
	assert_true(ranking.by_steps && ranking.primary);
	assert_true(ranking.steps_during < 0);
	assert_false(report_ranking_is_news(&ranking));
	report_ranking_free(&ranking);
	end(&run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_report_rank__the_disk_behind_the_loader),
		cmocka_unit_test(test_report_rank__the_network_speaks),
		cmocka_unit_test(test_report_rank__slower_steps),
		cmocka_unit_test(test_report_rank__workers_that_idle),
		cmocka_unit_test(test_report_rank__workers_that_idle_all_the_time),
		cmocka_unit_test(test_report_rank__nothing_tagged_in_between),
		cmocka_unit_test(test_report_rank__fault),
		cmocka_unit_test(test_report_rank__fault_that_was_seen_live),
		cmocka_unit_test(test_report_rank__little_slower_steps),
		cmocka_unit_test(test_report_rank__seldom_steps),
		cmocka_unit_test(test_report_rank__seldom_steps_and_the_bad_part_first),
		cmocka_unit_test(test_report_rank__wide_seconds_at_the_end),
		cmocka_unit_test(test_report_rank__slow_all_the_time_or_not_at_all),
		cmocka_unit_test(test_report_rank__a_quiet_start_without_steps),
		cmocka_unit_test(test_report_rank__what_the_loop_does_not_feel),
		cmocka_unit_test(test_report_rank__what_only_the_ledger_has),
		cmocka_unit_test(test_report_rank__steps_of_a_short_baseline),
		cmocka_unit_test(test_report_rank__given_baseline),
		cmocka_unit_test(test_report_rank__given_baseline_of_steps),
		cmocka_unit_test(test_report_rank__given_baseline_without_a_signal),
		cmocka_unit_test(test_report_rank__no_timeline),
		cmocka_unit_test(test_report_rank__steps_without_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
