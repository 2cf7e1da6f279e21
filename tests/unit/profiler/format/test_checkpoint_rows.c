/* Tests of checkpoint_rows.h: the latest row of a file counts, and the way through a profile's notes. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "pprof/profile.h"
#include "profiler/format/checkpoint_rows.h"

static struct profile *new_profile(void)
{
	static const struct profile_value_type type = { "delay", "nanoseconds" };
	struct profile *profile = profile_new(&type, 1, type, 1, 1 << 24);

	assert_non_null(profile);
	return profile;
}

static const struct checkpoint_range some_ranges[] = { { 0, 8192, 20, 30 }, { 16384, 4096, 0, 0 } };

static struct checkpoint_file some_file(void)
{
	return (struct checkpoint_file){ .path = "/mnt/ck pt/a",
		                         .renamed_from = "/mnt/ck pt/a.tmp",
		                         .device = "vda1",
		                         .class = "checkpoint_write",
		                         .inode = 12,
		                         .begun_ns = 17,
		                         .updated_ns = 99,
		                         .from_empty = true,
		                         .writes = 2,
		                         .written_bytes = 12288,
		                         .short_writes = 1,
		                         .error = 28,
		                         .out_of_order = 3,
		                         .folder_synced_ns = 98,
		                         .durable_before_name = CHECKPOINT_NOT_DURABLE,
		                         .reason = CHECKPOINT_STILL_DIRTY,
		                         .sha256 = "ab",
		                         .sha256_said = "cd",
		                         .sum = CHECKPOINT_SUM_DIFFERS,
		                         .extents = 2,
		                         .ranges = some_ranges,
		                         .n_ranges = 2 };
}

static void test_checkpoint_rows__latest_counts(void **state)
{
	struct checkpoint_rows *rows = checkpoint_rows_new();
	struct checkpoint_file file = some_file();

	(void)state;
	assert_int_equal(checkpoint_rows_add(rows, &file), 0);
	file.updated_ns = 98;
	file.writes = 1;
	assert_int_equal(checkpoint_rows_add(rows, &file), 0);
	assert_int_equal(checkpoint_rows_count(rows), 1);
	assert_int_equal(checkpoint_rows_at(rows, 0)->writes, 2);
	file.updated_ns = 100;
	file.writes = 3;
	file.n_ranges = 0;
	assert_int_equal(checkpoint_rows_add(rows, &file), 0);
	assert_int_equal(checkpoint_rows_count(rows), 1);
	assert_int_equal(checkpoint_rows_at(rows, 0)->writes, 3);
	assert_int_equal(checkpoint_rows_at(rows, 0)->n_ranges, 0);
	file.begun_ns = 101; /* written anew */
	file.path = NULL;
	assert_int_equal(checkpoint_rows_add(rows, &file), 0);
	assert_int_equal(checkpoint_rows_count(rows), 2);
	assert_string_equal(checkpoint_rows_at(rows, 1)->path, "");
	assert_null(checkpoint_rows_at(rows, 2));
	checkpoint_rows_free(rows);
}

static void test_checkpoint_rows__through_notes(void **state)
{
	struct checkpoint_rows *rows = checkpoint_rows_new(), *read = checkpoint_rows_new();
	struct checkpoint_file file = some_file();
	struct profile *profile = new_profile();
	const struct checkpoint_file *back;
	size_t malformed = 0;

	(void)state;
	assert_int_equal(checkpoint_rows_add(rows, &file), 0);
	assert_int_equal(checkpoint_rows_to_notes(rows, profile), 0);
	assert_string_equal(
	        profile_note(profile, 0),
	        "stallprof.checkpoint path=\"/mnt/ck pt/a\" from=\"/mnt/ck pt/a.tmp\" device=vda1 "
	        "class=checkpoint_write sha256=ab sha256_said=cd inode=12 begun=17 updated=99 writes=2 "
	        "written=12288 "
	        "short=1 out_of_order=3 folder_synced=98 extents=2 error=28 from_empty=1 durable=no "
	        "reason=still_dirty sum=differs ranges=0+8192:20-30,16384+4096");
	assert_int_equal(checkpoint_rows_from_notes(read, profile, &malformed), 0);
	assert_int_equal(malformed, 0);
	assert_int_equal(checkpoint_rows_count(read), 1);
	back = checkpoint_rows_at(read, 0);
	assert_string_equal(back->path, file.path);
	assert_string_equal(back->renamed_from, file.renamed_from);
	assert_int_equal(back->error, 28);
	assert_true(back->from_empty && !back->synced);
	assert_int_equal(back->durable_before_name, CHECKPOINT_NOT_DURABLE);
	assert_int_equal(back->reason, CHECKPOINT_STILL_DIRTY);
	assert_int_equal(back->sum, CHECKPOINT_SUM_DIFFERS);
	assert_string_equal(back->sha256, "ab");
	assert_string_equal(back->sha256_said, "cd");
	assert_int_equal(back->n_ranges, 2);
	assert_int_equal(back->ranges[0].last_done_ns, 30);
	assert_int_equal(back->ranges[1].offset, 16384);
	profile_free(profile);
	checkpoint_rows_free(read);
	checkpoint_rows_free(rows);
}

static void test_checkpoint_rows__malformed_lines(void **state)
{
	static const char *const lines[] = {
		"stallprof.checkpoint path=/a durable=yes", /* of no inode */
		"stallprof.checkpoint inode=1",             /* durable is missing */
		"stallprof.checkpoint inode=1 durable=maybe",
		"stallprof.checkpoint inode=1 durable=yes reason=none",
		"stallprof.checkpoint inode=1 durable=yes sum=perhaps",
		"stallprof.checkpoint inode=1 durable=yes writes=-1",
		"stallprof.checkpoint inode=1 durable=yes synced=2",
		"stallprof.checkpoint inode=1 durable=yes ranges=0",
		"stallprof.checkpoint inode=1 durable=yes ranges=0+1,",
		"stallprof.checkpoint inode=1 durable=yes ranges=4+4,0+4", /* not in order */
		"stallprof.checkpoint inode=1 durable=yes ranges=0+8,4+4", /* one in another */
		"stallprof.checkpoint inode=1 durable=yes ranges=0+0",
		"stallprof.checkpoint inode=1 durable=yes ranges=0+4:5",
		"stallprof.checkpoint inode=1 durable=yes ranges=18446744073709551615+1",
		"stallprof.checkpoint inode=1 durable=yes ranges=18446744073709551616+1",
	};
	struct checkpoint_rows *rows = checkpoint_rows_new();
	struct profile *profile = new_profile();
	size_t malformed = 0, n = sizeof(lines) / sizeof(*lines);

	(void)state;
	for (size_t i = 0; i < n; i++)
		assert_int_equal(profile_add_note(profile, lines[i]), 0);
	assert_int_equal(profile_add_note(profile, "stallprof.checkpoint inode=1 durable=yes new_key=1"), 0);
	assert_int_equal(checkpoint_rows_from_notes(rows, profile, &malformed), 0);
	assert_int_equal(malformed, n);
	assert_int_equal(checkpoint_rows_count(rows), 1);
	profile_free(profile);
	checkpoint_rows_free(rows);
}

static void test_checkpoint_rows__what_is_wrong(void **state)
{
	struct checkpoint_file fine = { .durable_before_name = CHECKPOINT_DURABLE };
	struct checkpoint_file lost = { .durable_before_name = CHECKPOINT_DURABLE_UNKNOWN,
		                        .reason = CHECKPOINT_EVENTS_LOST };
	struct checkpoint_file never = { .durable_before_name = CHECKPOINT_DURABLE_UNKNOWN,
		                         .reason = CHECKPOINT_NEVER_SYNCED };
	struct checkpoint_file failed = { .failed_syncs = 1 }, file = some_file();

	(void)state;
	assert_false(checkpoint_is_wrong(&fine));
	assert_false(checkpoint_is_wrong(&lost));
	assert_true(checkpoint_is_wrong(&never));
	assert_true(checkpoint_is_wrong(&failed));
	assert_true(checkpoint_is_wrong(&file));
	file.short_writes = 0;
	assert_true(checkpoint_is_wrong(&file));
	fine.sum = CHECKPOINT_SUM_MATCHES;
	assert_false(checkpoint_is_wrong(&fine));
	fine.sum = CHECKPOINT_SUM_DIFFERS;
	assert_true(checkpoint_is_wrong(&fine));
}

static void test_checkpoint_rows__bounds(void **state)
{
	struct checkpoint_rows *rows = checkpoint_rows_new();
	struct checkpoint_file file = { .durable_before_name = CHECKPOINT_DURABLES };

	(void)state;
	assert_int_equal(checkpoint_rows_add(rows, &file), -EINVAL);
	file.durable_before_name = CHECKPOINT_DURABLE;
	file.n_ranges = CHECKPOINT_RANGES_MAX + 1;
	assert_int_equal(checkpoint_rows_add(rows, &file), -EINVAL);
	file.n_ranges = 0;
	file.sum = CHECKPOINT_SUMS;
	assert_int_equal(checkpoint_rows_add(rows, &file), -EINVAL);
	file.sum = CHECKPOINT_SUM_ALONE;
	for (file.inode = 1; file.inode <= CHECKPOINT_ROWS_MAX; file.inode++)
		assert_int_equal(checkpoint_rows_add(rows, &file), 0);
	assert_int_equal(checkpoint_rows_add(rows, &file), -ENOSPC);
	file.inode = 1;
	assert_int_equal(checkpoint_rows_add(rows, &file), 0);
	checkpoint_rows_free(rows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_checkpoint_rows__latest_counts),
		cmocka_unit_test(test_checkpoint_rows__through_notes),
		cmocka_unit_test(test_checkpoint_rows__malformed_lines),
		cmocka_unit_test(test_checkpoint_rows__what_is_wrong),
		cmocka_unit_test(test_checkpoint_rows__bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
