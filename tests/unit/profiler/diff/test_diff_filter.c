/* Tests of diff_filter.h: which samples, rows and requests pass. */
#include <errno.h>

#include "profiler/diff/diff_filter.h"
#include "profiler/format/request_rows.h"
#include "tests/unit/loaded_fixture.h"

static struct diff_filter parsed(const char *text)
{
	struct diff_filter filter = { .count = 0 };
	char err[256] = "";

	if (diff_filter_add(&filter, text, err, sizeof(err)))
		fail_msg("%s: %s", text, err);
	return filter;
}

static void test_diff_filter__samples(void **state)
{
	static const struct {
		const char *text;
		size_t samples; /* of the fixture's four: two of checkpoint_write, two of step/9 */
	} known[] = {
		{ "ai_tag=checkpoint_write", 2 },
		{ "tag=step/9", 2 },
		{ "tag=id=2", 2 },
		{ "ai_tag!=checkpoint_write", 2 },
		{ "stall=throttle", 1 },
		{ "stall!=throttle", 3 },
		{ "device=vda", 2 },
		{ "ai_tag=step,device=vdb", 1 },
		{ "tid=7", 4 },
		{ "tid=8", 0 },
		{ "span_id=0000000000000002", 2 },
		{ "ai_tag=nobody", 0 },
	};
	const struct fixture *fixture = *state;

	for (size_t i = 0; i < COUNT(known); i++) {
		struct diff_filter filter = parsed(known[i].text);
		struct loaded_sample sample;
		size_t n = 0;

		for (size_t s = 0; loaded_sample_get(&fixture->input, fixture->tags, s, &sample); s++)
			n += diff_filter_sample(&filter, &fixture->input, &sample);
		if (n != known[i].samples)
			fail_msg("%s: %zu", known[i].text, n);
		diff_filter_release(&filter);
	}
}

static void test_diff_filter__rows_and_requests(void **state)
{
	struct ledger_row row = {
		.tag = (char *)"save/run1", .class = (char *)"save", .comm = (char *)"train", .pid = 12
	};
	struct request_row request = { .device = "vda", .class = "save" };
	struct diff_filter filter = parsed("ai_tag=save,process=train");

	(void)state;
	assert_true(diff_filter_row(&filter, &row) && diff_filter_has_tag(&filter));
	assert_true(diff_filter_class(&filter, "save") && !diff_filter_class(&filter, "load"));
	row.comm = (char *)"other";
	assert_false(diff_filter_row(&filter, &row));
	assert_true(diff_filter_request(&filter, &request));
	diff_filter_release(&filter);
	filter = parsed("device!=vda,stall=block_io");
	assert_false(diff_filter_request(&filter, &request));
	assert_true(diff_filter_row(&filter, &row) && !diff_filter_has_tag(&filter));
	diff_filter_release(&filter);
	filter = parsed("process=12");
	assert_true(diff_filter_row(&filter, &row));
	diff_filter_release(&filter);
}

static void test_diff_filter__commas_and_faults(void **state)
{
	static const char *const bad[] = { "", "step", "=x", "!=x", "a=", "a=b,,c=d", "a=b,c" };
	struct diff_filter filter = parsed("ai_tag=a\\,b,stall!=c=d");

	(void)state;
	assert_int_equal(filter.count, 2);
	assert_string_equal(filter.condition[0].value, "a,b");
	assert_string_equal(filter.condition[1].value, "c=d");
	assert_true(filter.condition[1].not &&!filter.condition[0].not );
	diff_filter_release(&filter);
	for (size_t i = 0; i < COUNT(bad); i++) {
		char err[256] = "";

		assert_int_equal(diff_filter_add(&filter, bad[i], err, sizeof(err)), -EINVAL);
		assert_true(*err);
		diff_filter_release(&filter);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_diff_filter__samples, set_up, tear_down),
		cmocka_unit_test(test_diff_filter__rows_and_requests),
		cmocka_unit_test(test_diff_filter__commas_and_faults),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
