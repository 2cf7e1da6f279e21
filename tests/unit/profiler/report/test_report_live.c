/* Tests of report_live.h: what is told while it goes on, and what is not. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "profiler/report/report_live.h"
#include "profiler/report/report_primary.h"
#include "profiler/report/report_rank.h"
#include "tests/unit/profiler/report/planted_run.h"

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

/* Which classes are the loop's is known from the windows before. */
static void test_report_live__workers_that_idle(void **state)
{
	for (int of_loop = 0; of_loop < 2; of_loop++) {
		struct report_live *live = report_live_new(5 * SECOND);
		struct report_hint hint = { .begin_ns = 0 };
		struct run before = usual(), now = { .input = { .timeline = timeline_new(0) } };

		(void)state;
		tags(&before, "train_step", 0, 50);
		tags(&before, "worker", 7, of_loop ? 50 : 2);
		seconds(&before, TIMELINE_STEPS, "train_step", 0, 10, 50);
		seconds(&before, TIMELINE_ONCPU, "worker", 0, 10, SECOND / 10);
		assert_int_equal(report_live_window(live, &before.input), 0);
		seconds(&now, TIMELINE_ONCPU, "train_step", 10, 14, SECOND / 2);
		seconds(&now, TIMELINE_STEPS, "train_step", 10, 14, 50);
		lane(&now, TIMELINE_BLOCKED, "worker", "poll", "", 11, 14, 2);
		assert_int_equal(report_live_look(live, now.input.timeline, &hint), of_loop);
		report_live_free(live);
		end(&before);
		end(&now);
	}
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

/* The report that the end of a window makes; whether anybody is to be told. */
static bool settle(struct report_live *live, const struct run *window, const struct report_hint *hint,
                   const char *cause)
{
	struct report_ranking ranking;
	bool is_told;

	assert_int_equal(report_rank(&ranking, &window->input, NULL, NULL, hint), 0);
	assert_non_null(ranking.primary);
	assert_string_equal(ranking.primary->name, cause);
	assert_true(ranking.goes_on == !hint->end_ns);
	is_told = report_live_settle(live, &ranking);
	report_ranking_free(&ranking);
	return is_told;
}

static struct run new_window(void)
{
	struct run run = {
		.input = { .timeline = timeline_new(0), .ledger = ledger_new(0), .stamp = stamp_new() }
	};

	row(&run, "loader", false, LEDGER_STALL, "throttle", 4 * (int64_t)SECOND);
	row(&run, "train_step", false, LEDGER_ONCPU, "", 2 * (int64_t)SECOND);
	row(&run, "train.py", true, LEDGER_BLOCKED, "poll", 90 * (int64_t)SECOND);
	return run;
}

/* The next window, in which the loader loses so many threads to the cause from one second to another. */
static struct run lose(enum timeline_kind kind, const char *cause, const char *device, int from, int to,
                       double threads)
{
	struct run run = new_window();

	seconds(&run, TIMELINE_ONCPU, "train_step", from < 14 ? 10 : 14, to, SECOND / 2);
	seconds(&run, TIMELINE_STEPS, "loader", from < 14 ? 10 : 14, to, 100);
	lane(&run, kind, "loader", cause, device, from, to, threads);
	return run;
}

/* The loader's waits of 11 s to 14 s are told. */
static struct report_live *tell(struct run *before, struct run *first, struct report_hint *hint,
                                const char *cause)
{
	struct report_live *live = report_live_new(300 * SECOND);

	assert_non_null(live);
	assert_int_equal(report_live_window(live, &before->input), 0);
	assert_false(report_live_wants(live));
	assert_true(report_live_look(live, first->input.timeline, hint));
	assert_int_equal(report_live_window(live, &first->input), 0);
	assert_true(settle(live, first, hint, cause));
	assert_true(report_live_wants(live));
	return live;
}

/* Waits that go on are not known yet when it is told: the window after that one shows them, or that nothing else was the cause. */
static void test_report_live__another_cause_after_all(void **state)
{
	for (int another = 0; another < 2; another++) {
		struct report_hint hint = { .begin_ns = 0 };
		struct run before = usual(), first = lose(TIMELINE_RUNQUEUE, "", "", 11, 14, 0.6),
		           second = lose(TIMELINE_RUNQUEUE, "", "", 14, 16, another ? 0.1 : 0.6);
		struct report_live *live = tell(&before, &first, &hint, "runqueue");

		if (another)
			lane(&second, TIMELINE_STALL, "loader", "throttle", "vda", 11, 16, 1);
		seconds(&second, TIMELINE_ONCPU, "train_step", 16, 17, SECOND / 2);
		assert_false(report_live_look(live, second.input.timeline, &hint));
		seconds(&second, TIMELINE_ONCPU, "train_step", 17, 22, SECOND / 2);
		seconds(&second, TIMELINE_STEPS, "loader", 16, 22, 100);
		assert_false(report_live_look(live, second.input.timeline, &hint));
		assert_int_equal(report_live_window(live, &second.input), 0);
		assert_true(report_live_again(live, &second.input, &hint) == another);
		if (another) {
			assert_in_range(hint.end_ns, T0 + 15 * SECOND, T0 + 17 * SECOND);
			assert_true(settle(live, &second, &hint, "throttle"));
		}
		assert_false(report_live_wants(live));
		report_live_free(live);
		end(&before);
		end(&first);
		end(&second);
	}
	(void)state;
}

/* A window of another process: by its classes the first one's own threads would have lost most. The device's name is too long to be kept. */
static void test_report_live__classes_of_its_window(void **state)
{
	const char *device = "nfs-prod-01.internal.example.com:/exports/datasets/imagenet-21k/train";
	struct report_hint hint = { .begin_ns = 0 };
	struct run before = usual(), first = lose(TIMELINE_STALL, "nfs_read", device, 11, 14, 0.9),
	           second = { .input = { .timeline = timeline_new(0),
		                         .ledger = ledger_new(0),
		                         .stamp = stamp_new() } };
	struct report_live *live = tell(&before, &first, &hint, "nfs_read");

	(void)state;
	row(&second, "validation", false, LEDGER_ONCPU, "", 8 * (int64_t)SECOND);
	seconds(&second, TIMELINE_ONCPU, "train_step", 14, 22, SECOND / 2);
	assert_false(report_live_look(live, second.input.timeline, &hint));
	lane(&second, TIMELINE_BLOCKED, "train.py", "poll", "", 11, 16, 40);
	assert_int_equal(report_live_window(live, &second.input), 0);
	assert_false(report_live_again(live, &second.input, &hint));
	report_live_free(live);
	end(&before);
	end(&first);
	end(&second);
}

/* Two that are told after each other: of the second the baseline is not known any more, and nothing else is taken for it. */
static void test_report_live__nothing_else_for_it(void **state)
{
	struct report_hint hint = { .begin_ns = 0 };
	struct run before = usual(), first = lose(TIMELINE_RUNQUEUE, "", "", 11, 14, 0.6),
	           second = lose(TIMELINE_STALL, "throttle", "vda", 14, 18, 3), third = new_window();
	struct report_live *live = tell(&before, &first, &hint, "runqueue");

	(void)state;
	assert_true(report_live_look(live, second.input.timeline, &hint));
	assert_int_equal(report_live_window(live, &second.input), 0);
	assert_true(settle(live, &second, &hint, "throttle"));
	seconds(&third, TIMELINE_ONCPU, "train_step", 18, 40, SECOND / 2);
	seconds(&third, TIMELINE_STEPS, "loader", 18, 40, 100);
	assert_false(report_live_look(live, third.input.timeline, &hint));
	lane(&third, TIMELINE_STALL, "loader", "block_io", "vdb", 30, 35, 6);
	assert_int_equal(report_live_window(live, &third.input), 0);
	assert_false(report_live_again(live, &third.input, &hint));
	report_live_free(live);
	end(&before);
	end(&first);
	end(&second);
	end(&third);
}

/* Steps, half a second of CPU time, and waits for the GPU. */
static void train(struct run *run, int from, int to, int64_t steps)
{
	seconds(run, TIMELINE_STEPS, "train_step", from, to, steps);
	seconds(run, TIMELINE_ONCPU, "train_step", from, to, SECOND / 2);
	lane(run, TIMELINE_STALL, "train_step", "gpu_sync", "", from, to, 0.4);
}

/* An agent's: ten seconds of training, with what loads data for it, and the window after that. */
struct watched {
	struct report_live *live;
	struct run before, now;
};

static struct watched watch(uint64_t rest_ns)
{
	struct watched w = { .live = report_live_new(rest_ns),
		             .before = usual(),
		             .now = { .input = { .timeline = timeline_new(0) } } };

	assert_non_null(w.live);
	seconds(&w.before, TIMELINE_STEPS, "train_step", 0, 10, 100);
	lane(&w.before, TIMELINE_STALL, "train_step", "gpu_sync", "", 0, 10, 0.4);
	assert_int_equal(report_live_window(w.live, &w.before.input), 0);
	return w;
}

static void unwatch(struct watched *w)
{
	report_live_free(w->live);
	end(&w->before);
	end(&w->now);
}

/* What the agent does each second: look, and, if an incident is there, make a report of the window and of the one before. */
static bool told(struct watched *w)
{
	struct run window = {
		.input = { .timeline = timeline_new(0), .ledger = ledger_new(0), .stamp = stamp_new() }
	};
	struct report_hint hint = { .begin_ns = 0 };
	struct report_ranking ranking;
	bool is_told = false;

	if (report_live_look(w->live, w->now.input.timeline, &hint)) {
		assert_int_equal(timeline_merge(window.input.timeline, w->before.input.timeline), 0);
		assert_int_equal(timeline_merge(window.input.timeline, w->now.input.timeline), 0);
		row(&window, "train_step", false, LEDGER_ONCPU, "", 5 * (int64_t)SECOND);
		row(&window, "loader", false, LEDGER_ONCPU, "", (int64_t)SECOND);
		row(&window, "train.py", true, LEDGER_BLOCKED, "poll", 90 * (int64_t)SECOND);
		assert_int_equal(report_rank(&ranking, &window.input, NULL, NULL, &hint), 0);
		is_told = report_live_settle(w->live, &ranking);
		report_ranking_free(&ranking);
	}
	end(&window);
	return is_told;
}

/* Steps end with their threads: nothing is told, and what comes then is. */
static void test_report_live__the_end_of_a_job(void **state)
{
	struct watched w = watch(30 * SECOND);

	(void)state;
	train(&w.now, 10, 12, 100);
	lane(&w.now, TIMELINE_STALL, "loader", "block_io", "vda", 10, 12, 0.02);
	for (int at = 12; at < 16; at++) {
		seconds(&w.now, TIMELINE_ONCPU, "loader", at, at + 1, SECOND / 2);
		lane(&w.now, TIMELINE_STALL, "loader", "block_io", "vda", at, at + 1, 0.02);
		assert_false(told(&w));
	}
	seconds(&w.now, TIMELINE_ONCPU, "loader", 16, 20, SECOND / 2);
	lane(&w.now, TIMELINE_STALL, "loader", "throttle", "vda", 16, 20, 0.95);
	assert_true(told(&w));
	unwatch(&w);
}

/* Steps come more slowly, but no wait grew: a window is ended for it once. */
static void test_report_live__without_a_cause(void **state)
{
	struct watched w = watch(30 * SECOND);
	struct report_hint hint;

	(void)state;
	train(&w.now, 10, 13, 30);
	assert_false(told(&w));
	for (int at = 13; at < 16; at++) {
		train(&w.now, at, at + 1, 30);
		assert_false(report_live_look(w.live, w.now.input.timeline, &hint));
		assert_int_equal(report_live_passed_over(w.live), 0);
	}
	unwatch(&w);
}

static void test_report_live__what_breaks_the_rest(void **state)
{
	for (int fault = 0; fault < 2; fault++) {
		struct watched w = watch(30 * SECOND);

		train(&w.now, 10, 14, 100);
		lane(&w.now, TIMELINE_STALL, "loader", "block_io", "vda", 11, 14, 0.4);
		assert_true(told(&w));
		assert_false(told(&w));
		assert_int_equal(report_live_passed_over(w.live), 0); /* it is the same */
		train(&w.now, 14, 20, 100);
		assert_false(told(&w));
		train(&w.now, 20, 23, 100);
		lane(&w.now, TIMELINE_STALL, "loader", "block_io", "vda", 20, 23, 0.5);
		assert_false(told(&w));
		assert_in_range(report_live_passed_over(w.live), 20 * SECOND, 22 * SECOND);
		train(&w.now, 23, 24, 100);
		lane(&w.now, TIMELINE_STALL, "loader", "block_io", "vda", 23, 24, 0.5);
		assert_false(told(&w));
		assert_int_equal(report_live_passed_over(w.live), 0); /* it was said */
		train(&w.now, 24, 30, 100);
		lane(&w.now, TIMELINE_STALL, "train_step", fault ? "nvme_reset" : "block_io",
		     fault ? "nvme0n1" : "vda", 27, 30, fault ? 0.5 : 1.5);
		assert_true(told(&w));
		unwatch(&w);
	}
	(void)state;
}

/* What goes on may become much worse. */
static void test_report_live__much_worse(void **state)
{
	struct watched w = watch(30 * SECOND);
	struct report_hint hint;

	(void)state;
	train(&w.now, 10, 14, 100);
	lane(&w.now, TIMELINE_STALL, "loader", "block_io", "vda", 11, 14, 0.4);
	assert_true(told(&w));
	train(&w.now, 14, 16, 100);
	lane(&w.now, TIMELINE_STALL, "loader", "block_io", "vda", 14, 16, 0.4);
	assert_false(told(&w));
	train(&w.now, 16, 19, 100);
	lane(&w.now, TIMELINE_STALL, "loader", "block_io", "vda", 16, 19, 1.6);
	assert_true(report_live_look(w.live, w.now.input.timeline, &hint));
	assert_in_range(hint.begin_ns, T0 + 16 * SECOND, T0 + 18 * SECOND);
	unwatch(&w);
}

/* What is told of may have begun within the seconds that it is told by: that it is worse in those after them is no news. */
static void test_report_live__as_bad_as_its_next_seconds(void **state)
{
	struct watched w = watch(30 * SECOND);

	(void)state;
	train(&w.now, 10, 14, 100);
	lane(&w.now, TIMELINE_STALL, "loader", "block_io", "vda", 11, 14, 0.4);
	assert_true(told(&w));
	for (int to = 15; to < 20; to++) {
		train(&w.now, to - 1, to, 100);
		lane(&w.now, TIMELINE_STALL, "loader", "block_io", "vda", to - 1, to, 1.6);
		assert_false(told(&w));
	}
	unwatch(&w);
}

/* The time that is lost is the same all along: steps tell how bad it is, and the waits why. */
static void slow_steps(struct watched *w, int from, int to, int64_t steps, enum timeline_kind kind,
                       const char *cause)
{
	seconds(&w->now, TIMELINE_STEPS, "train_step", from, to, steps);
	seconds(&w->now, TIMELINE_ONCPU, "train_step", from, to, SECOND / 2);
	lane(&w->now, kind, "train_step", cause, "", from, to, 0.4);
}

static void test_report_live__steps_much_worse(void **state)
{
	/* It is the same whether a little more time is lost by then, so that it is no longer by the steps that it is found. */
	for (int more = 0; more < 2; more++) {
		struct watched w = watch(30 * SECOND);
		struct report_hint hint;

		train(&w.now, 10, 12, 100);
		slow_steps(&w, 12, 15, 60, TIMELINE_BLOCKED, "lock");
		assert_true(told(&w));
		slow_steps(&w, 15, 18, 50, TIMELINE_BLOCKED, "lock");
		assert_false(told(&w));
		slow_steps(&w, 18, 21, 10, TIMELINE_STALL, "throttle");
		if (more)
			lane(&w.now, TIMELINE_STALL, "loader", "throttle", "", 18, 21, 0.3);
		assert_true(report_live_look(w.live, w.now.input.timeline, &hint));
		assert_in_range(hint.begin_ns, T0 + 18 * SECOND, T0 + 20 * SECOND);
		assert_true(hint.by_steps == !more);
		unwatch(&w);
	}
	(void)state;
}

/* Where there are so few of them, a second may be without any. */
static void test_report_live__few_steps(void **state)
{
	struct watched w = watch(30 * SECOND);

	(void)state;
	train(&w.now, 10, 12, 100);
	slow_steps(&w, 12, 15, 2, TIMELINE_BLOCKED, "lock");
	assert_true(told(&w));
	slow_steps(&w, 15, 18, 0, TIMELINE_BLOCKED, "lock");
	assert_false(told(&w));
	unwatch(&w);
}

/* Those that rest over are told if they last. */
static void test_report_live__after_the_rest(void **state)
{
	struct watched w = watch(3 * SECOND);

	(void)state;
	train(&w.now, 10, 14, 100);
	lane(&w.now, TIMELINE_STALL, "loader", "block_io", "vda", 11, 13, 0.4);
	assert_true(told(&w));
	train(&w.now, 14, 16, 100);
	lane(&w.now, TIMELINE_STALL, "loader", "block_io", "vda", 14.5, 16, 0.5);
	assert_false(told(&w));
	train(&w.now, 16, 18, 100);
	lane(&w.now, TIMELINE_STALL, "loader", "block_io", "vda", 16, 18, 0.5);
	assert_true(told(&w));
	unwatch(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_report_live__workers_that_idle),
		cmocka_unit_test(test_report_live__told_once_while_it_lasts),
		cmocka_unit_test(test_report_live__keeps_what_it_knows),
		cmocka_unit_test(test_report_live__another_cause_after_all),
		cmocka_unit_test(test_report_live__classes_of_its_window),
		cmocka_unit_test(test_report_live__nothing_else_for_it),
		cmocka_unit_test(test_report_live__the_end_of_a_job),
		cmocka_unit_test(test_report_live__without_a_cause),
		cmocka_unit_test(test_report_live__what_breaks_the_rest),
		cmocka_unit_test(test_report_live__much_worse),
		cmocka_unit_test(test_report_live__as_bad_as_its_next_seconds),
		cmocka_unit_test(test_report_live__steps_much_worse),
		cmocka_unit_test(test_report_live__few_steps),
		cmocka_unit_test(test_report_live__after_the_rest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
