/* Tests of checkpoint_files.h and file_names.h: whose event one is, names, and rows. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/config/config.h"
#include "profiler/format/checkpoint_rows.h"
#include "profiler/format/stamp.h"
#include "profiler/process/mounted_paths.h"
#include "profiler/session/checkpoint_files.h"
#include "profiler/session/device_names.h"
#include "profiler/session/file_names.h"
#include "profiler/tags/tag_class.h"

#define DEV 0xfff00123 /* nothing has it mounted: paths are places */
#define MS  1000000

struct fixture {
	struct checkpoint_files_deps deps;
	struct checkpoint_files *files;
	struct checkpoint_rows *rows;
};

static const struct config_tag_files entries[] = { { (char *)"/ck", (char *)"checkpoint" },
	                                           { (char *)"xattr:user.ai", (char *)"model" } };

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	if (!f)
		return -1;
	f->deps = (struct checkpoint_files_deps){ .entries = entries,
		                                  .n_entries = 2,
		                                  .classes = tag_classes_new(100),
		                                  .devices = device_names_new(NULL, NULL),
		                                  .paths = mounted_paths_new("/nosuch") };
	f->files = checkpoint_files_new(&f->deps);
	f->rows = checkpoint_rows_new();
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	checkpoint_rows_free(f->rows);
	checkpoint_files_free(f->files);
	mounted_paths_free(f->deps.paths);
	device_names_free(f->deps.devices);
	tag_classes_free(f->deps.classes);
	free(f);
	return 0;
}

/* An event of the inode, with names "a/b/c" behind it (NULL: none). */
static void add(struct fixture *f, struct abi_file_event event, const char *place)
{
	struct abi_file_named named = { .event = event };
	const char *end = place ? place + strlen(place) : NULL, *begin;

	named.event.dev = DEV;
	named.event.number = event.number ? event.number : event.inode;
	named.event.begin_ns = event.begin_ns ? event.begin_ns : event.end_ns;
	while (end && end > place) {
		for (begin = end; begin > place && begin[-1] != '/'; begin--)
			;
		memcpy(named.names + named.event.names_len, begin, (size_t)(end - begin));
		named.event.names_len += (uint32_t)(end - begin) + 1;
		end = begin > place ? begin - 1 : begin;
	}
	checkpoint_files_add(f->files, &named.event);
}

static void opened(struct fixture *f, uint64_t inode, uint64_t ns, const char *place)
{
	add(f,
	    (struct abi_file_event){
	            .kind = ABI_FILE_OPENED, .flags = ABI_FILE_EMPTY, .inode = inode, .end_ns = ns },
	    place);
}

static void wrote(struct fixture *f, uint64_t inode, uint64_t ns, uint64_t offset)
{
	add(f,
	    (struct abi_file_event){ .kind = ABI_FILE_WROTE,
	                             .inode = inode,
	                             .end_ns = ns,
	                             .offset = offset,
	                             .length = 100,
	                             .result = 100 },
	    NULL);
}

static void synced(struct fixture *f, uint64_t inode, uint64_t begin, uint64_t end)
{
	add(f,
	    (struct abi_file_event){ .kind = ABI_FILE_SYNCED,
	                             .inode = inode,
	                             .begin_ns = begin,
	                             .end_ns = end,
	                             .length = INT64_MAX },
	    NULL);
}

static void renamed(struct fixture *f, uint64_t inode, uint64_t ns, uint32_t flags, const char *from,
                    const char *to)
{
	add(f,
	    (struct abi_file_event){
	            .kind = ABI_FILE_RENAMES, .flags = flags, .inode = inode, .end_ns = ns, .tid = 7 },
	    from);
	add(f,
	    (struct abi_file_event){ .kind = ABI_FILE_RENAMED,
	                             .flags = flags & ABI_FILE_FOLDER,
	                             .inode = inode,
	                             .end_ns = ns + 1,
	                             .tid = 7,
	                             .parent = 500 },
	    to);
}

/* The rows of a window that ends; of the file with that name. */
static const struct checkpoint_file *row_of(struct fixture *f, size_t n, const char *path)
{
	checkpoint_rows_free(f->rows);
	f->rows = checkpoint_rows_new();
	assert_int_equal(checkpoint_files_rows(f->files, f->rows), 0);
	assert_int_equal(checkpoint_rows_count(f->rows), n);
	for (size_t i = 0; i < n; i++)
		if (!strcmp(checkpoint_rows_at(f->rows, i)->path, path))
			return checkpoint_rows_at(f->rows, i);
	return NULL;
}

static void test_checkpoint_files__good(void **state)
{
	struct fixture *f = *state;
	const struct checkpoint_file *row;

	opened(f, 1, 10, "ck/run/a.tmp");
	assert_null(row_of(f, 0, "")); /* nothing was written yet */
	wrote(f, 1, 20, 0);
	synced(f, 1, 30, 40);
	renamed(f, 1, 50, 0, "ck/run/a.tmp", "ck/run/a");
	add(f,
	    (struct abi_file_event){
	            .kind = ABI_FILE_DIR_SYNCED, .inode = 9, .number = 500, .begin_ns = 45, .end_ns = 60 },
	    NULL);
	row = row_of(f, 1, "/ck/run/a");
	assert_non_null(row);
	assert_int_equal(row->folder_synced_ns, 0); /* it began before the rename was over */
	assert_string_equal(row->renamed_from, "/ck/run/a.tmp");
	assert_string_equal(row->class, "checkpoint_write");
	assert_int_equal(row->durable_before_name, CHECKPOINT_DURABLE);
	assert_true(row->synced && row->from_empty);
	assert_int_equal(row->updated_ns - row->begun_ns, 41);
	assert_int_equal(row->sync_end_ns - row->begun_ns, 30);
	assert_null(row_of(f, 0, "")); /* nothing became of it since */
	add(f,
	    (struct abi_file_event){
	            .kind = ABI_FILE_DIR_SYNCED, .inode = 9, .number = 500, .begin_ns = 60, .end_ns = 70 },
	    NULL);
	row = row_of(f, 1, "/ck/run/a");
	assert_int_equal(row->folder_synced_ns - row->begun_ns, 60);
}

static void test_checkpoint_files__named_too_early(void **state)
{
	struct fixture *f = *state;
	const struct checkpoint_file *row;

	opened(f, 1, 10, "a.tmp");
	wrote(f, 1, 20, 0);
	renamed(f, 1, 30, ABI_FILE_DIRTY, "a.tmp", "a");
	synced(f, 1, 40, 50);
	row = row_of(f, 1, "/a");
	assert_int_equal(row->durable_before_name, CHECKPOINT_NOT_DURABLE);
	assert_int_equal(row->reason, CHECKPOINT_STILL_DIRTY);
	assert_true(row->synced);
}

static void test_checkpoint_files__failed_rename(void **state)
{
	struct fixture *f = *state;
	const struct checkpoint_file *row;

	opened(f, 1, 10, "a.tmp");
	wrote(f, 1, 20, 0);
	add(f, (struct abi_file_event){ .kind = ABI_FILE_RENAMES, .inode = 1, .end_ns = 30, .tid = 7 },
	    "a.tmp");
	add(f,
	    (struct abi_file_event){
	            .kind = ABI_FILE_RENAMED, .inode = 1, .end_ns = 31, .tid = 7, .result = -EXDEV },
	    "a.tmp");
	row = row_of(f, 1, "/a.tmp");
	assert_int_equal(row->renames, 0);
	assert_int_equal(row->durable_before_name, CHECKPOINT_NOT_RENAMED);
}

static void test_checkpoint_files__folder_renamed(void **state)
{
	struct fixture *f = *state;
	const struct checkpoint_file *row;

	opened(f, 1, 10, "ck/tmp/a");
	opened(f, 2, 10, "ck/tmp/deep/b");
	opened(f, 3, 10, "ck/tmp2/c");
	for (uint64_t i = 1; i <= 3; i++)
		wrote(f, i, 20, 0);
	synced(f, 1, 30, 40);
	renamed(f, 100, 50, ABI_FILE_FOLDER, "ck/tmp", "ck/step-1");
	row = row_of(f, 3, "/ck/step-1/a");
	assert_int_equal(row->durable_before_name, CHECKPOINT_DURABLE);
	assert_string_equal(row->renamed_from, "/ck/tmp/a");
	/* It is the folder's own folder that is to be synced then. */
	add(f,
	    (struct abi_file_event){
	            .kind = ABI_FILE_DIR_SYNCED, .inode = 9, .number = 500, .begin_ns = 55, .end_ns = 58 },
	    NULL);
	row = row_of(f, 2, "/ck/step-1/a");
	assert_int_equal(row->folder_synced_ns - row->begun_ns, 48);
	wrote(f, 1, 60, 200);
	wrote(f, 2, 60, 200);
	wrote(f, 3, 60, 200);
	row = row_of(f, 3, "/ck/step-1/deep/b");
	assert_int_equal(row->durable_before_name, CHECKPOINT_DURABLE_UNKNOWN);
	assert_int_equal(row->reason, CHECKPOINT_NEVER_SYNCED);
	wrote(f, 3, 70, 300);
	assert_int_equal(row_of(f, 1, "/ck/tmp2/c")->renames, 0);
}

static void begins_rename(struct fixture *f, uint64_t inode, uint64_t ns, uint32_t flags, const char *place)
{
	add(f,
	    (struct abi_file_event){
	            .kind = ABI_FILE_RENAMES, .flags = flags, .inode = inode, .end_ns = ns, .tid = 7 },
	    place);
}

static void ends_rename(struct fixture *f, uint64_t inode, uint64_t ns, uint32_t flags, const char *place)
{
	add(f,
	    (struct abi_file_event){
	            .kind = ABI_FILE_RENAMED, .flags = flags, .inode = inode, .end_ns = ns, .tid = 7 },
	    place);
}

/* Two get each other's names: files, and folders with files in them. */
static void test_checkpoint_files__exchanged(void **state)
{
	struct fixture *f = *state;

	opened(f, 1, 10, "new");
	opened(f, 2, 10, "last");
	opened(f, 3, 10, "a/x");
	opened(f, 4, 10, "b/y");
	for (uint64_t i = 1; i <= 4; i++)
		wrote(f, i, 20, 0);
	synced(f, 2, 21, 22);
	begins_rename(f, 1, 30, ABI_FILE_DIRTY, "new");
	begins_rename(f, 2, 31, 0, "last");
	ends_rename(f, 1, 32, 0, "last");
	ends_rename(f, 2, 33, 0, "new");
	begins_rename(f, 100, 40, ABI_FILE_FOLDER, "a");
	begins_rename(f, 200, 41, ABI_FILE_FOLDER, "b");
	ends_rename(f, 100, 42, ABI_FILE_FOLDER, "b");
	ends_rename(f, 200, 43, ABI_FILE_FOLDER, "a");
	assert_int_equal(row_of(f, 4, "/last")->inode, 1);
	for (size_t i = 0; i < 4; i++) {
		const struct checkpoint_file *row = checkpoint_rows_at(f->rows, i);
		static const char *const paths[] = { "/last", "/new", "/b/x", "/a/y" };
		static const char *const from[] = { "/new", "/last", "/a/x", "/b/y" };

		assert_string_equal(row->path, paths[row->inode - 1]);
		assert_string_equal(row->renamed_from, from[row->inode - 1]);
		assert_int_equal(row->renames, 1);
	}
	assert_int_equal(checkpoint_rows_at(f->rows, 0)->durable_before_name, CHECKPOINT_NOT_DURABLE);
	assert_int_equal(checkpoint_rows_at(f->rows, 1)->durable_before_name, CHECKPOINT_DURABLE);
}

/* What was lost of a file before is none of a later save's. */
static void test_checkpoint_files__lost_before(void **state)
{
	struct fixture *f = *state;
	struct abi_file_event event = {
		.kind = ABI_FILE_WROTE, .inode = 1, .end_ns = 20, .lost = 3, .result = 10
	};

	opened(f, 1, 10, "a");
	add(f, event, NULL);
	assert_int_equal(row_of(f, 1, "/a")->lost, 3);
	add(f,
	    (struct abi_file_event){
	            .kind = ABI_FILE_OPENED, .flags = ABI_FILE_EMPTY, .inode = 1, .end_ns = 30, .lost = 3 },
	    "a");
	event.end_ns = 40;
	add(f, event, NULL);
	assert_int_equal(row_of(f, 1, "/a")->lost, 0);
	event.lost = 5;
	add(f, event, NULL);
	assert_int_equal(row_of(f, 1, "/a")->lost, 2);
}

static void test_checkpoint_files__written_anew(void **state)
{
	struct fixture *f = *state;
	const struct checkpoint_file *row;

	opened(f, 1, 10, "a");
	wrote(f, 1, 20, 0);
	/* O_TRUNC: another save. The difference of the clocks is read for each save, and varies: saves must lie further apart. */
	opened(f, 1, 30 * MS, "a");
	wrote(f, 1, 40 * MS, 0);
	wrote(f, 1, 41 * MS, 100);
	row = row_of(f, 2, "/a");
	assert_int_equal(row->writes, 1);
	assert_int_equal(checkpoint_rows_at(f->rows, 1)->writes, 2);
	opened(f, 1, 50 * MS, "a");
	add(f,
	    (struct abi_file_event){ .kind = ABI_FILE_OPENED, .inode = 1, .number = 77, .end_ns = 60 * MS },
	    "b"); /* another inode there */
	add(f,
	    (struct abi_file_event){
	            .kind = ABI_FILE_WROTE, .inode = 1, .number = 77, .end_ns = 61 * MS, .result = 1 },
	    NULL);
	row = row_of(f, 1, "/b");
	assert_int_equal(row->inode, 77);
	assert_false(row->from_empty);
}

static void test_checkpoint_files__unseen_opening(void **state)
{
	struct fixture *f = *state;
	const struct checkpoint_file *row;

	synced(f, 5, 1, 2);
	assert_null(row_of(f, 0, ""));
	add(f,
	    (struct abi_file_event){
	            .kind = ABI_FILE_WROTE, .inode = 5, .end_ns = 3, .result = 10, .source = 1 },
	    NULL);
	row = row_of(f, 1, "");
	assert_non_null(row);
	assert_string_equal(row->class, "model_write");
	add(f,
	    (struct abi_file_event){
	            .kind = ABI_FILE_WROTE, .inode = 6, .end_ns = 3, .result = 10, .source = 99 },
	    NULL);
	assert_string_equal(row_of(f, 1, "")->class, "");
	add(f, (struct abi_file_event){ .kind = 4711, .inode = 6 }, NULL);
}

static uint64_t dropped(struct fixture *f)
{
	struct stamp *stamp = stamp_new();
	uint64_t n;

	assert_int_equal(checkpoint_files_describe(f->files, stamp), 0);
	n = stamp_counter(stamp, "checkpoint_files_dropped");
	stamp_free(stamp);
	return n;
}

static void test_checkpoint_files__many(void **state)
{
	struct fixture *f = *state;

	for (uint64_t i = 1; i <= CHECKPOINT_FILES_MAX + 10; i++) {
		opened(f, i, i, "a");
		wrote(f, i, i, 0);
	}
	assert_int_equal(dropped(f), 0);
	row_of(f, CHECKPOINT_FILES_MAX + 10, "");
	for (uint64_t i = 1; i <= CHECKPOINT_ROWS_MAX + 10; i++) {
		opened(f, i + 5000, i, "a");
		wrote(f, i + 5000, i, 0);
	}
	/* Told in this window's stamp, as there may be no other. */
	assert_int_equal(dropped(f), 10);
	row_of(f, CHECKPOINT_ROWS_MAX, "");
	assert_int_equal(dropped(f), 0);
	row_of(f, 10, "");
}

static void expect_place(const char *names, size_t len, uint32_t flags, int result, const char *place)
{
	struct abi_file_named named = { .event = { .names_len = (uint32_t)len, .flags = flags } };
	char text[12];

	memcpy(named.names, names, len);
	assert_int_equal(file_names_place(&named.event, text, sizeof(text)), result);
	if (!result)
		assert_string_equal(text, place);
}

static void test_file_names__place(void **state)
{
	(void)state;
	expect_place("a\0run\0ck", 9, 0, 0, "ck/run/a");
	expect_place("a", 2, 0, 0, "a");
	expect_place("a", 2, ABI_FILE_CUT, -EINVAL, NULL);
	expect_place("", 0, 0, -EINVAL, NULL);
	expect_place("abc", 3, 0, -EINVAL, NULL); /* without a NUL */
	expect_place("0123456789", 11, 0, 0, "0123456789");
	expect_place("0123456789a", 12, 0, -ENAMETOOLONG, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_checkpoint_files__good, setup, teardown),
		cmocka_unit_test_setup_teardown(test_checkpoint_files__named_too_early, setup, teardown),
		cmocka_unit_test_setup_teardown(test_checkpoint_files__failed_rename, setup, teardown),
		cmocka_unit_test_setup_teardown(test_checkpoint_files__folder_renamed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_checkpoint_files__written_anew, setup, teardown),
		cmocka_unit_test_setup_teardown(test_checkpoint_files__exchanged, setup, teardown),
		cmocka_unit_test_setup_teardown(test_checkpoint_files__lost_before, setup, teardown),
		cmocka_unit_test_setup_teardown(test_checkpoint_files__unseen_opening, setup, teardown),
		cmocka_unit_test_setup_teardown(test_checkpoint_files__many, setup, teardown),
		cmocka_unit_test(test_file_names__place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
