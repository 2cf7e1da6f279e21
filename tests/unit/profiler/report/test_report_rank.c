/* Tests of report_rank.h and report_live.h: timelines with a planted incident, and without one. */
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
#include "profiler/report/report_live.h"
#include "profiler/report/report_rank.h"

#define SECOND 1000000000ULL
#define MS     1000000ULL
#define T0     (1700000000 * SECOND)

struct run {
	struct loaded_profiles input;
};

/* `threads` lost from second `from` to `to`, in slices of 10 ms. */
static void lane(struct run *run, enum timeline_kind kind, const char *class, const char *name,
                 const char *device, double from, double to, double threads)
{
	const struct timeline_lane key = {
		.kind = kind, .class = class, .name = name, .device = device, .bucket_ns = 10 * MS
	};

	for (uint64_t at = (uint64_t)(from * 100); at < (uint64_t)(to * 100); at++)
		assert_int_equal(timeline_add(run->input.timeline, &key, T0 + at * 10 * MS,
		                              T0 + (at + 1) * 10 * MS, (int64_t)(threads * 10 * (double)MS)),
		                 0);
}

static void seconds(struct run *run, enum timeline_kind kind, const char *class, int from, int to,
                    int64_t value)
{
	const struct timeline_lane key = { .kind = kind, .class = class, .bucket_ns = SECOND };

	for (int at = from; at < to; at++)
		assert_int_equal(timeline_add(run->input.timeline, &key, T0 + (uint64_t)at * SECOND,
		                              T0 + (uint64_t)(at + 1) * SECOND, value),
		                 0);
}

static void row(struct run *run, const char *class, bool base, enum ledger_state state, const char *cause,
                int64_t ns)
{
	const struct ledger_row added = { .tag = (char *)class,
		                          .class = (char *)class,
		                          .base = base,
		                          .state = state,
		                          .cause = (char *)cause,
		                          .device = (char *)(state == LEDGER_STALL ? "vda" : ""),
		                          .ns = ns };

	assert_int_equal(ledger_add(run->input.ledger, &added), 0);
}

/* Ten seconds: the step waits for the GPU half of its time, the loader a tenth of it for the disk. */
static struct run usual(void)
{
	struct run run = {
		.input = { .timeline = timeline_new(0), .ledger = ledger_new(0), .stamp = stamp_new() }
	};

	assert_int_equal(stamp_add_window(run.input.stamp, T0, T0 + 10 * SECOND), 0);
	row(&run, "train_step", false, LEDGER_ONCPU, "", 5 * (int64_t)SECOND);
	row(&run, "loader", false, LEDGER_ONCPU, "", (int64_t)SECOND);
	row(&run, "train.py", true, LEDGER_BLOCKED, "poll", 90 * (int64_t)SECOND);
	seconds(&run, TIMELINE_ONCPU, "train_step", 0, 10, SECOND / 2);
	seconds(&run, TIMELINE_STEPS, "loader", 0, 10, 100);
	lane(&run, TIMELINE_STALL, "loader", "block_io", "vda", 0, 10, 0.02);
	/* Of the process alone: it counts for nothing. */
	lane(&run, TIMELINE_BLOCKED, "train.py", "poll", "", 0, 10, 1);
	lane(&run, TIMELINE_BLOCKED, "train.py", "poll", "", 2, 3, 5);
	return run;
}

static void end(struct run *run)
{
	timeline_free(run->input.timeline);
	ledger_free(run->input.ledger);
	stamp_free(run->input.stamp);
}

static const struct report_cause *find(const struct report_ranking *ranking, const char *name)
{
	for (size_t i = 0; i < ranking->count; i++)
		if (!strcmp(ranking->causes[i].name, name))
			return &ranking->causes[i];
	return NULL;
}

static void test_report_rank__the_disk_behind_the_loader(void **state)
{
	struct report_ranking ranking;
	struct run run = usual();
	const struct report_cause *disk;

	(void)state;
	seconds(&run, TIMELINE_STEPS, "train_step", 0, 6, 50);
	seconds(&run, TIMELINE_STEPS, "train_step", 6, 8, 10);
	seconds(&run, TIMELINE_STEPS, "train_step", 8, 10, 50);
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

/* --- live --------------------------------------------------------------------------------------------------- */

static void test_report_live__keeps_what_it_knows(void **state)
{
	struct report_live *live = report_live_new(5 * SECOND);
	struct report_hint hint = { .begin_ns = 0 };
	struct run before = usual(), now = { .input = { .timeline = timeline_new(0) } }, strange = now;

	(void)state;
	assert_false(report_live_keep(live, before.input.timeline)); /* nothing is known of its classes */
	assert_int_equal(report_live_window(live, &before.input), 0);
	strange.input.timeline = timeline_new(0);
	seconds(&strange, TIMELINE_ONCPU, "validation", 10, 11, SECOND / 2);
	assert_false(report_live_keep(live, strange.input.timeline));
	seconds(&now, TIMELINE_ONCPU, "train_step", 10, 20, SECOND / 2);
	assert_true(report_live_keep(live, now.input.timeline));
	now.input.timeline = timeline_new(0);
	/* What comes after is compared with it: without it there is no history. */
	seconds(&now, TIMELINE_ONCPU, "train_step", 20, 23, SECOND / 2);
	lane(&now, TIMELINE_STALL, "loader", "block_io", "vda", 20, 23, 0.9);
	assert_true(report_live_look(live, now.input.timeline, &hint));
	assert_in_range(hint.begin_ns, T0 + 19700 * MS, T0 + 20 * SECOND);
	report_live_free(live);
	end(&before);
	end(&now);
	end(&strange);
}

static void test_report_live__told_once_while_it_lasts(void **state)
{
	struct report_live *live = report_live_new(5 * SECOND);
	struct report_hint hint = { .begin_ns = 0 };
	struct report_ranking ranking;
	struct run before = usual(), now = { .input = { .timeline = timeline_new(0) } };

	(void)state;
	assert_non_null(live);
	assert_int_equal(report_live_window(live, &before.input), 0);
	seconds(&now, TIMELINE_ONCPU, "train_step", 10, 12, SECOND / 2);
	assert_false(report_live_look(live, now.input.timeline, &hint));
	lane(&now, TIMELINE_STALL, "loader", "block_io", "vda", 11, 12, 0.9);
	assert_false(report_live_look(live, now.input.timeline, &hint));
	seconds(&now, TIMELINE_ONCPU, "train_step", 12, 15, SECOND / 2);
	lane(&now, TIMELINE_STALL, "loader", "block_io", "vda", 12, 15, 0.9);
	assert_true(report_live_look(live, now.input.timeline, &hint));
	assert_true(hint.begin_ns >= T0 + 10700 * MS && hint.begin_ns <= T0 + 11 * SECOND);
	assert_true(hint.baseline_end_ns <= T0 + 11 * SECOND);
	assert_false(report_live_look(live, now.input.timeline, &hint));
	/* The report is about that, with what the window before says. */
	now.input.ledger = ledger_new(0);
	now.input.stamp = stamp_new();
	row(&now, "loader", false, LEDGER_STALL, "block_io", 4 * (int64_t)SECOND);
	row(&now, "train_step", false, LEDGER_ONCPU, "", 2 * (int64_t)SECOND);
	assert_int_equal(report_live_window(live, &now.input), 0);
	assert_int_equal(report_rank(&ranking, &now.input, NULL, NULL, &hint), 0);
	assert_true(ranking.begin_ns + 100 * MS > hint.begin_ns &&
	            ranking.begin_ns < hint.begin_ns + 100 * MS);
	assert_string_equal(ranking.primary->name, "block_io");
	report_ranking_free(&ranking);
	report_live_free(live);
	end(&before);
	end(&now);
}

/* What the agent does each second: look, and, if an incident is there, make a report of the window and of the one before. */
static bool told(struct report_live *live, const struct run *before, const struct run *now)
{
	struct run window = {
		.input = { .timeline = timeline_new(0), .ledger = ledger_new(0), .stamp = stamp_new() }
	};
	struct report_hint hint = { .begin_ns = 0 };
	struct report_ranking ranking;
	bool is_told = false;

	if (report_live_look(live, now->input.timeline, &hint)) {
		assert_int_equal(timeline_merge(window.input.timeline, before->input.timeline), 0);
		assert_int_equal(timeline_merge(window.input.timeline, now->input.timeline), 0);
		row(&window, "train_step", false, LEDGER_ONCPU, "", 5 * (int64_t)SECOND);
		row(&window, "loader", false, LEDGER_ONCPU, "", (int64_t)SECOND);
		row(&window, "train.py", true, LEDGER_BLOCKED, "poll", 90 * (int64_t)SECOND);
		assert_int_equal(report_rank(&ranking, &window.input, NULL, NULL, &hint), 0);
		is_told = report_live_settle(live, &ranking);
		report_ranking_free(&ranking);
	}
	end(&window);
	return is_told;
}

/* Steps, half a second of CPU time, and waits for the GPU. */
static void train(struct run *run, int from, int to, int64_t steps)
{
	seconds(run, TIMELINE_STEPS, "train_step", from, to, steps);
	seconds(run, TIMELINE_ONCPU, "train_step", from, to, SECOND / 2);
	lane(run, TIMELINE_STALL, "train_step", "gpu_sync", "", from, to, 0.4);
}

/* And what loads data for it. */
static struct run training(struct report_live *live)
{
	struct run run = usual();

	seconds(&run, TIMELINE_STEPS, "train_step", 0, 10, 100);
	lane(&run, TIMELINE_STALL, "train_step", "gpu_sync", "", 0, 10, 0.4);
	assert_int_equal(report_live_window(live, &run.input), 0);
	return run;
}

/* Steps end with their threads: nothing is told, and what comes then is. */
static void test_report_live__the_end_of_a_job(void **state)
{
	struct report_live *live = report_live_new(30 * SECOND);
	struct run before = training(live), now = { .input = { .timeline = timeline_new(0) } };

	(void)state;
	train(&now, 10, 12, 100);
	lane(&now, TIMELINE_STALL, "loader", "block_io", "vda", 10, 12, 0.02);
	for (int at = 12; at < 16; at++) {
		seconds(&now, TIMELINE_ONCPU, "loader", at, at + 1, SECOND / 2);
		lane(&now, TIMELINE_STALL, "loader", "block_io", "vda", at, at + 1, 0.02);
		assert_false(told(live, &before, &now));
	}
	seconds(&now, TIMELINE_ONCPU, "loader", 16, 20, SECOND / 2);
	lane(&now, TIMELINE_STALL, "loader", "throttle", "vda", 16, 20, 0.95);
	assert_true(told(live, &before, &now));
	report_live_free(live);
	end(&before);
	end(&now);
}

/* Steps come more slowly, but no wait grew: a window is ended for it once. */
static void test_report_live__without_a_cause(void **state)
{
	struct report_live *live = report_live_new(30 * SECOND);
	struct run before = training(live), now = { .input = { .timeline = timeline_new(0) } };
	struct report_hint hint;

	(void)state;
	train(&now, 10, 13, 30);
	assert_false(told(live, &before, &now));
	for (int at = 13; at < 16; at++) {
		train(&now, at, at + 1, 30);
		assert_false(report_live_look(live, now.input.timeline, &hint));
		assert_int_equal(report_live_passed_over(live), 0);
	}
	report_live_free(live);
	end(&before);
	end(&now);
}

static void test_report_live__what_breaks_the_rest(void **state)
{
	for (int fault = 0; fault < 2; fault++) {
		struct report_live *live = report_live_new(30 * SECOND);
		struct run before = training(live), now = { .input = { .timeline = timeline_new(0) } };

		train(&now, 10, 14, 100);
		lane(&now, TIMELINE_STALL, "loader", "block_io", "vda", 11, 14, 0.4);
		assert_true(told(live, &before, &now));
		assert_false(told(live, &before, &now));
		assert_int_equal(report_live_passed_over(live), 0); /* it is the same */
		train(&now, 14, 20, 100);
		assert_false(told(live, &before, &now));
		train(&now, 20, 23, 100);
		lane(&now, TIMELINE_STALL, "loader", "block_io", "vda", 20, 23, 0.5);
		assert_false(told(live, &before, &now));
		assert_in_range(report_live_passed_over(live), 20 * SECOND, 22 * SECOND);
		train(&now, 23, 24, 100);
		lane(&now, TIMELINE_STALL, "loader", "block_io", "vda", 23, 24, 0.5);
		assert_false(told(live, &before, &now));
		assert_int_equal(report_live_passed_over(live), 0); /* it was said */
		train(&now, 24, 30, 100);
		lane(&now, TIMELINE_STALL, "train_step", fault ? "nvme_reset" : "block_io",
		     fault ? "nvme0n1" : "vda", 27, 30, fault ? 0.5 : 1.5);
		assert_true(told(live, &before, &now));
		report_live_free(live);
		end(&before);
		end(&now);
	}
	(void)state;
}

/* What goes on may become much worse. */
static void test_report_live__much_worse(void **state)
{
	struct report_live *live = report_live_new(30 * SECOND);
	struct run before = training(live), now = { .input = { .timeline = timeline_new(0) } };
	struct report_hint hint;

	(void)state;
	train(&now, 10, 14, 100);
	lane(&now, TIMELINE_STALL, "loader", "block_io", "vda", 11, 14, 0.4);
	assert_true(told(live, &before, &now));
	train(&now, 14, 16, 100);
	lane(&now, TIMELINE_STALL, "loader", "block_io", "vda", 14, 16, 0.4);
	assert_false(told(live, &before, &now));
	train(&now, 16, 19, 100);
	lane(&now, TIMELINE_STALL, "loader", "block_io", "vda", 16, 19, 1.6);
	assert_true(report_live_look(live, now.input.timeline, &hint));
	assert_in_range(hint.begin_ns, T0 + 16 * SECOND, T0 + 18 * SECOND);
	report_live_free(live);
	end(&before);
	end(&now);
}

/* Those that rest over are told if they last. */
static void test_report_live__after_the_rest(void **state)
{
	struct report_live *live = report_live_new(3 * SECOND);
	struct run before = training(live), now = { .input = { .timeline = timeline_new(0) } };

	(void)state;
	train(&now, 10, 14, 100);
	lane(&now, TIMELINE_STALL, "loader", "block_io", "vda", 11, 13, 0.4);
	assert_true(told(live, &before, &now));
	train(&now, 14, 16, 100);
	lane(&now, TIMELINE_STALL, "loader", "block_io", "vda", 14.5, 16, 0.5);
	assert_false(told(live, &before, &now));
	train(&now, 16, 18, 100);
	lane(&now, TIMELINE_STALL, "loader", "block_io", "vda", 16, 18, 0.5);
	assert_true(told(live, &before, &now));
	report_live_free(live);
	end(&before);
	end(&now);
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
		cmocka_unit_test(test_report_rank__fault),
		cmocka_unit_test(test_report_rank__fault_that_was_seen_live),
		cmocka_unit_test(test_report_rank__little_slower_steps),
		cmocka_unit_test(test_report_rank__slow_all_the_time_or_not_at_all),
		cmocka_unit_test(test_report_rank__what_only_the_ledger_has),
		cmocka_unit_test(test_report_rank__steps_of_a_short_baseline),
		cmocka_unit_test(test_report_rank__given_baseline),
		cmocka_unit_test(test_report_rank__no_timeline),
		cmocka_unit_test(test_report_live__told_once_while_it_lasts),
		cmocka_unit_test(test_report_live__keeps_what_it_knows),
		cmocka_unit_test(test_report_live__the_end_of_a_job),
		cmocka_unit_test(test_report_live__without_a_cause),
		cmocka_unit_test(test_report_live__what_breaks_the_rest),
		cmocka_unit_test(test_report_live__much_worse),
		cmocka_unit_test(test_report_live__after_the_rest),
		cmocka_unit_test(test_report_rank__steps_without_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
