/* Tests of top_blocked_text.h, and of which lines of code are shown of what is blocked. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <time.h>

#include "profiler/top/top_blocked_text.h"
#include "tests/unit/profiler/top/code_recording.h"

/* Blocked rows whose waits have no stacks. */
static void test_top_blocked_text__without_stacks(void **state)
{
	struct recording r = { .profile = new_profile() };
	size_t lines;
	char *text;

	(void)state;
	r.input = (struct loaded_profiles){
		.profile = r.profile, .ledger = ledger_new(0), .stamp = stamp_new(), .files = 1
	};
	fill_ledger(r.input.ledger);
	r.tags = loaded_tags_new(&r.input);
	text = text_of(&r, (struct top_code_text){ .limit = 0 }, 40, &lines);
	assert_string_equal(
	        text,
	        "\nblocked (no stall: waits for other threads, timers, peers); --waits=long takes stacks\n"
	        "  data_load: poll 150 ms (75.0 %)\n");
	free(text);
	loaded_tags_free(r.tags);
	ledger_free(r.input.ledger);
	stamp_free(r.input.stamp);
	profile_free(r.profile);
}

/* Waits have stacks in this profile, only not those that are left. */
static void test_top_blocked_text__too_short(void **state)
{
	struct recording *r = *state;
	const struct loaded_filter ckpt = { .tag = "ckpt" };
	struct top_sections none = { .count = 0 };
	struct top_code_text what = { .input = &r->input, .tags = r->tags, .filter = &ckpt };
	struct loaded_classes classes;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	add(r->input.ledger, "ckpt", false, LEDGER_BLOCKED, "lock", 10 * MS);
	assert_int_equal(loaded_classes_build(&classes, &r->input, &ckpt, LOADED_LEVEL_CLASS), 0);
	what.classes = &classes;
	assert_int_equal(top_text_sections(out, &what, &none, 40), 3);
	what.on_cpu = true;
	assert_int_equal(top_text_sections(out, &what, &none, 40), 0);
	fclose(out);
	assert_string_equal(text, "\nblocked (no stall: waits for other threads, timers, peers)\n"
	                          "  ckpt: lock 10.0 ms (20.0 %)\n");
	free(text);
	loaded_classes_free(&classes);
}

/* What the ledger has and no stack stands for is told of pushed tags, not of idle threads. */
static void test_top_blocked_text__rest(void **state)
{
	struct recording *r = *state;
	size_t lines;
	char *text;

	add(r->input.ledger, "data_load", false, LEDGER_BLOCKED, "pipe", 50 * MS);
	add(r->input.ledger, "train.py", true, LEDGER_BLOCKED, "pipe", 500 * MS);
	text = text_of(r, (struct top_code_text){ .limit = 0 }, 0, &lines);
	assert_non_null(strstr(text, "900 ms in train.py\n  without a stack: waits below the sampling "
	                             "threshold: 50.0 ms of data_load\n"));
	free(text);
}

/* Workers that idle at many lines leave room for the line that a loop waits at. */
static void test_top_blocked_text__each_class_has_a_line(void **state)
{
	struct recording *r = *state;
	int64_t ids[1];
	size_t lines;
	char *text;

	for (uint32_t line = 1; line < 20; line++) {
		ids[0] = frame(r->profile, PYTHON, "work", "/home/me/worker.py", line);
		sample(r->profile, ids, 1, 200 * MS, "loader", "poll", "");
	}
	add(r->input.ledger, "loader", false, LEDGER_BLOCKED, "poll", 1900 * MS);
	text = text_of(r, (struct top_code_text){ .limit = 0 }, 24, &lines);
	assert_non_null(strstr(text, "of data_load  poll  train /home/me/train.py:80"));
	assert_non_null(strstr(text, "of loader  poll  work /home/me/worker.py:1"));
	free(text);
	text = text_of(r, (struct top_code_text){ .limit = 0 }, 0, &lines); /* all: heaviest first */
	assert_true(strstr(text, "worker.py:19") < strstr(text, "of data_load  poll"));
	free(text);
}

#define MANY 4000

/* Thousands of classes that were never blocked, beside idle processes: the ledger is not searched for each of them. */
static void test_top_blocked_text__many_classes(void **state)
{
	struct loaded_profiles input = { .ledger = ledger_new(0) };
	const struct loaded_filter steps = { .tag = "step" };
	struct top_code_text what = { .input = &input, .filter = &steps };
	struct loaded_classes classes;
	char *text = NULL;
	size_t size;
	clock_t begun;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	for (uint32_t i = 0; i < MANY; i++) {
		char tag[32];

		snprintf(tag, sizeof(tag), "step/%u", i);
		add(input.ledger, tag, false, LEDGER_ONCPU, "", MS);
		put_row(input.ledger, "step/idle", (struct ledger_row){ .base = true, .pid = i },
		        LEDGER_BLOCKED, "poll", MS);
	}
	assert_int_equal(loaded_classes_build(&classes, &input, &steps, LOADED_LEVEL_CLASS), 0);
	assert_int_equal(classes.count, MANY + 1);
	what.classes = &classes;
	begun = clock();
	assert_int_equal(top_text_blocked(out, &what), 0);
	assert_true((double)(clock() - begun) / CLOCKS_PER_SEC < 0.3);
	fclose(out);
	free(text);
	loaded_classes_free(&classes);
	ledger_free(input.ledger);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_top_blocked_text__without_stacks),
		cmocka_unit_test(test_top_blocked_text__many_classes),
		cmocka_unit_test_setup_teardown(test_top_blocked_text__too_short, record, forget),
		cmocka_unit_test_setup_teardown(test_top_blocked_text__rest, record, forget),
		cmocka_unit_test_setup_teardown(test_top_blocked_text__each_class_has_a_line, record, forget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
