/* Tests of checkpoint_sums.h by way of the table, with real files and the real process that reads them. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "profiler/format/checkpoint_rows.h"
#include "profiler/format/stamp.h"
#include "profiler/process/mounted_paths.h"
#include "profiler/session/checkpoint_files.h"
#include "profiler/session/checkpoint_sums.h"
#include "profiler/session/device_names.h"
#include "profiler/session/asker_process.h"
#include "profiler/tags/tag_class.h"

#define ABC  "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" /* sha256 of "abc" */
#define NONE "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" /* of nothing */

struct fixture {
	char folder[64], path[96], proc[64];
	struct checkpoint_files_deps deps;
	struct checkpoint_files *files;
	struct abi_file_event event; /* of the file */
	uint64_t now_ns;
};

/* A /proc in which the file system of that device has its root at "/". */
static void make_proc(struct fixture *f)
{
	char file[96];
	FILE *out;

	snprintf(f->proc, sizeof(f->proc), "/tmp/checkpoint-sums-XXXXXX");
	assert_non_null(mkdtemp(f->proc));
	snprintf(file, sizeof(file), "%s/self", f->proc);
	assert_int_equal(mkdir(file, 0755), 0);
	snprintf(file, sizeof(file), "%s/self/mountinfo", f->proc);
	out = fopen(file, "w");
	assert_non_null(out);
	fprintf(out, "1 1 %u:%u / / rw - x y z\n", f->event.dev >> 20, f->event.dev & 0xfffff);
	fclose(out);
}

static void write_text(const char *path, const char *text)
{
	FILE *out = fopen(path, "w");

	assert_non_null(out);
	fputs(text, out);
	fclose(out);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct stat info;

	assert_non_null(f);
	snprintf(f->folder, sizeof(f->folder), "/var/tmp/checkpoint-sums-XXXXXX");
	assert_non_null(mkdtemp(f->folder));
	snprintf(f->path, sizeof(f->path), "%s/a", f->folder);
	write_text(f->path, "abc");
	assert_int_equal(stat(f->path, &info), 0);
	f->event = (struct abi_file_event){ .inode = 4711,
		                            .number = info.st_ino,
		                            .dev = major(info.st_dev) << 20 | minor(info.st_dev),
		                            .tgid = (uint32_t)getpid(),
		                            .result = 3 };
	make_proc(f);
	f->deps = (struct checkpoint_files_deps){ .classes = tag_classes_new(100),
		                                  .devices = device_names_new(NULL, NULL),
		                                  .paths = mounted_paths_new(f->proc),
		                                  .asker = asker_process_new() };
	f->files = checkpoint_files_new(&f->deps);
	f->now_ns = 1;
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	char command[256];

	checkpoint_files_free(f->files);
	asker_process_free(f->deps.asker);
	mounted_paths_free(f->deps.paths);
	device_names_free(f->deps.devices);
	tag_classes_free(f->deps.classes);
	snprintf(command, sizeof(command), "rm -r %s %s", f->folder, f->proc);
	assert_int_equal(system(command), 0);
	free(f);
	return 0;
}

/* With the path behind it as names, if any. */
static void add(struct fixture *f, uint32_t kind, const char *path)
{
	struct abi_file_named named = { .event = f->event };
	const char *end = path ? path + strlen(path) : NULL, *begin;

	named.event.kind = kind;
	named.event.end_ns = named.event.begin_ns = f->now_ns++;
	while (end && end > path) {
		for (begin = end; begin[-1] != '/'; begin--)
			;
		memcpy(named.names + named.event.names_len, begin, (size_t)(end - begin));
		named.event.names_len += (uint32_t)(end - begin) + 1;
		end = begin - 1;
	}
	checkpoint_files_add(f->files, &named.event);
}

static void save(struct fixture *f)
{
	add(f, ABI_FILE_OPENED, f->path);
	add(f, ABI_FILE_WROTE, NULL);
	add(f, ABI_FILE_CLOSED, NULL);
}

/* The time comes when it is due. */
static void come_due(struct fixture *f)
{
	checkpoint_files_tick(f->files, f->now_ns);
	f->now_ns += CHECKPOINT_SUM_REST_NS;
	checkpoint_files_tick(f->files, f->now_ns);
}

static void take_answer(struct fixture *f)
{
	struct pollfd fd = { .fd = asker_process_fd(f->deps.asker), .events = POLLIN };
	struct file_answer answer;

	assert_int_equal(poll(&fd, 1, 10000), 1);
	assert_true(asker_process_take(f->deps.asker, &answer));
	checkpoint_files_answered(f->files, &answer);
}

/* What the file's row says. */
static void expect(struct fixture *f, enum checkpoint_sum sum, const char *sha256, const char *said)
{
	struct checkpoint_rows *rows = checkpoint_rows_new();
	const struct checkpoint_file *row;

	assert_int_equal(checkpoint_files_rows(f->files, rows), 0);
	assert_int_equal(checkpoint_rows_count(rows), 1);
	row = checkpoint_rows_at(rows, 0);
	assert_int_equal(row->sum, sum);
	assert_string_equal(row->sha256, sha256);
	assert_string_equal(row->sha256_said, said);
	if (!row->renames)
		assert_int_equal(checkpoint_is_wrong(row), sum == CHECKPOINT_SUM_DIFFERS);
	checkpoint_rows_free(rows);
}

static void test_checkpoint_sums__compared(void **state)
{
	struct fixture *f = *state;

	save(f);
	assert_int_equal(checkpoint_files_unsummed(f->files), 1);
	expect(f, CHECKPOINT_SUM_WAITING, "", "");
	come_due(f);
	assert_int_equal(checkpoint_files_unsummed(f->files), 1);
	take_answer(f);
	assert_int_equal(checkpoint_files_unsummed(f->files), 0);
	expect(f, CHECKPOINT_SUM_ALONE, ABC, ""); /* a row again, as the sum is news */
	if (setxattr(f->path, FILE_SUM_XATTR, ABC, 64, 0)) {
		print_message("not tested: the file system of /var/tmp has no xattrs\n");
		return;
	}
	save(f);
	come_due(f);
	take_answer(f);
	expect(f, CHECKPOINT_SUM_MATCHES, ABC, ABC);
	write_text(f->path, "");
	save(f);
	come_due(f);
	take_answer(f);
	expect(f, CHECKPOINT_SUM_DIFFERS, NONE, ABC);
}

/* A write between the close and the answer makes that void. */
static void test_checkpoint_sums__written_meanwhile(void **state)
{
	struct fixture *f = *state;

	save(f);
	add(f, ABI_FILE_WROTE, NULL);
	come_due(f); /* nothing is */
	assert_int_equal(checkpoint_files_unsummed(f->files), 0);
	expect(f, CHECKPOINT_NO_SUM, "", "");
	add(f, ABI_FILE_CLOSED, NULL);
	come_due(f);
	add(f, ABI_FILE_WROTE, NULL);
	add(f, ABI_FILE_CLOSED, NULL);
	take_answer(f);
	expect(f, CHECKPOINT_SUM_WAITING, "", "");
	come_due(f);
	take_answer(f);
	expect(f, CHECKPOINT_SUM_ALONE, ABC, "");
	add(f, ABI_FILE_WROTE, NULL);
	expect(f, CHECKPOINT_NO_SUM, "", "");
}

static void test_checkpoint_sums__renamed_meanwhile(void **state)
{
	struct fixture *f = *state;
	char path[128];

	save(f);
	come_due(f);
	take_answer(f);
	expect(f, CHECKPOINT_SUM_ALONE, ABC, "");
	save(f);
	snprintf(path, sizeof(path), "%s/b", f->folder);
	assert_int_equal(rename(f->path, path), 0);
	come_due(f); /* by the old name: the new one is not told yet */
	add(f, ABI_FILE_RENAMES, f->path);
	f->event.result = 0;
	add(f, ABI_FILE_RENAMED, path);
	take_answer(f);
	assert_int_equal(checkpoint_files_unsummed(f->files), 1);
	checkpoint_files_tick(f->files, UINT64_MAX);
	take_answer(f);
	expect(f, CHECKPOINT_SUM_ALONE, ABC, "");
	add(f, ABI_FILE_CLOSED, NULL);
	assert_int_equal(unlink(path), 0);
	come_due(f);
	take_answer(f);
	expect(f, CHECKPOINT_SUM_UNREAD, "", "");
}

static void test_checkpoint_sums__refused(void **state)
{
	struct fixture *f = *state;
	struct stamp *stamp = stamp_new();
	struct pollfd fd = { .fd = asker_process_fd(f->deps.asker), .events = POLLIN };

	add(f, ABI_FILE_OPENED, f->path);
	add(f, ABI_FILE_CLOSED, NULL); /* nothing was written */
	assert_int_equal(checkpoint_files_unsummed(f->files), 0);
	save(f);
	kill((pid_t)asker_process_pid(f->deps.asker), SIGKILL);
	assert_int_equal(poll(&fd, 1, 10000), 1);
	come_due(f);
	expect(f, CHECKPOINT_SUM_REFUSED, "", "");
	assert_int_equal(checkpoint_files_describe(f->files, stamp), 0);
	assert_int_equal(stamp_counter(stamp, "checkpoint_sums_refused"), 1);
	stamp_free(stamp);
	checkpoint_files_tick(NULL, 1);
}

/* It was killed while it read a file: neither that one nor what is closed later is waited for. */
static void test_checkpoint_sums__nobody_reads(void **state)
{
	struct fixture *f = *state;
	struct pollfd fd = { .fd = asker_process_fd(f->deps.asker), .events = POLLIN };
	struct file_answer answer;

	save(f);
	kill((pid_t)asker_process_pid(f->deps.asker), SIGSTOP);
	come_due(f);
	expect(f, CHECKPOINT_SUM_WAITING, "", "");
	kill((pid_t)asker_process_pid(f->deps.asker), SIGKILL);
	assert_int_equal(poll(&fd, 1, 10000), 1);
	assert_false(asker_process_take(f->deps.asker, &answer));
	checkpoint_files_tick(f->files, f->now_ns);
	assert_int_equal(checkpoint_files_unsummed(f->files), 0);
	expect(f, CHECKPOINT_SUM_REFUSED, "", "");
	save(f);
	come_due(f);
	assert_int_equal(checkpoint_files_unsummed(f->files), 0);
	expect(f, CHECKPOINT_SUM_REFUSED, "", "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_checkpoint_sums__compared, setup, teardown),
		cmocka_unit_test_setup_teardown(test_checkpoint_sums__written_meanwhile, setup, teardown),
		cmocka_unit_test_setup_teardown(test_checkpoint_sums__renamed_meanwhile, setup, teardown),
		cmocka_unit_test_setup_teardown(test_checkpoint_sums__refused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_checkpoint_sums__nobody_reads, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
