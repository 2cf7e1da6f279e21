/* Tests of top_checkpoints.h: which files are shown, and how. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/format/checkpoint_rows.h"
#include "profiler/format/json_writer.h"
#include "profiler/loaded/loaded_profiles.h"
#include "profiler/top/top_checkpoints.h"

#define MIB (1024ull * 1024)

static void add(struct loaded_profiles *input, const struct checkpoint_file *file)
{
	assert_int_equal(checkpoint_rows_add(input->checkpoints, file), 0);
}

static void fill(struct loaded_profiles *input)
{
	static const struct checkpoint_range range = {
		.offset = 4096, .length = 8192, .first_done_ns = 3, .last_done_ns = 4
	};

	*input = (struct loaded_profiles){ .checkpoints = checkpoint_rows_new() };
	assert_non_null(input->checkpoints);
	add(input, &(struct checkpoint_file){ .path = "/ck/good",
	                                      .inode = 1,
	                                      .written_bytes = MIB,
	                                      .synced = true,
	                                      .sha256 = "ab",
	                                      .sum = CHECKPOINT_SUM_ALONE,
	                                      .syncs = 1,
	                                      .durable_before_name = CHECKPOINT_DURABLE,
	                                      .ranges = &range,
	                                      .n_ranges = 1,
	                                      .extents = 1 });
	add(input, &(struct checkpoint_file){ .path = "/ck/early\n",
	                                      .inode = 2,
	                                      .completed_bytes = 3 * MIB / 2,
	                                      .syncs = 2,
	                                      .durable_before_name = CHECKPOINT_NOT_DURABLE,
	                                      .reason = CHECKPOINT_STILL_DIRTY });
	add(input,
	    &(struct checkpoint_file){ .inode = 3, .short_writes = 1, .failed_writes = 2, .error = 28 });
}

static char *text_of(const struct loaded_profiles *input, bool all, size_t limit, size_t lines)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	assert_int_equal(top_text_checkpoints(out, input, all, limit, 0), lines);
	assert_int_equal(fclose(out), 0);
	return text;
}

static void test_top_checkpoints__wrong_ones(void **state)
{
	struct loaded_profiles input;
	char *text;

	(void)state;
	fill(&input);
	text = text_of(&input, false, 0, 3);
	assert_string_equal(
	        text,
	        "Checkpoint files with something wrong:\n"
	        "  /ck/early\\x0a  1.5 MiB; had its name before its data was on the device (still_dirty); no "
	        "fsync had all of it\n"
	        "  (a file whose name is not known)  0.0 MiB; 1 short write; 2 failed writes: No space left "
	        "on "
	        "device; was not renamed; no fsync of it was seen\n");
	free(text);
	text = text_of(&input, false, 1, 3);
	assert_non_null(strstr(text, "  and 1 more: stallprof top -v FILE\n"));
	free(text);
	checkpoint_rows_free(input.checkpoints);
}

static void test_top_checkpoints__all(void **state)
{
	struct loaded_profiles input, none = { .checkpoints = checkpoint_rows_new() };
	char *text;

	(void)state;
	fill(&input);
	text = text_of(&input, true, 0, 4);
	assert_non_null(strstr(text, "Checkpoint files:\n  /ck/good  1.0 MiB; was on the device before it "
	                             "had its name; its sha256 is known, its xattr has none\n"));
	free(text);
	text = text_of(&none, true, 0, 0);
	assert_string_equal(text, "");
	free(text);
	checkpoint_rows_free(none.checkpoints);
	checkpoint_rows_free(input.checkpoints);
}

static void test_top_checkpoints__sums(void **state)
{
	struct loaded_profiles input = { .checkpoints = checkpoint_rows_new() };
	char *text;

	(void)state;
	add(&input, &(struct checkpoint_file){
	                    .path = "/right", .inode = 1, .sum = CHECKPOINT_SUM_MATCHES, .synced = true });
	add(&input, &(struct checkpoint_file){
	                    .path = "/wrong", .inode = 2, .sum = CHECKPOINT_SUM_DIFFERS, .synced = true });
	text = text_of(&input, false, 0, 2);
	assert_string_equal(text, "Checkpoint files with something wrong:\n"
	                          "  /wrong  0.0 MiB; was not renamed; its sha256 is not its xattr's\n");
	free(text);
	checkpoint_rows_free(input.checkpoints);
}

static void test_top_checkpoints__json(void **state)
{
	struct loaded_profiles input;
	struct json_writer json;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	fill(&input);
	assert_non_null(out);
	json_begin(&json, out);
	json_object_begin(&json);
	top_json_checkpoints(&json, &input);
	json_object_end(&json);
	assert_int_equal(json_end(&json), 0);
	fclose(out);
	assert_non_null(strstr(text, "\"durable_before_name\": \"no\""));
	assert_non_null(strstr(text, "\"offset\": 4096"));
	assert_non_null(strstr(text, "\"sha256\": \"ab\""));
	assert_non_null(strstr(text, "\"sha256_said\": null"));
	assert_non_null(strstr(text, "\"sum\": \"no_xattr\""));
	assert_non_null(strstr(text, "\"sum\": null"));
	free(text);
	checkpoint_rows_free(input.checkpoints);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_top_checkpoints__wrong_ones),
		cmocka_unit_test(test_top_checkpoints__all),
		cmocka_unit_test(test_top_checkpoints__sums),
		cmocka_unit_test(test_top_checkpoints__json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
