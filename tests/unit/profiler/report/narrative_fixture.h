/* A planted recording of twenty seconds, and what a report says of it. Static, since each test is one file. */
#ifndef STALLPROF_TESTS_NARRATIVE_FIXTURE_H
#define STALLPROF_TESTS_NARRATIVE_FIXTURE_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pprof/profile.h"
#include "profiler/format/ledger_row.h"
#include "profiler/format/request_rows.h"
#include "profiler/format/stamp.h"
#include "profiler/format/timeline.h"
#include "profiler/loaded/loaded_profiles.h"
#include "profiler/report/report.h"
#include "profiler/report/report_forms.h"

#define SECOND 1000000000ULL
#define MS     1000000ULL
#define T0     (1700000000 * SECOND)

static struct loaded_profiles input;

/* `threads` of the time from second `from` to `to`. */
static inline void lane(enum timeline_kind kind, const char *class, const char *name, const char *device,
                        double from, double to, double threads)
{
	const struct timeline_lane key = {
		.kind = kind, .class = class, .name = name, .device = device, .bucket_ns = 10 * MS
	};

	for (uint64_t at = (uint64_t)(from * 100); at < (uint64_t)(to * 100); at++)
		assert_int_equal(timeline_add(input.timeline, &key, T0 + at * 10 * MS,
		                              T0 + (at + 1) * 10 * MS, (int64_t)(threads * 10 * (double)MS)),
		                 0);
}

static inline void seconds(enum timeline_kind kind, int from, int to, int64_t value)
{
	const struct timeline_lane key = { .kind = kind, .class = "train_step", .bucket_ns = SECOND };

	for (int at = from; at < to; at++)
		assert_int_equal(timeline_add(input.timeline, &key, T0 + (uint64_t)at * SECOND,
		                              T0 + (uint64_t)(at + 1) * SECOND, value),
		                 0);
}

/* Twenty seconds, half of a thread's time on the CPU. */
static inline int begin(void **state)
{
	const struct ledger_row row = { .tag = (char *)"train_step",
		                        .class = (char *)"train_step",
		                        .state = LEDGER_ONCPU,
		                        .cause = (char *)"",
		                        .device = (char *)"",
		                        .ns = 10 * (int64_t)SECOND };

	const struct profile_value_type types[] = { { "contentions", "count" }, { "delay", "nanoseconds" } };

	(void)state;
	input = (struct loaded_profiles){
		.timeline = timeline_new(0),
		.ledger = ledger_new(0),
		.requests = request_rows_new(),
		.stamp = stamp_new(),
		.owned = profile_new(types, 2, (struct profile_value_type){ NULL, NULL }, 0, 1 << 20)
	};
	input.profile = input.owned;
	assert_int_equal(stamp_add_window(input.stamp, T0, T0 + 20 * SECOND), 0);
	assert_int_equal(ledger_add(input.ledger, &row), 0);
	seconds(TIMELINE_ONCPU, 0, 20, SECOND / 2);
	return 0;
}

static inline int end(void **state)
{
	(void)state;
	timeline_free(input.timeline);
	ledger_free(input.ledger);
	request_rows_free(input.requests);
	stamp_free(input.stamp);
	profile_free(input.owned);
	return 0;
}

static inline void stalled(const char *cause, const char *device, int64_t ns)
{
	const struct ledger_row row = { .tag = (char *)"train_step",
		                        .class = (char *)"train_step",
		                        .state = LEDGER_STALL,
		                        .cause = (char *)cause,
		                        .device = (char *)device,
		                        .ns = ns };

	assert_int_equal(ledger_add(input.ledger, &row), 0);
}

/* Compared with `baseline`, unless that is NULL. */
static inline char *report_beside(enum report_format format, const struct report_hint *hint,
                                  const struct loaded_profiles *baseline)
{
	struct report report;
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(report_make(&report, &input, baseline, NULL, hint), 0);
	assert_int_equal(report_write(out, &report, format), 0);
	fclose(out);
	report_release(&report);
	return text;
}

static inline char *report_in(enum report_format format, const struct report_hint *hint)
{
	return report_beside(format, hint, NULL);
}

static inline char *report_with(const struct report_hint *hint)
{
	return report_in(REPORT_MARKDOWN, hint);
}

static inline void expect(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no '%s' in:\n%s", part, text);
}

/* Steps come at a third of their rate, and the time lost differs by `threads` from half a thread. */
static inline void spent(const char *class, enum ledger_state state, const char *cause, int64_t ns)
{
	const struct ledger_row row = { .tag = (char *)class,
		                        .class = (char *)class,
		                        .state = state,
		                        .cause = (char *)cause,
		                        .device = (char *)"",
		                        .ns = ns };

	assert_int_equal(ledger_add(input.ledger, &row), 0);
}

#endif
