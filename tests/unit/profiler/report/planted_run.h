/* A recording of a training loop, for tests to plant an incident in. Each test's file has its own copy of the functions. */
#ifndef TESTS_PLANTED_RUN_H
#define TESTS_PLANTED_RUN_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdbool.h>
#include <string.h>

#include "profiler/format/ledger_row.h"
#include "profiler/format/stamp.h"
#include "profiler/format/timeline.h"
#include "profiler/loaded/loaded_profiles.h"
#include "profiler/report/report_ranking.h"

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

/* So many exact tags of the class, of a process, which is a rank or none (0). */
static inline void rank_tags(struct run *run, const char *class, uint32_t pid, uint32_t rank_and_1,
                             uint64_t n)
{
	struct ledger_row added = { .tag = (char *)class,
		                    .class = (char *)class,
		                    .cause = (char *)"",
		                    .device = (char *)"",
		                    .pid = pid,
		                    .rank_and_1 = rank_and_1,
		                    .ns = 1 };

	for (added.id = 1; added.id <= n; added.id++)
		assert_int_equal(ledger_add(run->input.ledger, &added), 0);
}

static inline void tags(struct run *run, const char *class, uint32_t pid, uint64_t n)
{
	rank_tags(run, class, pid, 0, n);
}

static inline const struct report_cause *find(const struct report_ranking *ranking, const char *name)
{
	for (size_t i = 0; i < ranking->count; i++)
		if (!strcmp(ranking->causes[i].name, name))
			return &ranking->causes[i];
	return NULL;
}

/* Ten seconds: the step waits for the GPU half of its time, the loader a tenth of it for the disk. */
static inline struct run usual(void)
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

#endif
