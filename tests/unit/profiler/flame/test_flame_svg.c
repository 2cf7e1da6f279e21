/* Tests of flame_svg.h and flame_folded.h. */

#include "tests/unit/loaded_fixture.h"

#include "profiler/flame/flame_add.h"
#include "profiler/flame/flame_data.h"
#include "profiler/flame/flame_folded.h"
#include "profiler/flame/flame_svg.h"
#include "profiler/flame/flame_tree.h"

static const struct loaded_filter all;

struct built {
	struct flame_data *data;
	struct flame_tree tree;
};

static void build(struct built *built, const struct fixture *fixture, size_t type)
{
	const struct flame_tree_options options = { .type = type };

	built->data = flame_data_new();
	assert_int_equal(flame_add(built->data, &fixture->input, "", &all), 0);
	assert_int_equal(flame_tree_build(&built->tree, built->data, &options), 0);
}

static void release(struct built *built)
{
	flame_tree_free(&built->tree);
	flame_data_free(built->data);
}

static void test_flame_folded__a_line_a_stack(void **state)
{
	struct built built;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	build(&built, *state, DELAY);
	assert_int_equal(flame_folded_write(out, built.data, &built.tree), 0);
	fclose(out);
	assert_string_equal(text, "main;write_shard;flush;io_schedule 50000000\n"
	                          "main;write_shard;flush;write_shard;flush 10000000\n"
	                          "main;io_schedule 10000000\n");
	free(text);
	release(&built);
}

static void test_flame_svg__widths_are_shares(void **state)
{
	struct built built;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	build(&built, *state, DELAY);
	assert_int_equal(flame_svg_write(out, built.data, &built.tree, "<a & b>", "nanoseconds"), 0);
	fclose(out);
	assert_non_null(strstr(text, "&lt;a &amp; b&gt;: 70.000 ms"));
	assert_non_null(strstr(
	        text,
	        "<title>main: 70.000 ms, 100.00 %</title><rect x=\"10.00\" y=\"102\" width=\"1180.00\""));
	assert_non_null(strstr(
	        text,
	        "<title>io_schedule: 10.000 ms, 14.29 %</title><rect x=\"10.00\" y=\"85\" width=\"168.57\""));
	assert_null(strstr(text, "too narrow"));
	free(text);
	release(&built);
}

/* A wait that turned out to be of another cause is taken back: what is in a box is not wider than the box all the same. */
static void test_flame_svg__taken_back(void **state)
{
	const struct flame_tree_options options = { .type = DELAY };
	const int64_t values[] = { 0, -20 * MS, 0 };
	struct flame_sample sample;
	struct built built;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	int64_t node;

	build(&built, *state, DELAY);
	flame_tree_free(&built.tree);
	sample = *flame_sample(built.data, 0); /* main, write_shard, flush, io_schedule */
	node = flame_put_node(built.data, flame_node(built.data, sample.node)->parent,
	                      flame_node(built.data, 0)->frame);
	assert_true(node > 0);
	sample.node = (uint32_t)node;
	assert_true(flame_put_sample(built.data, &sample, values) > 0);
	assert_int_equal(flame_tree_build(&built.tree, built.data, &options), 0);
	assert_int_equal(flame_svg_write(out, built.data, &built.tree, "t", "nanoseconds"), 0);
	fclose(out);
	assert_non_null(strstr(text, "t: 50.000 ms"));
	assert_non_null(strstr(
	        text,
	        "<title>main: 50.000 ms, 100.00 %</title><rect x=\"10.00\" y=\"102\" width=\"1180.00\""));
	assert_non_null(strstr(
	        text,
	        "<title>flush: 40.000 ms, 80.00 %</title><rect x=\"178.57\" y=\"68\" width=\"1011.43\""));
	assert_non_null(strstr(text, "<title>io_schedule: 50.000 ms, 100.00 %</title><rect x=\"178.57\" "
	                             "y=\"51\" width=\"842.86\""));
	assert_null(strstr(text, "-20"));
	free(text);
	release(&built);
}

/* What is in a box that is too narrow is too narrow, too. */
static void test_flame_svg__narrow(void **state)
{
	static const struct {
		int sample; /* whose stack gets so much more; -1: main alone */
		int64_t ns;
		const char *said;
	} cases[] = { { -1, 1000000LL * MS, "(6 boxes are too narrow to be drawn)" },
		      { 1, 80000LL * MS, "(1 box is too narrow to be drawn)" } };
	const struct flame_tree_options options = { .type = DELAY };

	for (size_t i = 0; i < COUNT(cases); i++) {
		const int64_t values[] = { 0, cases[i].ns, 0 };
		struct flame_sample sample;
		struct built built;
		char *text = NULL;
		size_t size;
		FILE *out = open_memstream(&text, &size);

		build(&built, *state, DELAY);
		flame_tree_free(&built.tree);
		sample = *flame_sample(built.data, cases[i].sample < 0 ? 0 : (size_t)cases[i].sample);
		sample.node = cases[i].sample < 0 ? 0 : sample.node;
		assert_true(flame_put_sample(built.data, &sample, values) >= 0);
		assert_int_equal(flame_tree_build(&built.tree, built.data, &options), 0);
		assert_int_equal(flame_svg_write(out, built.data, &built.tree, "t", "nanoseconds"), 0);
		fclose(out);
		if (!strstr(text, cases[i].said))
			fail_msg("%.600s", text);
		free(text);
		release(&built);
	}
}

static void test_flame_svg__empty(void **state)
{
	struct built built;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	build(&built, *state, CONTENTIONS);
	built.tree.total = 0;
	assert_int_equal(flame_svg_write(out, built.data, &built.tree, "t", "count"), 0);
	fclose(out);
	assert_non_null(strstr(text, "t: 0 count</text>"));
	assert_null(strstr(text, "<title>"));
	free(text);
	release(&built);
}

/* The unit is the profile's own word, as names are. */
static void test_flame_svg__unit_is_text(void **state)
{
	struct built built;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	build(&built, *state, DELAY);
	assert_int_equal(flame_svg_write(out, built.data, &built.tree, "t\x1b", "</text><b>\xc2\x9b"), 0);
	fclose(out);
	assert_null(strstr(text, "<b>"));
	assert_non_null(strstr(text, "70000000 &lt;/text&gt;&lt;b&gt;\xef\xbf\xbd, 100.00 %"));
	assert_null(strchr(text, '\x1b'));
	assert_null(strstr(text, "\xc2\x9b"));
	free(text);
	release(&built);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_flame_folded__a_line_a_stack, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_flame_svg__widths_are_shares, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_flame_svg__taken_back, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_flame_svg__unit_is_text, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_flame_svg__narrow, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_flame_svg__empty, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
