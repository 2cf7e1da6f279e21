/* Tests of top_screen.h: what fits on the first screen, and how wide it is. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "profiler/format/text_cells.h"
#include "profiler/top/top.h"
#include "profiler/format/request_rows.h"
#include "profiler/format/timeline.h"
#include "profiler/top/top_screen.h"
#include "tests/unit/loaded_fixture.h"

static const struct loaded_filter all = { .waits = false };

static char *screen_of(const struct loaded_profiles *input, const struct loaded_tags *tags,
                       struct top_screen what)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	what.input = input;
	what.tags = tags;
	if (!what.filter)
		what.filter = &all;
	what.code = true;
	assert_int_equal(top_screen_print(out, &what), 0);
	fclose(out);
	return text;
}

static size_t widest(char *text)
{
	size_t columns = 0;
	char *line;

	while ((line = strsep(&text, "\n")))
		if (text_columns(line) > columns)
			columns = text_columns(line);
	return columns;
}

/* Into a file or a pipe: names of C++, and tags, as long as they like. */
static void test_top_screen__is_not_wide(void **state)
{
	char function[1200], tag[300];
	struct profile_frame frame = { .function = function, .file = "/src/a.cc", .line = 7 };
	struct profile *p = profile_new(types, 3, types[CPU], 1, 1 << 20);
	struct loaded_profiles input = { .profile = p,
		                         .ledger = ledger_new(0),
		                         .requests = request_rows_new(),
		                         .stamp = stamp_new(),
		                         .files = 1 };
	struct loaded_tags *tags;
	int64_t id;
	char *text;

	(void)state;
	for (size_t i = 0; i < sizeof(function) - 1; i++)
		function[i] = "\xc3\xa4"[i % 2];
	function[sizeof(function) - 2] = '\0';
	memset(tag, 'x', sizeof(tag));
	tag[60] = '/';
	tag[sizeof(tag) - 1] = '\0';
	id = profile_location(p, 0, 1, &frame, 1);
	for (uint64_t step = 1; step < 3; step++) {
		add_row(input.ledger, tag, step, LEDGER_STALL, "block_io", 50 * MS);
		add_row(input.ledger, tag, step, LEDGER_BLOCKED, "poll", 50 * MS);
	}
	add_sample(p, (int64_t[]){ id, id }, 2, 50 * MS, 0, tag, "0000000000000001", "block_io", "vda");
	tags = loaded_tags_new(&input);
	for (unsigned int level = LOADED_LEVEL_CLASS; level <= LOADED_LEVEL_TAG; level++) {
		text = screen_of(&input, tags, (struct top_screen){ .type = DELAY, .level = level });
		assert_in_range(widest(text), 100, 140);
		free(text);
	}
	text = screen_of(&input, tags, (struct top_screen){ .type = DELAY });
	assert_non_null(strstr(text, "…"));
	assert_null(strstr(text, "\\x"));
	free(text);
	loaded_tags_free(tags);
	stamp_free(input.stamp);
	ledger_free(input.ledger);
	request_rows_free(input.requests);
	profile_free(p);
}

static void test_top_screen__verbose_has_all(void **state)
{
	struct fixture *fixture = *state;
	struct top_screen what = { .type = DELAY, .limit = TOP_FITS };
	char name[40], *text;

	fixture->input.path = "a.pb.gz";
	for (int i = 0; i < 40; i++) {
		snprintf(name, sizeof(name), "a_loss_of_tomorrow_%d", i);
		assert_int_equal(stamp_add_counter(fixture->input.stamp, name, i % 4), 0);
	}
	text = screen_of(&fixture->input, fixture->tags, what);
	assert_non_null(strstr(text, " more of this kind: stallprof top -v a.pb.gz.\n"));
	assert_null(strstr(text, "a_loss_of_tomorrow_39: 3.\n"));
	free(text);
	what.verbose = true;
	text = screen_of(&fixture->input, fixture->tags, what);
	assert_null(strstr(text, "more of this kind"));
	assert_non_null(strstr(text, "a_loss_of_tomorrow_39: 3.\n"));
	assert_non_null(strstr(text, "a_loss_of_tomorrow_39=3\n"));
	assert_null(strstr(text, "a_loss_of_tomorrow_36"));
	assert_in_range(widest(text), 80, 140);
	free(text);
}

/* Below the table, unless that has a part of the tags. */
static void test_top_screen__shares_of_a_process(void **state)
{
	static const char *const sentence =
	        "\n\nOf the 60.0 ms under tags in process 13, one thread's worth: ckpt 83.3 %, "
	        "step 16.7 %.\n";
	struct profile *p = profile_new(types, 3, types[CPU], 1, 1 << 20);
	struct loaded_profiles input = { .profile = p,
		                         .ledger = ledger_new(0),
		                         .requests = request_rows_new(),
		                         .stamp = stamp_new(),
		                         .files = 1 };
	struct loaded_tags *tags;
	char *text;

	(void)state;
	assert_int_equal(stamp_add_window(input.stamp, 1000, 1000 + 100 * MS), 0);
	add_row(input.ledger, "ckpt", 1, LEDGER_STALL, "block_io", 50 * MS);
	add_row(input.ledger, "step", 1, LEDGER_ONCPU, "", 10 * MS);
	tags = loaded_tags_new(&input);
	text = screen_of(&input, tags, (struct top_screen){ .type = DELAY });
	assert_non_null(strstr(text, sentence));
	free(text);
	text = screen_of(&input, tags, (struct top_screen){ .type = DELAY, .level = LOADED_LEVEL_TAG });
	assert_null(strstr(text, "one thread"));
	free(text);
	loaded_tags_free(tags);
	stamp_free(input.stamp);
	ledger_free(input.ledger);
	request_rows_free(input.requests);
	profile_free(p);
}

/* Of a program that ran all the time, where tags waited for CPUs. */
static void test_top_screen__who_used_the_cpus(void **state)
{
	const struct timeline_lane lane = { .kind = TIMELINE_SIGNAL,
		                            .class = "stress-ng (7)",
		                            .name = HOST_USER_CPU,
		                            .device = "",
		                            .bucket_ns = TIMELINE_LEDGER_BUCKET_NS };
	struct fixture *fixture = *state;
	struct top_screen what = { .type = DELAY };
	struct timeline *timeline = timeline_new(0), *old = fixture->input.timeline;
	char *text;

	fixture->input.timeline = timeline;
	assert_int_equal(timeline_add(timeline, &lane, 1000, 1000 + 100 * MS, 90 * MS), 0);
	text = screen_of(&fixture->input, fixture->tags, what);
	assert_null(strstr(text, "used most"));
	free(text);
	add_row(fixture->input.ledger, "step/9", 2, LEDGER_RUNQUEUE, "", 50 * MS);
	text = screen_of(&fixture->input, fixture->tags, what);
	assert_non_null(strstr(text, "\n\nCPUs were used most by: stress-ng (pid 7, 0.9 CPUs)\n"));
	free(text);
	fixture->input.timeline = old;
	timeline_free(timeline);
}

/* Where a class computes most of its time. */
static void test_top_screen__who_computes(void **state)
{
	struct fixture *fixture = *state;
	struct top_screen what = { .type = DELAY };
	char *text = screen_of(&fixture->input, fixture->tags, what);

	assert_non_null(
	        strstr(text, "\n\nWhere step computes: record --oncpu-hz 99, then top --type cpu.\n"));
	free(text);
	what.type = CPU;
	text = screen_of(&fixture->input, fixture->tags, what);
	assert_null(strstr(text, "computes"));
	free(text);
}

/* What the table does not show of what was asked for is said. */
static void test_top_screen__remarks(void **state)
{
	struct fixture *fixture = *state;
	struct top_screen what = { .type = DELAY };
	struct loaded_filter focused = { .waits = false }, one_tag = { .tag = "ckpt" };
	regex_t word;
	char *text;

	text = screen_of(&fixture->input, fixture->tags, what);
	assert_null(strstr(text, "unobserved"));
	assert_null(strstr(text, "--focus"));
	free(text);
	assert_int_equal(regcomp(&word, "write", REG_NOSUB), 0);
	focused.focus = &word;
	what.filter = &focused;
	add_row(fixture->input.ledger, "ckpt", 1, LEDGER_UNOBSERVED, "", 10 * MS);
	text = screen_of(&fixture->input, fixture->tags, what);
	assert_non_null(strstr(
	        text,
	        "\n\nunobserved: the thread held the tag while its switches were not watched.\n"
	        "The table is of all waits; what follows, of those that --focus and --ignore leave.\n"));
	free(text);
	regfree(&word);
	assert_int_equal(stamp_add_counter(fixture->input.stamp, "windows_refused", 2), 0);
	what.filter = &one_tag;
	text = screen_of(&fixture->input, fixture->tags, what);
	assert_non_null(strstr(text, "\n\nOf all tags:\n"));
	assert_non_null(strstr(text, "2 windows are missing"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_top_screen__is_not_wide),
		cmocka_unit_test_setup_teardown(test_top_screen__verbose_has_all, set_up, tear_down),
		cmocka_unit_test(test_top_screen__shares_of_a_process),
		cmocka_unit_test_setup_teardown(test_top_screen__who_used_the_cpus, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_top_screen__who_computes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_top_screen__remarks, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
