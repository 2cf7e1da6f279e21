/* Tests of flame_json.h and flame_page.h: the data as JSON, and the page around them. */

#include "tests/unit/loaded_fixture.h"

#include <errno.h>

#include "profiler/flame/flame_add.h"
#include "profiler/flame/flame_data.h"
#include "profiler/flame/flame_json.h"
#include "profiler/flame/flame_page.h"
#include "profiler/format/timeline.h"

static const struct loaded_filter all;

typedef int (*writer)(FILE *out, const struct flame_json *what);

/* What a writer writes of the fixture, with the texts of `what`. The caller frees it. */
static char *written(writer write, const struct fixture *fixture, struct flame_json what)
{
	struct flame_data *data = flame_data_new();
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(flame_add(data, &fixture->input, "", &all), 0);
	what.data = data;
	what.sides = (struct flame_sides){ &fixture->input, NULL };
	assert_int_equal(write(out, &what), 0);
	assert_int_equal(fclose(out), 0);
	flame_data_free(data);
	return text;
}

static void assert_has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("%s is not in %s", part, text);
}

static void test_flame_json__tables(void **state)
{
	char *text = written(flame_json_write, *state, (struct flame_json){ .title = "a \"title\"" });

	assert_has(text, "\"title\":\"a \\\"title\\\"\",\"stall\":null,\"tag\":null,");
	assert_has(text, "\"types\":[[\"contentions\",\"count\"],[\"delay\",\"nanoseconds\"],[\"cpu\","
	                 "\"nanoseconds\"]]");
	assert_has(text, "\"nodes\":{\"up\":[0,1,1,1,2,1,6],");
	assert_has(text, "\"values\":[[1,1,1,0],[50000000,10000000,10000000,0],[0,0,0,5000000]]");
	assert_has(text, "\"states\":[\"oncpu\",\"runqueue\",\"stall\",\"blocked\",\"unobserved\"]");
	assert_has(text, "\"losses\":[\"ring_drops: 2.\"");
	assert_has(text, "\"covered_ns\":100000000,\"span_ns\":100000000");
	free(text);
}

static void test_flame_json__what_alone_was_added(void **state)
{
	char *text = written(flame_json_write, *state,
	                     (struct flame_json){ .title = "t", .stall = "lock", .tag = "ckpt/run1" });

	assert_has(text, "\"title\":\"t\",\"stall\":\"lock\",\"tag\":\"ckpt/run1\",");
	free(text);
}

static void test_flame_json__lanes_count_from_the_start(void **state)
{
	struct fixture *fixture = *state;
	const struct timeline_lane lane = { .kind = TIMELINE_STALL,
		                            .class = "step",
		                            .name = "throttle",
		                            .device = "vdb",
		                            .bucket_ns = 10 * MS };
	char *text;

	assert_int_equal(timeline_add(fixture->input.timeline, &lane, 20 * MS, 30 * MS, 5 * MS), 0);
	text = written(flame_json_write, fixture, (struct flame_json){ .title = "t" });
	assert_has(text, "\"start_ms\":0,");
	assert_has(
	        text,
	        "\"lanes\":[{\"kind\":\"stall\",\"class\":\"step\",\"name\":\"throttle\",\"device\":\"vdb\","
	        "\"bucket_ms\":10,\"begin\":[20],\"value\":[5000000]}]");
	free(text);
}

static void test_flame_page__no_text_ends_the_data(void **state)
{
	char *text;

	if (!flame_page_is_there()) {
		print_message("# SKIP allowed: built without npm, so without the page\n");
		skip();
	}
	text = written(flame_page_write, *state, (struct flame_json){ .title = "</script><!--<script>" });
	assert_has(text, "\"title\":\"\\u003c/script>\\u003c!--\\u003cscript>\"");
	assert_has(text, "default-src 'none'; script-src 'sha256-");
	assert_null(strstr(text, "@DATA@"));
	assert_has(text, "</html>");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_flame_json__tables, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_flame_json__what_alone_was_added, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_flame_json__lanes_count_from_the_start, set_up,
		                                tear_down),
		cmocka_unit_test_setup_teardown(test_flame_page__no_text_ends_the_data, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
