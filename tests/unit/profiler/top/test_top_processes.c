/* Tests of top_processes.h: what a process spends its tagged time on. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "profiler/format/text_cells.h"
#include "profiler/format/timeline.h"
#include "profiler/top/top_processes.h"
#include "tests/unit/loaded_fixture.h"

static void add(struct ledger *ledger, const char *tag, uint32_t pid, enum ledger_state state, int64_t ns)
{
	const struct ledger_row row = {
		.base = !strcmp(tag, "train.py"), .pid = pid, .start_ns = 1, .comm = (char *)"python3"
	};

	put_row(ledger, tag, row, state, "", (uint64_t)ns);
}

static struct loaded_profiles new_input(uint64_t covered_ns)
{
	struct loaded_profiles input = { .ledger = ledger_new(0), .stamp = stamp_new(), .files = 1 };

	assert_int_equal(stamp_add_window(input.stamp, 1000, 1000 + covered_ns), 0);
	return input;
}

static void forget(struct loaded_profiles *input)
{
	ledger_free(input->ledger);
	stamp_free(input->stamp);
}

static char *text_of(const struct loaded_profiles *input, size_t columns, size_t *lines)
{
	struct top_processes processes;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(top_processes_build(&processes, input), 0);
	*lines = top_text_processes(out, &processes, columns);
	top_processes_free(&processes);
	fclose(out);
	return text;
}

static void assert_says(const struct loaded_profiles *input, const char *want)
{
	size_t lines, newlines = 0;
	char *text = text_of(input, 0, &lines);

	assert_string_equal(text, want);
	for (const char *c = text; *c; c++)
		newlines += *c == '\n';
	assert_int_equal(lines, newlines);
	free(text);
}

/* A loop, whose idle threads under the process's own tag are no part of it, and workers of their own. */
static void test_top_processes__a_loop(void **state)
{
	struct loaded_profiles input = new_input(1000ul * MS);

	(void)state;
	add(input.ledger, "train_step", 4711, LEDGER_ONCPU, 400 * MS);
	add(input.ledger, "train_step", 4711, LEDGER_RUNQUEUE, 306 * MS);
	add(input.ledger, "data_load", 4711, LEDGER_BLOCKED, 40 * MS);
	add(input.ledger, "data_load", 4711, LEDGER_STALL, -1 * MS);
	add(input.ledger, "ckpt/run1/step1", 4711, LEDGER_STALL, 30 * MS);
	add(input.ledger, "ckpt/run1/step2", 4711, LEDGER_STALL, 25 * MS);
	add(input.ledger, "train.py", 4711, LEDGER_BLOCKED, 90000l * MS);
	add(input.ledger, "loader", 4712, LEDGER_ONCPU, 900 * MS);
	assert_says(&input, "Of the 800 ms under tags in process 4711, one thread's worth: train_step 88.2 "
	                    "%, ckpt 6.9 %, "
	                    "data_load 4.9 %.\n");
	forget(&input);
}

/* More than one thread's worth. */
static void test_top_processes__threads(void **state)
{
	static const struct {
		int64_t ns;
		bool told;
	} rows[] = { { 500 * MS, true }, { 509 * MS, true }, { 511 * MS, false },
		     { 0, false },       { 5 * MS, false },  { 6 * MS, true } };

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct loaded_profiles input = new_input(1000ul * MS);
		struct top_processes processes;

		add(input.ledger, "train_step", 7, LEDGER_ONCPU, 500 * MS);
		add(input.ledger, "data_load", 7, LEDGER_ONCPU, rows[i].ns);
		assert_int_equal(top_processes_build(&processes, &input), 0);
		assert_int_equal(processes.count, rows[i].told);
		top_processes_free(&processes);
		forget(&input);
	}
}

#define SECOND (1000ul * MS)

/* `ns` on the CPU in each second of [from, to). */
static void run(struct timeline *timeline, const char *class, uint64_t from, uint64_t to, int64_t ns)
{
	struct timeline_lane lane = { .kind = TIMELINE_ONCPU, .class = class, .bucket_ns = SECOND };

	assert_int_equal(timeline_add(timeline, &lane, from * SECOND, to * SECOND, ns * (int64_t)(to - from)),
	                 0);
}

/* Threads side by side in a part of what was covered, however long it was. */
static void test_top_processes__side_by_side(void **state)
{
	static const struct {
		uint64_t to;            /* from second 10 on */
		int64_t step, load, ns; /* a second; in all, of each */
		uint32_t others;        /* processes with the same classes */
		bool told;
	} rows[] = {
		{ 12, 2000l * MS, 2000l * MS, 4000l * MS, 0, false }, /* four threads for two seconds */
		{ 18, 500l * MS, 500l * MS, 4000l * MS, 0, true },
		{ 18, 600l * MS, 600l * MS, 4000l * MS, 0, true },  /* what samples stand for */
		{ 13, 500l * MS, 500l * MS, 4000l * MS, 0, false }, /* more than the span has */
		{ 18, 900l * MS, 900l * MS, 3000l * MS, 0, false }, /* within it, but dense */
		{ 18, 900l * MS, 900l * MS, 3000l * MS, 1, true },  /* as two processes do */
		{ 18, 10l * MS, 10l * MS, 3000l * MS, 0, true },    /* that waits has no lane */
		{ 10, 0, 0, 4000l * MS, 0, true },                  /* nor has anything */
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct loaded_profiles input = new_input(9 * SECOND);
		struct top_processes processes;

		input.timeline = timeline_new(0);
		if (rows[i].step) {
			run(input.timeline, "step", 10, rows[i].to, rows[i].step);
			run(input.timeline, "load", 10, rows[i].to, rows[i].load);
		}
		run(input.timeline, "another", 3, 19, 9000l * MS);
		for (uint32_t pid = 7; pid <= 7 + rows[i].others; pid++) {
			add(input.ledger, "step", pid, LEDGER_ONCPU, rows[i].ns);
			add(input.ledger, "load", pid, LEDGER_ONCPU, rows[i].ns);
		}
		assert_int_equal(top_processes_build(&processes, &input), 0);
		assert_int_equal(processes.count, rows[i].told ? 1 + rows[i].others : 0);
		top_processes_free(&processes);
		timeline_free(input.timeline);
		forget(&input);
	}
}

static void add_process(struct loaded_profiles *input, uint32_t pid, uint64_t start_ns, int64_t step_ns,
                        int64_t load_ns)
{
	const struct ledger_row row = { .pid = pid, .start_ns = start_ns, .comm = (char *)"python3" };

	put_row(input->ledger, "step", row, LEDGER_ONCPU, "", (uint64_t)step_ns);
	put_row(input->ledger, "load", row, LEDGER_ONCPU, "", (uint64_t)load_ns);
}

/* A job that ends and begins anew twice, after `pause` seconds, of which each process lives ten: no process has as much as was covered. */
static void test_top_processes__begun_anew(void **state)
{
	static const struct {
		int64_t step, load; /* a second */
		uint64_t pause;
		bool known; /* when they began */
		size_t told;
	} rows[] = {
		{ 990l * MS, 300l * MS, 0, true, 0 },  { 990l * MS, 300l * MS, 5, true, 0 },
		{ 990l * MS, 300l * MS, 0, false, 3 }, { 700l * MS, 250l * MS, 0, true, 3 },
		{ 700l * MS, 250l * MS, 5, true, 3 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		uint64_t each = 10 + rows[i].pause;
		struct loaded_profiles input = new_input(3 * each * SECOND);
		struct top_processes processes;

		input.timeline = timeline_new(0);
		stamp_set_booted(input.stamp, rows[i].known ? 5 * SECOND : 0);
		for (uint32_t p = 0; p < 3; p++) {
			uint64_t from = 100 + p * each;

			run(input.timeline, "step", from, from + 10, rows[i].step);
			run(input.timeline, "load", from, from + 10, rows[i].load);
			add_process(&input, 7 + p, (from - 5) * SECOND, 10 * rows[i].step, 10 * rows[i].load);
		}
		assert_int_equal(top_processes_build(&processes, &input), 0);
		assert_int_equal(processes.count, rows[i].told);
		top_processes_free(&processes);
		timeline_free(input.timeline);
		forget(&input);
	}
}

/* The longest of processes and classes. */
static void test_top_processes__many(void **state)
{
	struct loaded_profiles input = new_input(1000ul * MS);
	char tag[32];

	(void)state;
	for (uint32_t i = 1; i <= 8; i++) {
		snprintf(tag, sizeof(tag), "class%u", i);
		add(input.ledger, tag, 7, LEDGER_ONCPU, i * MS);
	}
	for (uint32_t pid = 8; pid < 12; pid++) {
		add(input.ledger, "a", pid, LEDGER_ONCPU, pid * MS);
		add(input.ledger, "b", pid, LEDGER_ONCPU, pid * MS);
	}
	assert_says(
	        &input,
	        "Of the 36.0 ms under tags in process 7, one thread's worth: class8 22.2 %, class7 19.4 %, "
	        "class6 16.7 %, class5 13.9 %, class4 11.1 %, class3 8.3 %, and others 8.3 %.\n"
	        "Of the 22.0 ms under tags in process 11, one thread's worth: a 50.0 %, b 50.0 %.\n"
	        "Of the 20.0 ms under tags in process 10, one thread's worth: a 50.0 %, b 50.0 %.\n"
	        "And so in 2 more: --json.\n");
	forget(&input);
}

/* Long names, and such as steer terminals: no line is longer than it may be. */
static void test_top_processes__lines(void **state)
{
	struct loaded_profiles input = new_input(1000ul * MS);
	size_t lines, seen = 0;
	char *text, *line, *rest;
	char tag[64];

	(void)state;
	for (int i = 0; i < 6; i++) {
		snprintf(tag, sizeof(tag),
		         "\x1b%d\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4 of some forty and more characters",
		         i);
		add(input.ledger, tag, 7, LEDGER_ONCPU, MS);
	}
	rest = text = text_of(&input, 78, &lines);
	while ((line = strsep(&rest, "\n")) && *line) {
		assert_in_range(text_columns(line), 1, 78);
		seen++;
	}
	assert_int_equal(seen, lines);
	assert_in_range(lines, 4, 7);
	free(text);
	forget(&input);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_top_processes__a_loop),
		cmocka_unit_test(test_top_processes__threads),
		cmocka_unit_test(test_top_processes__side_by_side),
		cmocka_unit_test(test_top_processes__begun_anew),
		cmocka_unit_test(test_top_processes__many),
		cmocka_unit_test(test_top_processes__lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
