/* Tests of scrape_sums.h and scrape_metrics.h: counters that never fall, and that are the ledgers' sums. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pprof/profile.h"
#include "profiler/format/ledger_row.h"
#include "profiler/format/stamp.h"
#include "profiler/scrape/scrape_bytes.h"
#include "profiler/scrape/scrape_metrics.h"
#include "profiler/scrape/scrape_sums.h"

#define SECOND 1000000000

static struct ledger *rows;

static void row(const char *class, enum ledger_state state, const char *cause, const char *device, int64_t ns,
                uint64_t count)
{
	static uint64_t id;
	const struct ledger_row row = { .tag = (char *)class,
		                        .class = (char *)class,
		                        .id = ++id, /* each use of a tag has its own row */
		                        .pid = 7,
		                        .state = state,
		                        .cause = (char *)cause,
		                        .device = (char *)device,
		                        .ns = ns,
		                        .count = count };

	if (!rows)
		rows = ledger_new(0);
	assert_int_equal(ledger_add(rows, &row), 0);
}

/* Ends a window that has the rows since the last one, and a loss. */
static void end_window(struct scrape_sums *sums)
{
	const struct profile_value_type type = { "delay", "nanoseconds" };
	struct profile *profile = profile_new(&type, 1, type, 1, 1 << 20);
	struct stamp *stamp = stamp_new();

	assert_int_equal(stamp_add_window(stamp, 10 * (uint64_t)SECOND, 20 * (uint64_t)SECOND), 0);
	assert_int_equal(stamp_add_counter(stamp, "ring_full", 3), 0);
	assert_int_equal(stamp_add_counter(stamp, "frames_dwarf", 4), 0);
	assert_int_equal(stamp_add_hook(stamp, "block_io", "a", HOOK_ATTACHED, NULL), 0);
	assert_int_equal(stamp_add_hook(stamp, "block_io", "b", HOOK_UNUSED, NULL), 0);
	assert_int_equal(stamp_add_hook(stamp, "tag_wait", "c", HOOK_ATTACHED, NULL), 0);
	assert_int_equal(stamp_add_hook(stamp, "tag_wait", "d", HOOK_MISSING, "an old kernel"), 0);
	assert_int_equal(stamp_add_hook(stamp, "gpu_ring", "e", HOOK_UNUSED, NULL), 0);
	assert_int_equal(stamp_to_notes(stamp, profile), 0);
	if (rows)
		assert_int_equal(ledger_to_notes(rows, profile), 0);
	assert_int_equal(scrape_sums_take(sums, profile), 0);
	ledger_free(rows);
	rows = NULL;
	stamp_free(stamp);
	profile_free(profile);
}

static char *metrics(struct scrape_sums *sums)
{
	const struct scrape_facts facts = { .service_name = "train \"1\"", .counts = { .kept = 2 } };
	struct scrape_bytes *bytes = scrape_metrics_make(sums, &facts);
	char *text;

	assert_non_null(bytes);
	text = strndup(scrape_bytes_data(bytes), scrape_bytes_length(bytes));
	scrape_bytes_drop(bytes);
	return text;
}

/* Each of the lines, up to NULL, is in the metrics. */
static void expect(struct scrape_sums *sums, const char *const *lines)
{
	char *text = metrics(sums), wanted[256];

	for (; *lines; lines++) {
		snprintf(wanted, sizeof(wanted), "\n%s\n", *lines);
		if (!strstr(text, wanted))
			fail_msg("there is no line %s in\n%s", *lines, text);
	}
	free(text);
}

#define EXPECT(sums, ...) expect(sums, (const char *const[]){ __VA_ARGS__, NULL })

static void test_scrape_sums__rows_of_windows_add_up(void **state)
{
	struct scrape_sums *sums = scrape_sums_new(SCRAPE_SUMS_MAX);

	(void)state;
	row("load", LEDGER_ONCPU, "", "", 2 * (int64_t)SECOND, 0);
	row("load", LEDGER_ONCPU, "", "", 1, 0);
	row("load", LEDGER_STALL, "block_io", "vda", 3, 2);
	row("load", LEDGER_STALL, "block_io", "vdb", 4, 1);
	row("load", LEDGER_BLOCKED, "pipe", "", 5, 1);
	row("load", LEDGER_BLOCKED, "lock", "", 6, 1);
	end_window(sums);
	row("load", LEDGER_STALL, "block_io", "vda", 10, 1);
	row("save", LEDGER_UNOBSERVED, "", "", 8, 0);
	row("save", LEDGER_RUNQUEUE, "", "", 9, 0);
	end_window(sums);
	EXPECT(sums, "stallprof_tag_seconds_total{ai_tag=\"load\",state=\"oncpu\"} 2.000000001",
	       "stallprof_tag_seconds_total{ai_tag=\"load\",state=\"blocked\"} 0.000000011",
	       "stallprof_tag_seconds_total{ai_tag=\"load\",state=\"stall\"} 0.000000017",
	       "stallprof_tag_seconds_total{ai_tag=\"save\",state=\"unobserved\"} 0.000000008",
	       "stallprof_tag_seconds_total{ai_tag=\"save\",state=\"runqueue\"} 0.000000009",
	       "stallprof_stall_seconds_total{ai_tag=\"load\",stall=\"block_io\",device=\"vda\"} 0.000000013",
	       "stallprof_stall_seconds_total{ai_tag=\"load\",stall=\"block_io\",device=\"vdb\"} 0.000000004",
	       "stallprof_stalls_total{ai_tag=\"load\",stall=\"block_io\",device=\"vda\"} 3",
	       "stallprof_lost_total{name=\"ring_full\"} 6", "stallprof_counter_total{name=\"ring_full\"} 6",
	       "stallprof_counter_total{name=\"frames_dwarf\"} 8", "stallprof_windows_total 2",
	       "stallprof_covered_seconds_total 20.000000000",
	       "stallprof_last_window_timestamp_seconds 20.000000000", "stallprof_windows_kept_total 2",
	       "stallprof_build_info{version=\"1.0\",service_name=\"train \\\"1\\\"\"} 1",
	       "stallprof_held_back_seconds{counter=\"stallprof_stall_seconds_total\"} 0.000000000");
	scrape_sums_free(sums);
}

/* So that an alert on their sum says that something is missing. */
static void test_scrape_sums__what_is_no_loss_is_not_in_lost(void **state)
{
	struct scrape_sums *sums = scrape_sums_new(SCRAPE_SUMS_MAX);
	char *text;

	(void)state;
	end_window(sums);
	text = metrics(sums);
	assert_null(strstr(text, "stallprof_lost_total{name=\"frames_dwarf\"}"));
	free(text);
	scrape_sums_free(sums);
}

static void test_scrape_sums__what_is_taken_back_holds_back(void **state)
{
#define RESET "stallprof_stall_seconds_total{ai_tag=\"load\",stall=\"nvme_reset\",device=\"nvme0\"} "
#define IO    "stallprof_stall_seconds_total{ai_tag=\"load\",stall=\"block_io\",device=\"nvme0\"} "
#define AHEAD "stallprof_held_back_seconds{counter=\"stallprof_stall_seconds_total\"} "
#define STALL "stallprof_tag_seconds_total{ai_tag=\"load\",state=\"stall\"} "
	struct scrape_sums *sums = scrape_sums_new(SCRAPE_SUMS_MAX);

	(void)state;
	row("load", LEDGER_STALL, "block_io", "nvme0", 100, 1);
	end_window(sums);
	/* It was a reset: the counter of block_io stays, and the stalls as a whole do not change. */
	row("load", LEDGER_STALL, "block_io", "nvme0", -70, 0);
	row("load", LEDGER_STALL, "nvme_reset", "nvme0", 70, 1);
	end_window(sums);
	EXPECT(sums, IO "0.000000100", RESET "0.000000070", AHEAD "0.000000070", STALL "0.000000100");
	assert_int_equal(scrape_sums_ahead(sums, SCRAPE_SUM_STALL), 70);
	assert_int_equal(scrape_sums_ahead(sums, SCRAPE_SUM_TAG), 0);
	/* Growth is held back until it has caught up, */
	row("load", LEDGER_STALL, "block_io", "nvme0", 60, 1);
	end_window(sums);
	EXPECT(sums, IO "0.000000100", AHEAD "0.000000010", STALL "0.000000160");
	/* and then the sum is the ledger's: 100 - 70 + 60 + 15. */
	row("load", LEDGER_STALL, "block_io", "nvme0", 15, 1);
	end_window(sums);
	EXPECT(sums, IO "0.000000105", AHEAD "0.000000000");
	/* Rows of one window take back from each other before anything is shown. */
	row("load", LEDGER_STALL, "block_io", "nvme0", 50, 1);
	row("load", LEDGER_STALL, "block_io", "nvme0", -50, 0);
	end_window(sums);
	EXPECT(sums, IO "0.000000105", AHEAD "0.000000000");
	scrape_sums_free(sums);
}

static void test_scrape_sums__what_is_undecided_is_in_no_counter(void **state)
{
	struct scrape_sums *sums = scrape_sums_new(SCRAPE_SUMS_MAX);

	(void)state;
	row("load", LEDGER_BLOCKED, "undecided", "", 100, 0);
	row("load", LEDGER_BLOCKED, "lock", "", 1, 1);
	end_window(sums);
	EXPECT(sums, "stallprof_undecided_seconds{ai_tag=\"load\"} 0.000000100",
	       "stallprof_tag_seconds_total{ai_tag=\"load\",state=\"blocked\"} 0.000000001");
	row("load", LEDGER_BLOCKED, "undecided", "", -100, 0);
	row("load", LEDGER_BLOCKED, "lock", "", 120, 1);
	end_window(sums);
	EXPECT(sums, "stallprof_undecided_seconds{ai_tag=\"load\"} 0.000000000",
	       "stallprof_tag_seconds_total{ai_tag=\"load\",state=\"blocked\"} 0.000000121",
	       "stallprof_held_back_seconds{counter=\"stallprof_tag_seconds_total\"} 0.000000000");
	scrape_sums_free(sums);
}

static void test_scrape_sums__there_are_not_more_than_so_many(void **state)
{
	struct scrape_sums *sums = scrape_sums_new(4);
	char name[16], *text;
	size_t lines = 0;

	(void)state;
	for (int i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "dev%d", i);
		row("load", LEDGER_STALL, "block_io", name, 1, 1);
	}
	row("tardy", LEDGER_ONCPU, "", "", 5, 0);
	end_window(sums);
	row("tardy", LEDGER_ONCPU, "", "", 5, 0);
	end_window(sums);
	text = metrics(sums);
	for (const char *at = text; (at = strstr(at, "\nstallprof_stalls_total{")); at++)
		lines++;
	assert_in_range(lines, 3, 5);
	free(text);
	EXPECT(sums, "stallprof_tag_seconds_total{ai_tag=\"other\",state=\"oncpu\"} 0.000000010",
	       "stallprof_tag_seconds_total{ai_tag=\"load\",state=\"stall\"} 0.000000100",
	       "stallprof_stalls_total{ai_tag=\"other\",stall=\"block_io\",device=\"other\"} 97");
	assert_true(scrape_sums_refused(sums) >= 97);
	scrape_sums_free(sums);
}

static void test_scrape_sums__names_that_look_alike_are_one_series(void **state)
{
	struct scrape_sums *sums = scrape_sums_new(SCRAPE_SUMS_MAX);

	(void)state;
	row("a\n", LEDGER_ONCPU, "", "", 1, 0);
	row("a\\x0a", LEDGER_ONCPU, "", "", 2, 0);
	end_window(sums);
	EXPECT(sums, "stallprof_tag_seconds_total{ai_tag=\"a\\\\x0a\",state=\"oncpu\"} 0.000000003");
	scrape_sums_free(sums);
}

static void test_scrape_sums__hooks(void **state)
{
	struct scrape_sums *sums = scrape_sums_new(SCRAPE_SUMS_MAX);
	char *text;

	(void)state;
	text = metrics(sums); /* before the first window */
	assert_null(strstr(text, "stallprof_hook_attached{"));
	free(text);
	end_window(sums);
	EXPECT(sums, "stallprof_hook_attached{cause=\"block_io\"} 1",
	       "stallprof_hook_attached{cause=\"tag_wait\"} 0");
	text = metrics(sums);
	assert_null(strstr(text, "gpu_ring"));
	free(text);
	scrape_sums_free(sums);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scrape_sums__rows_of_windows_add_up),
		cmocka_unit_test(test_scrape_sums__what_is_no_loss_is_not_in_lost),
		cmocka_unit_test(test_scrape_sums__what_is_taken_back_holds_back),
		cmocka_unit_test(test_scrape_sums__what_is_undecided_is_in_no_counter),
		cmocka_unit_test(test_scrape_sums__there_are_not_more_than_so_many),
		cmocka_unit_test(test_scrape_sums__names_that_look_alike_are_one_series),
		cmocka_unit_test(test_scrape_sums__hooks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
