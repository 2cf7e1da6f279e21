/* Tests of diff.h: rules of how long uses of tags took, use:CLASS. */
#include "tests/unit/diff_fixture.h"

/* A checkpoint in each window, of about so many ms. */
static void fill(struct made_window *window, int w, const void *ms)
{
	window_wait(window, &(struct made_wait){ .function = "write_shard",
	                                         .tag = "save",
	                                         .id = (uint64_t)w + 1,
	                                         .pid = 7,
	                                         .stall = "block_io",
	                                         .ns = (*(const int64_t *)ms + w % 3) * MADE_MS });
}

static void with_saves(struct made *made, int64_t ms)
{
	made_loop(made, fill, &ms);
}

static int status_of(const struct made *base, const struct made *new, const char *rule)
{
	struct compared found;
	int status;

	compare(&found, (struct diff_task){ .place = { base->path, new->path }, .by = TOP_BY_STALL }, rule);
	status = diff_status(&found.diff);
	compared_free(&found);
	return status;
}

static void test_diff_use_rules__outcomes(void **state)
{
	struct made base, more, longer;

	(void)state;
	with_saves(&base, 20);
	with_saves(&more, 24);
	with_saves(&longer, 40);
	assert_int_equal(status_of(&base, &longer, "use:save:+10%"), 1);
	assert_int_equal(status_of(&base, &longer, "use:save:+200%"), 0);
	assert_int_equal(status_of(&longer, &base, "use:save:+10%"), 0);
	/* Of one run each nobody knows by how much runs differ. */
	assert_int_equal(status_of(&base, &more, "use:save:+10%"), 0);
	/* A limit. */
	assert_int_equal(status_of(&base, &more, "use:save>24ms"), 1);
	assert_int_equal(status_of(&base, &more, "use:save>26ms"), 0);
	assert_int_equal(status_of(&base, &longer, "use:train_step:+10%"), 2); /* no ids */
	assert_int_equal(status_of(&base, &longer, "use:nothing:+10%"), 2);
	made_remove(&base);
	made_remove(&more);
	made_remove(&longer);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_diff_use_rules__outcomes) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
