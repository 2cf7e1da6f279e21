/* Tests of report_checkpoints.h: what is said of checkpoint files, and of which first. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/format/checkpoint_rows.h"
#include "profiler/loaded/loaded_profiles.h"
#include "profiler/report/report_checkpoints.h"

#define MS 1000000ull

static struct loaded_profiles input;

static void add(const struct checkpoint_file *file)
{
	assert_int_equal(checkpoint_rows_add(input.checkpoints, file), 0);
}

static int begin(void **state)
{
	(void)state;
	input = (struct loaded_profiles){ .checkpoints = checkpoint_rows_new() };
	return input.checkpoints ? 0 : -1;
}

static int end(void **state)
{
	(void)state;
	checkpoint_rows_free(input.checkpoints);
	return 0;
}

/* The caller frees it. */
static char *text_of(void)
{
	struct report_document document;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	report_document_begin(&document, "t");
	report_checkpoints(&document, &input);
	assert_int_equal(document.err, 0);
	assert_int_equal(report_write_markdown(out, &document), 0);
	report_document_end(&document);
	fclose(out);
	return text;
}

static void test_report_checkpoints__nothing_without_files(void **state)
{
	char *text = text_of();

	(void)state;
	assert_null(strstr(text, "Checkpoint"));
	free(text);
}

static void test_report_checkpoints__says_what_became_of_them(void **state)
{
	char *text;

	(void)state;
	add(&(struct checkpoint_file){ .path = "good.pt",
	                               .class = "ckpt",
	                               .inode = 1,
	                               .writes = 4,
	                               .written_bytes = 2500000,
	                               .extents = 2,
	                               .completions = 7,
	                               .out_of_order = 3,
	                               .first_write_ns = 100 * MS,
	                               .last_write_ns = 110 * MS,
	                               .last_done_ns = 150 * MS,
	                               .sync_end_ns = 160 * MS,
	                               .renamed_ns = 170 * MS,
	                               .syncs = 1,
	                               .synced = true,
	                               .durable_before_name = CHECKPOINT_DURABLE });
	add(&(struct checkpoint_file){ .path = "bad.pt",
	                               .inode = 2,
	                               .short_writes = 1,
	                               .failed_writes = 2,
	                               .error = 28,
	                               .durable_before_name = CHECKPOINT_NOT_DURABLE,
	                               .reason = CHECKPOINT_STILL_DIRTY });
	text = text_of();
	assert_non_null(strstr(text, "2 files were written; with 1 of them something is wrong."));
	assert_true(strstr(text, "bad.pt") < strstr(text, "good.pt"));
	assert_non_null(strstr(
	        text, "1 short write, 2 failed writes (No space left on device); it had its name before"));
	assert_non_null(strstr(text, "pages of it were in memory alone"));
	assert_non_null(strstr(text, "no fsync of it was seen"));
	assert_non_null(strstr(
	        text, "2.5 MB, 4 writes, 2 extents, 3 of 7 completions out of order; all of it was on"));
	assert_non_null(strstr(text, "After the first write: last write 10.0 ms, last completion 50.0 ms, "
	                             "fsync 60.0 ms, rename 70.0 ms."));
	free(text);
}

static void test_report_checkpoints__sums(void **state)
{
	char *text;

	(void)state;
	add(&(struct checkpoint_file){ .path = "right",
	                               .inode = 1,
	                               .sha256 = "aa",
	                               .sha256_said = "aa",
	                               .sum = CHECKPOINT_SUM_MATCHES });
	add(&(struct checkpoint_file){ .path = "wrong",
	                               .inode = 2,
	                               .sha256 = "aa",
	                               .sha256_said = "bb",
	                               .sum = CHECKPOINT_SUM_DIFFERS });
	add(&(struct checkpoint_file){
	        .path = "alone", .inode = 3, .sha256 = "cc", .sum = CHECKPOINT_SUM_ALONE });
	add(&(struct checkpoint_file){ .path = "late", .inode = 4, .sum = CHECKPOINT_SUM_WAITING });
	text = text_of();
	assert_non_null(strstr(text, "4 files were written; with 1 of them something is wrong."));
	assert_non_null(strstr(text, "matches the xattr user.ai.checkpoint (sha256 aa)"));
	assert_non_null(strstr(
	        text, "differs from the one in the xattr user.ai.checkpoint (sha256 aa, the xattr says bb)"));
	assert_non_null(strstr(text, "holds no sha256 to compare with (sha256 cc)"));
	assert_non_null(strstr(text, "its sha256 was not taken before the recording ended."));
	assert_true(strstr(text, "wrong (") < strstr(text, "right ("));
	free(text);
}

static void test_report_checkpoints__a_bounded_number(void **state)
{
	char path[16], *text;

	(void)state;
	for (uint64_t i = 1; i <= 20; i++) {
		snprintf(path, sizeof(path), "file%d", (int)i);
		add(&(struct checkpoint_file){ .path = path, .inode = i, .synced = true });
	}
	text = text_of();
	assert_non_null(strstr(text, "20 files were written; with 0 of them something is wrong."));
	assert_non_null(strstr(text, "file12 "));
	assert_null(strstr(text, "file13 "));
	assert_non_null(strstr(text, "8 more are in"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_report_checkpoints__nothing_without_files, begin, end),
		cmocka_unit_test_setup_teardown(test_report_checkpoints__says_what_became_of_them, begin,
		                                end),
		cmocka_unit_test_setup_teardown(test_report_checkpoints__sums, begin, end),
		cmocka_unit_test_setup_teardown(test_report_checkpoints__a_bounded_number, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
