/* Tests of silent_mounts.h with a FUSE file system that has no daemon, whose connection is then closed. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <time.h>
#include <unistd.h>

#include "profiler/session/silent_mounts.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/file_gate.h"
#include "tests/unit/need_root.h"

#define SOON_NS 5000000000ULL

static char said[4096];

static void say(const char *line)
{
	size_t n = strlen(said);

	snprintf(said + n, sizeof(said) - n, "%s\n", line);
}

static struct silent_mounts *begin(void)
{
	struct silent_mounts *mounts = silent_mounts_new(say);

	assert_non_null(mounts);
	said[0] = '\0';
	return mounts;
}

/* A file system whose daemon does not answer, and what notices that. */
struct dead_mount {
	char folder[32];
	int fuse; /* closed, it answers with an error */
	struct silent_mounts *mounts;
};

static void dead_mount_begin(struct dead_mount *dead)
{
	char options[64];

	*dead = (struct dead_mount){ .folder = "/tmp/silent-mount-XXXXXX", .mounts = begin() };
	assert_non_null(mkdtemp(dead->folder));
	dead->fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", dead->fuse);
	if (dead->fuse < 0 || mount("dead", dead->folder, "fuse", MS_NOSUID | MS_NODEV, options))
		skip_for("mounts a FUSE file system");
}

/* The descriptor and what notices are gone before. */
static void dead_mount_remove(const struct dead_mount *dead)
{
	umount2(dead->folder, MNT_DETACH);
	rmdir(dead->folder);
}

/* It takes a second until it is said. */
static void wait_for_words(const char *path, const char *words)
{
	uint64_t until = monotonic_ns() + SOON_NS;

	while (!said[0] && monotonic_ns() < until) {
		assert_false(file_gate_path("", path));
		usleep(10000);
	}
	assert_string_equal(said, words);
	assert_false(file_gate_path("", path));
	assert_string_equal(said, words); /* once */
}

static bool answers_soon(const char *path)
{
	uint64_t until = monotonic_ns() + SOON_NS;

	while (!file_gate_path("", path))
		if (monotonic_ns() > until)
			return false;
	return true;
}

static void test_silent_mounts__until_it_answers(void **state)
{
	char path[64], expected[256];
	struct dead_mount dead;
	uint64_t began;

	(void)state;
	dead_mount_begin(&dead);
	snprintf(path, sizeof(path), "%s/file", dead.folder);
	began = monotonic_ns();
	assert_false(file_gate_path("", path));
	assert_true(monotonic_ns() - began < SOON_NS);
	assert_false(file_gate_path("/proc/self/root", path));
	snprintf(expected, sizeof(expected),
	         "the file system of %s does not answer: no more of the files there is read until it does, "
	         "so that stacks, "
	         "names and tags may be missing\n",
	         path);
	assert_string_equal(said, "");
	wait_for_words(path, expected);
	assert_int_equal(silent_mounts_take(dead.mounts), 1);
	assert_int_equal(silent_mounts_take(dead.mounts), 1); /* it still is */
	said[0] = '\0';
	close(dead.fuse);
	assert_true(answers_soon(path)); /* that it is not there is an answer */
	snprintf(expected, sizeof(expected), "the file system of %s answers again\n", path);
	assert_string_equal(said, expected);
	assert_int_equal(silent_mounts_take(dead.mounts), 1); /* it was */
	assert_int_equal(silent_mounts_take(dead.mounts), 0);
	silent_mounts_free(dead.mounts);
	dead_mount_remove(&dead);
}

/* Others are asked, and read, as if nothing were. */
static void test_silent_mounts__one_beside_another(void **state)
{
	struct dead_mount dead;

	(void)state;
	dead_mount_begin(&dead);
	assert_false(file_gate_path("", dead.folder));
	assert_true(file_gate_path("", "/proc/self/exe"));
	assert_true(file_gate_path("", "/bin/true"));
	assert_true(file_gate_path("", "/dev/shm"));
	close(dead.fuse);
	silent_mounts_free(dead.mounts);
	assert_true(file_gate_path("", dead.folder)); /* nobody is asked any more */
	dead_mount_remove(&dead);
}

/* This process's only child. */
static pid_t child(void)
{
	FILE *file = fopen("/proc/thread-self/children", "re");
	int pid = 0;

	if (!file || fscanf(file, "%d", &pid) != 1)
		fail_msg("there is no child");
	fclose(file);
	return pid;
}

/* Ends the process that asks, and waits until something is said of it. Files are read meanwhile, or tried again. */
static void end_process(const char *path)
{
	uint64_t until = monotonic_ns() + SOON_NS;

	said[0] = '\0';
	assert_int_equal(kill(child(), SIGKILL), 0);
	while (!said[0] && monotonic_ns() < until) {
		file_gate_path("", path);
		usleep(1000);
	}
}

static void test_silent_mounts__who_asks_is_started_anew(void **state)
{
	const char *path = "/dev/pts"; /* of a kind that is asked */
	struct silent_mounts *mounts = begin();
	pid_t first = child();

	(void)state;
	assert_true(answers_soon(path));
	end_process(path);
	assert_string_equal(
	        said,
	        "the process that asks file systems whether they answer has ended: another was started\n");
	assert_int_not_equal(child(), first);
	assert_true(answers_soon(path));
	end_process(path); /* once a minute */
	assert_string_equal(said,
	                    "the process that asks file systems whether they answer has ended: one that does "
	                    "not is waited for until another is started, within a minute\n");
	assert_true(file_gate_path("", path));
	silent_mounts_free(mounts);
}

/* What was silent stays so while nobody can be asked, and is asked again then. */
static void test_silent_mounts__a_silent_one_outlives_who_asks(void **state)
{
	struct dead_mount dead;

	(void)state;
	dead_mount_begin(&dead);
	assert_false(file_gate_path("", dead.folder));
	for (int times = 0; times < 2; times++) {
		end_process(dead.folder);
		assert_non_null(strstr(said, "has ended"));
		assert_false(file_gate_path("", dead.folder));
	}
	close(dead.fuse);
	silent_mounts_free(dead.mounts);
	dead_mount_remove(&dead);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_silent_mounts__until_it_answers),
		cmocka_unit_test(test_silent_mounts__one_beside_another),
		cmocka_unit_test(test_silent_mounts__who_asks_is_started_anew),
		cmocka_unit_test(test_silent_mounts__a_silent_one_outlives_who_asks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
