/* Tests of asker_process.h: questions and answers, and a process that hangs, or has ended. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "profiler/session/asker_process.h"
#include "symbolizer/base/clock.h"

#define SECOND_NS 1000000000ULL

static struct file_answer answer;

static bool answered(struct asker_process *asker, int timeout_ms)
{
	struct pollfd fd = { .fd = asker_process_fd(asker), .events = POLLIN };

	return poll(&fd, 1, timeout_ms) == 1 && asker_process_take(asker, &answer);
}

static struct file_identity identity_of(int fd)
{
	struct stat info;

	assert_int_equal(fstat(fd, &info), 0);
	return (struct file_identity){ .number = info.st_ino,
		                       .dev = major(info.st_dev) << 20 | minor(info.st_dev) };
}

static void test_asker_process__answers(void **state)
{
	struct asker_process *asker = asker_process_new();
	char path[] = "/var/tmp/file-asker-XXXXXX";
	int fd = mkstemp(path);
	struct file_question question = { .kind = FILE_HAS_XATTR,
		                          .paths = { "/nosuch/file", path },
		                          .xattr = FILE_SUM_XATTR,
		                          .context = "seven\n",
		                          .context_size = 7 };

	(void)state;
	assert_non_null(asker);
	assert_true(fd >= 0 && write(fd, "abc", 3) == 3);
	question.file = identity_of(fd);
	assert_int_equal(asker_process_ask(asker, &question), 0);
	assert_true(answered(asker, 10000));
	assert_int_equal(answer.kind, FILE_HAS_XATTR);
	assert_int_equal(answer.context_size, 7);
	assert_string_equal(answer.context, "seven\n");
	assert_false(answer.has_xattr || answer.refused);
	assert_int_equal(answer.result, FILE_SUM_TAKEN);
	if (!fsetxattr(fd, FILE_SUM_XATTR, "x", 1, 0)) {
		assert_int_equal(asker_process_ask(asker, &question), 0);
		assert_true(answered(asker, 10000));
		assert_true(answer.has_xattr);
		question.file.number++;
		assert_int_equal(asker_process_ask(asker, &question), 0);
		assert_true(answered(asker, 10000));
		assert_false(answer.has_xattr);
		assert_int_equal(answer.result, FILE_SUM_GONE);
		question.file.number--;
	}
	question.kind = FILE_SUM;
	assert_int_equal(asker_process_ask(asker, &question), 0);
	assert_true(answered(asker, 10000));
	assert_int_equal(answer.kind, FILE_SUM);
	assert_string_equal(answer.sum.sha256,
	                    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	assert_false(answered(asker, 0));
	question.context_size = ASKER_PROCESS_CONTEXT_MAX + 1;
	assert_int_equal(asker_process_ask(asker, &question), -ENAMETOOLONG);
	asker_process_free(asker);
	close(fd);
	unlink(path);
}

static int status_of(pid_t pid)
{
	int status = 0;

	return waitpid(pid, &status, 0) == pid ? status : -1;
}

/* As one does in a system call that nothing ends. */
static void test_asker_process__hangs(void **state)
{
	struct asker_process *asker = asker_process_new();
	const struct file_question question = { .kind = FILE_SUM,
		                                .paths = { "/tmp/x" },
		                                .file = { 1, 2, 3 } };
	pid_t pid = (pid_t)asker_process_pid(asker);
	uint64_t begin_ns;
	int err = 0;

	(void)state;
	assert_int_equal(kill(pid, SIGSTOP), 0);
	begin_ns = monotonic_ns();
	for (int i = 0; i < 1000000 && !err; i++)
		err = asker_process_ask(asker, &question);
	assert_int_equal(err, -EAGAIN);
	assert_false(answered(asker, 0));
	asker_process_free(asker);
	assert_true(monotonic_ns() - begin_ns < 5 * SECOND_NS);
	assert_int_equal(kill(pid, SIGCONT), 0);
	assert_int_equal(status_of(pid), 0); /* as soon as it can */
}

static void test_asker_process__has_ended(void **state)
{
	const struct file_question question = { .kind = FILE_SUM, .paths = { "/tmp/x" } };
	struct asker_process *asker = asker_process_new();
	pid_t pid = (pid_t)asker_process_pid(asker);
	struct pollfd fd = { .fd = asker_process_fd(asker), .events = POLLIN };

	(void)state;
	assert_false(asker_process_has_ended(asker));
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(poll(&fd, 1, 10000), 1);
	assert_false(asker_process_take(asker, &answer));
	assert_true(asker_process_has_ended(asker));
	assert_int_equal(asker_process_ask(asker, &question), -EPIPE);
	assert_int_equal(poll(&fd, 1, 0), 0); /* who waits for it does not spin */
	asker_process_free(asker);
	asker_process_free(NULL);
	assert_int_equal(asker_process_pid(NULL), 0);
}

#define MUCH ((size_t)128 << 20)

/* KiB of memory that are in no file. */
static unsigned int memory_of(uint32_t pid)
{
	char path[64], line[256];
	unsigned int kib = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		sscanf(line, "RssAnon: %u", &kib);
	if (file)
		fclose(file);
	assert_true(kib);
	return kib;
}

/* Signals of the terminal are not for it, it keeps nothing open that others wait for, and no copy of our memory. */
static void test_asker_process__inherits_nothing(void **state)
{
	struct asker_process *asker;
	char byte, *much = malloc(MUCH);
	int ends[2];

	(void)state;
	assert_non_null(much);
	memset(much, 1, MUCH);
	assert_int_equal(pipe(ends), 0);
	asker = asker_process_new();
	kill((pid_t)asker_process_pid(asker), SIGINT);
	kill((pid_t)asker_process_pid(asker), SIGTERM);
	close(ends[1]);
	assert_int_equal(read(ends[0], &byte, 1), 0);
	assert_int_equal(asker_process_ask(
	                         asker, &(struct file_question){ .paths = { "/nosuch" }, .xattr = "user.x" }),
	                 0);
	assert_true(answered(asker, 10000));
	assert_int_equal(much[MUCH / 2], 1);
	assert_true(memory_of((uint32_t)getpid()) >= MUCH / 1024);
	assert_true(memory_of(asker_process_pid(asker)) < MUCH / 2048);
	asker_process_free(asker);
	close(ends[0]);
	free(much);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_asker_process__answers),
		cmocka_unit_test(test_asker_process__hangs),
		cmocka_unit_test(test_asker_process__has_ended),
		cmocka_unit_test(test_asker_process__inherits_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
