/* Tests of top_gpu_jobs.h: which rows are shown, in which order, and how. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "profiler/format/json_writer.h"
#include "profiler/loaded/loaded_profiles.h"
#include "profiler/top/top_gpu_jobs.h"

#define MS 1000000ull

static void fill(struct loaded_profiles *input)
{
	static const struct gpu_job_row rows[] = {
		{ "amdgpu",
		  "gfx_0.0.0",
		  "train",
		  10,
		  300 * MS,
		  40 * MS,
		  1,
		  2,
		  { { 10, 10 * MS, 3 }, { 10, 40 * MS, 4 }, { 10, 50 * MS, 5 }, { 10, 200 * MS, 0 } } },
		{ "i915", "rcs0", "tr\x1b[0min", 4, 400 * MS, 200 * MS, 0, 0, { { 2, 4 * MS, 0 } } },
		{ "amdgpu", "sdma0", "", 1, 900 * MS, 900 * MS, 0, 0, { { 0 } } },
	};

	*input = (struct loaded_profiles){ .gpu_jobs = gpu_job_rows_new() };
	assert_non_null(input->gpu_jobs);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		assert_int_equal(gpu_job_rows_add(input->gpu_jobs, &rows[i]), 0);
}

static char *text_of(const struct top_gpu_jobs *jobs, size_t limit, size_t columns, size_t lines)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	assert_int_equal(top_text_gpu_jobs(out, jobs, limit, columns), lines);
	assert_int_equal(fclose(out), 0);
	return text;
}

static void test_top_gpu_jobs__text(void **state)
{
	struct loaded_profiles input;
	struct top_gpu_jobs jobs;
	char *text;

	(void)state;
	fill(&input);
	assert_int_equal(top_gpu_jobs_build(&jobs, &input), 0);
	text = text_of(&jobs, 0, 0, 4);
	assert_string_equal(
	        text,
	        "Whose jobs the GPUs did, and how long one took:\n"
	        "  i915 rcs0         tr\\x1b[0min  4 in 100 ms: 2.00 ms submit, the rest not told apart\n"
	        "  amdgpu gfx_0.0.0  train        10 in 30.0 ms: 1.00 ms submit, 4.00 ms queue, 5.00 ms "
	        "wait, "
	        "20.0 ms run; 3 slow to submit, 4 long in the queue, 5 long behind other jobs, "
	        "1 in the long tail, 2 failed\n"
	        "  amdgpu sdma0      (no tag)     1 in 900 ms: the rest not told apart\n");
	free(text);
	text = text_of(&jobs, 1, 24, 2);
	assert_string_equal(text,
	                    "Whose jobs the GPUs did, and how long one took:\n  i915 rcs0  tr\\x1b[0mi…\n");
	free(text);
	top_gpu_jobs_free(&jobs);
	gpu_job_rows_free(input.gpu_jobs);
}

static void test_top_gpu_jobs__without_rows(void **state)
{
	struct loaded_profiles input = { .gpu_jobs = gpu_job_rows_new() };
	struct top_gpu_jobs jobs;
	char *text;

	(void)state;
	assert_int_equal(top_gpu_jobs_build(&jobs, &input), 0);
	text = text_of(&jobs, 0, 0, 0);
	assert_string_equal(text, "");
	free(text);
	top_gpu_jobs_free(&jobs);
	gpu_job_rows_free(input.gpu_jobs);
}

/* Without the blanks between its words. */
static void squeeze(char *text)
{
	char *to = text;

	for (const char *from = text; *from; from++)
		if (*from != ' ' && *from != '\n')
			*to++ = *from;
	*to = 0;
}

static void test_top_gpu_jobs__json(void **state)
{
	struct loaded_profiles input;
	struct json_writer json;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	assert_non_null(out);
	fill(&input);
	json_begin(&json, out);
	json_object_begin(&json);
	top_json_gpu_jobs(&json, &input);
	json_object_end(&json);
	assert_int_equal(json_end(&json), 0);
	assert_int_equal(fclose(out), 0);
	squeeze(text);
	assert_string_equal(
	        text,
	        "{\"gpu_jobs\":["
	        "{\"driver\":\"amdgpu\",\"ring\":\"gfx_0.0.0\",\"class\":\"train\",\"jobs\":10,\"total_ns\":"
	        "300000000,"
	        "\"p90_ns\":40000000,\"long_tail\":1,\"faults\":2,\"preempted\":null,"
	        "\"submit\":{\"jobs\":10,\"ns\":10000000,\"slow\":3},\"queue\":{\"jobs\":10,\"ns\":40000000,"
	        "\"slow\":4},"
	        "\"wait\":{\"jobs\":10,\"ns\":50000000,\"slow\":5},\"run\":{\"jobs\":10,\"ns\":200000000}},"
	        "{\"driver\":\"amdgpu\",\"ring\":\"sdma0\",\"class\":null,\"jobs\":1,\"total_ns\":900000000,"
	        "\"p90_ns\":900000000,\"long_tail\":0,\"faults\":0,\"preempted\":null,"
	        "\"submit\":null,\"queue\":null,\"wait\":null,\"run\":null},"
	        "{\"driver\":\"i915\",\"ring\":\"rcs0\",\"class\":\"tr\\u001b[0min\",\"jobs\":4,\"total_ns\":"
	        "400000000,"
	        "\"p90_ns\":200000000,\"long_tail\":0,\"faults\":0,\"preempted\":null,"
	        "\"submit\":{\"jobs\":2,\"ns\":4000000,\"slow\":0},\"queue\":null,\"wait\":null,\"run\":null}"
	        "]}");
	free(text);
	gpu_job_rows_free(input.gpu_jobs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_top_gpu_jobs__text),
		cmocka_unit_test(test_top_gpu_jobs__without_rows),
		cmocka_unit_test(test_top_gpu_jobs__json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
