/* Tests of file_xattrs.h, with a file of its own and a tracer that notes what it is told. */

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

#include "profiler/format/stamp.h"
#include "profiler/process/mounted_paths.h"
#include "profiler/session/asker_process.h"
#include "profiler/session/file_xattrs.h"
#include "tests/unit/fake_tracer.h"

/* The event of the file at the path, as the kernel's side tells it where the root of the file system is "/". */
static void ask_of(const char *path, struct abi_file_named *named)
{
	const char *end = path + strlen(path), *begin;
	struct stat info;

	*named = (struct abi_file_named){ .event = { .kind = ABI_FILE_ASKED,
		                                     .inode = 4711,
		                                     .generation = 3,
		                                     .tgid = (uint32_t)getpid() } };
	assert_int_equal(stat(path, &info), 0);
	named->event.number = info.st_ino;
	named->event.dev = major(info.st_dev) << 20 | minor(info.st_dev);
	while (end > path) {
		for (begin = end; begin[-1] != '/'; begin--)
			;
		memcpy(named->names + named->event.names_len, begin, (size_t)(end - begin));
		named->event.names_len += (uint32_t)(end - begin) + 1;
		end = begin - 1;
	}
}

/* A /proc in which the file system of that device has its root at "/". */
static void make_proc(char *proc, const char *path)
{
	struct stat info;
	char file[128];
	FILE *out;

	assert_non_null(mkdtemp(proc));
	assert_int_equal(stat(path, &info), 0);
	snprintf(file, sizeof(file), "%s/self", proc);
	assert_int_equal(mkdir(file, 0755), 0);
	snprintf(file, sizeof(file), "%s/self/mountinfo", proc);
	out = fopen(file, "w");
	assert_non_null(out);
	fprintf(out, "1 1 %u:%u / / rw - x y z\n", major(info.st_dev), minor(info.st_dev));
	fclose(out);
}

struct fixture {
	char path[64], proc[64];
	int fd;
	struct mounted_paths *paths;
	struct asker_process *asker;
	struct fake_tracer fake;
	struct file_xattrs *xattrs;
	struct abi_file_named asked, opened;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	snprintf(f->path, sizeof(f->path), "/var/tmp/file-xattrs-XXXXXX");
	snprintf(f->proc, sizeof(f->proc), "/tmp/file-xattrs-XXXXXX");
	f->fd = mkstemp(f->path);
	assert_true(f->fd >= 0);
	fake_tracer_init(&f->fake);
	make_proc(f->proc, f->path);
	f->paths = mounted_paths_new(f->proc);
	f->asker = asker_process_new();
	f->xattrs = file_xattrs_new("user.ai.checkpoint", 5, &f->fake.tracer, f->paths, f->asker);
	ask_of(f->path, &f->asked);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	char command[96];

	file_xattrs_free(f->xattrs);
	asker_process_free(f->asker);
	mounted_paths_free(f->paths);
	close(f->fd);
	unlink(f->path);
	snprintf(command, sizeof(command), "rm -r %s", f->proc);
	assert_int_equal(system(command), 0);
	free(f);
	return 0;
}

/* Whether it turns out to be a file that is tagged and written. */
static bool is_tagged(struct fixture *f)
{
	struct pollfd fd = { .fd = asker_process_fd(f->asker), .events = POLLIN };
	struct file_answer answer;

	file_xattrs_asked(f->xattrs, &f->asked.event);
	assert_int_equal(poll(&fd, 1, 10000), 1);
	assert_true(asker_process_take(f->asker, &answer));
	return file_xattrs_answered(f->xattrs, &answer, &f->opened);
}

static uint64_t counter(struct fixture *f, const char *name)
{
	struct stamp *stamp = stamp_new();
	uint64_t n;

	assert_int_equal(file_xattrs_describe(f->xattrs, stamp), 0);
	n = stamp_counter(stamp, name);
	stamp_free(stamp);
	return n;
}

static void test_file_xattrs__asked(void **state)
{
	struct fixture *f = *state;

	file_xattrs_tick(f->xattrs);
	assert_true(f->fake.xattr_asks > 0);
	f->asked.event.flags = ABI_FILE_WRITABLE;
	assert_false(is_tagged(f));
	assert_int_equal(f->fake.tagged_inode, 0);
	if (fsetxattr(f->fd, "user.ai.checkpoint", "x", 1, 0)) {
		print_message(
		        "the file system of /var/tmp has no xattrs: only the answer \"no\" was tested\n");
		return;
	}
	f->asked.event.number++; /* another file has the name */
	assert_false(is_tagged(f));
	assert_int_equal(counter(f, "file_xattrs_unread"), 1);
	f->asked.event.number--;
	assert_true(is_tagged(f));
	assert_int_equal(f->fake.tagged_inode, 4711);
	assert_int_equal(f->fake.tagged_file.number, f->asked.event.number);
	assert_int_equal(f->fake.tagged_file.generation, 3);
	assert_int_equal(f->fake.tagged_file.folder, ABI_XATTR_FOLDER);
	assert_int_equal(f->opened.event.kind, ABI_FILE_OPENED);
	assert_int_equal(f->opened.event.source, 5);
	assert_memory_equal(f->opened.names, f->asked.names, f->asked.event.names_len);
	f->asked.event.flags = 0; /* to be read */
	f->fake.tagged_inode = 0;
	assert_false(is_tagged(f));
	assert_int_equal(f->fake.tagged_inode, 4711);
	assert_int_equal(counter(f, "file_xattrs_unread"), 0);
	assert_int_equal(f->fake.asked_again, 0);
}

/* What nobody can look at now is asked again when it is opened again. */
static void test_file_xattrs__refused(void **state)
{
	struct fixture *f = *state;
	struct file_answer answer = { .kind = FILE_HAS_XATTR, .refused = true, .result = FILE_SUM_GONE };
	struct pollfd fd = { .fd = asker_process_fd(f->asker), .events = POLLIN };

	answer.context_size = sizeof(f->asked.event) + f->asked.event.names_len;
	memcpy(answer.context, &f->asked, answer.context_size);
	assert_false(file_xattrs_answered(f->xattrs, &answer, &f->opened));
	assert_int_equal(f->fake.asked_again, 4711);
	f->fake.asked_again = 0;
	assert_int_equal(kill((pid_t)asker_process_pid(f->asker), SIGKILL), 0);
	assert_int_equal(poll(&fd, 1, 10000), 1);
	file_xattrs_asked(f->xattrs, &f->asked.event);
	assert_int_equal(f->fake.asked_again, 4711);
	assert_true(counter(f, "file_xattrs_refused") >= 2);
	answer.context_size = 1;
	assert_false(file_xattrs_answered(f->xattrs, &answer, &f->opened));
	file_xattrs_free(f->xattrs);
	f->xattrs = file_xattrs_new("user.x", 5, &f->fake.tracer, f->paths, NULL);
	file_xattrs_asked(f->xattrs, &f->asked.event);
	assert_int_equal(counter(f, "file_xattrs_refused"), 1);
}

/* It was killed with a question: that one is counted, and no more are allowed. */
static void test_file_xattrs__nobody_looks(void **state)
{
	struct fixture *f = *state;
	struct pollfd fd = { .fd = asker_process_fd(f->asker), .events = POLLIN };
	struct file_answer answer;

	assert_false(is_tagged(f));
	kill((pid_t)asker_process_pid(f->asker), SIGSTOP);
	file_xattrs_asked(f->xattrs, &f->asked.event);
	assert_int_equal(counter(f, "file_xattrs_refused"), 0);
	kill((pid_t)asker_process_pid(f->asker), SIGKILL);
	assert_int_equal(poll(&fd, 1, 10000), 1);
	assert_false(asker_process_take(f->asker, &answer));
	f->fake.xattr_asks = 0;
	file_xattrs_tick(f->xattrs);
	assert_int_equal(f->fake.xattr_asks, 0);
	assert_int_equal(counter(f, "file_xattrs_refused"), 1);
	assert_int_equal(counter(f, "file_xattrs_refused"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_file_xattrs__asked, setup, teardown),
		cmocka_unit_test_setup_teardown(test_file_xattrs__refused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_file_xattrs__nobody_looks, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
