/* Tests of cgroup_filter.h: a path becomes an id, and another one when the cgroup is made anew. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <mntent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profiler/config/config.h"
#include "profiler/tracer/cgroup_filter.h"
#include "tests/unit/fake_tracer.h"
#include "tests/unit/need_root.h"

static struct fake_tracer fake;
static char said[512];
static unsigned int n_said;

/* What the kernel is made to answer. */
static struct {
	int result;
	uint64_t id;
} answer;

static int find(const char *path, uint64_t *id)
{
	assert_string_equal(path, "/");
	if (!answer.result)
		*id = answer.id;
	return answer.result;
}

static void say(const char *line)
{
	n_said++;
	snprintf(said, sizeof(said), "%s", line);
}

static int reset(void **state)
{
	(void)state;
	fake_tracer_init(&fake);
	said[0] = 0;
	n_said = 0;
	answer.result = 0;
	answer.id = 100;
	return 0;
}

/* A filter for the folder "/", whose id is what `answer` says. */
static struct cgroup_filter chosen(void)
{
	char *folder = (char[]){ "/" }, err[512] = "";
	const struct config_filters filters = { .cgroups = &folder, .cgroup_count = 1 };
	struct cgroup_filter filter = { .find = find };

	assert_int_equal(cgroup_filter_choose(&filter, &filters, err, sizeof(err)), 0);
	filter.given = "/train.service";
	return filter;
}

static bool hold(struct cgroup_filter *filter)
{
	return cgroup_filter_hold(filter, &fake.tracer, say);
}

static void test_cgroup_filter__none(void **state)
{
	const struct config_filters filters = { 0 };
	struct cgroup_filter filter = { .find = find };
	char err[512] = "";

	(void)state;
	assert_int_equal(cgroup_filter_choose(&filter, &filters, err, sizeof(err)), 0);
	assert_int_equal(filter.id, 0);
	assert_false(hold(&filter));
	assert_int_equal(fake.cgroup, 0);
	assert_int_equal(n_said, 0);
}

static void test_cgroup_filter__that_cannot_be_obeyed(void **state)
{
	char *cgroups[] = { (char[]){ "/" }, (char[]){ "/b" } };
	uint32_t pid = 1;
	const struct config_filters two = { .cgroups = cgroups, .cgroup_count = 2 },
	                            pids = { .pids = &pid, .pid_count = 1 },
	                            one = { .cgroups = cgroups, .cgroup_count = 1 };
	struct cgroup_filter filter = { .find = find };
	char err[512] = "";

	(void)state;
	assert_int_equal(cgroup_filter_choose(&filter, &two, err, sizeof(err)), -ENOTSUP);
	assert_int_equal(cgroup_filter_choose(&filter, &pids, err, sizeof(err)), -ENOTSUP);
	answer.result = -ENOENT;
	assert_int_equal(cgroup_filter_choose(&filter, &one, err, sizeof(err)), -EINVAL);
	assert_string_equal(err, "cgroup /: No such file or directory");
	answer.result = -ENOTDIR;
	assert_int_equal(cgroup_filter_choose(&filter, &one, err, sizeof(err)), -EINVAL);
	assert_non_null(strstr(err, "cgroup /: not in a cgroup v2 mount"));
}

static void test_cgroup_filter__that_stays(void **state)
{
	struct cgroup_filter filter = chosen();

	(void)state;
	assert_int_equal(filter.id, 100);
	for (int i = 0; i < 3; i++)
		assert_false(hold(&filter));
	assert_int_equal(fake.cgroup, 0); /* it is not told what it knows */
	assert_int_equal(n_said, 0);
}

/* Removed and made anew between two looks: nobody needs to be told. */
static void test_cgroup_filter__made_anew(void **state)
{
	struct cgroup_filter filter = chosen();

	(void)state;
	answer.id = 200;
	assert_true(hold(&filter));
	assert_int_equal(fake.cgroup, 200);
	assert_true(hold(&filter)); /* once more for those that were between tag and exec */
	assert_false(hold(&filter));
	assert_int_equal(n_said, 0);
}

static void test_cgroup_filter__gone_for_a_while(void **state)
{
	struct cgroup_filter filter = chosen();

	(void)state;
	for (int round = 1; round < 3; round++) {
		answer.result = -ENOENT;
		for (int i = 0; i < 3; i++)
			assert_false(hold(&filter));
		assert_int_equal(n_said, 2 * round - 1);
		assert_string_equal(
		        said, "cgroup /train.service is gone: nothing is tagged until it is there again");
		answer.result = 0;
		answer.id++;
		assert_true(hold(&filter));
		assert_int_equal(fake.cgroup, answer.id);
		assert_int_equal(n_said, 2 * round);
		assert_string_equal(said,
		                    "cgroup /train.service is there again: what is tagged in it is seen");
		hold(&filter);
		assert_false(hold(&filter));
	}
	assert_int_equal(n_said, 4);
}

/* Nothing is known of the cgroup then. */
static void test_cgroup_filter__cannot_be_looked_at(void **state)
{
	struct cgroup_filter filter = chosen();

	(void)state;
	answer.result = -ENOMEM;
	assert_false(hold(&filter));
	assert_int_equal(n_said, 0);
	assert_int_equal(filter.id, 100);
}

/* Where a cgroup v2 is mounted; returns its length, 0: nowhere. */
static size_t find_mount(char *path, size_t size)
{
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	struct mntent *mount;
	size_t len = 0;

	while (mounts && !len && (mount = getmntent(mounts))) {
		if (!strcmp(mount->mnt_type, "cgroup2"))
			len = (size_t)snprintf(path, size, "%s", mount->mnt_dir);
	}
	if (mounts)
		endmntent(mounts);
	return len;
}

/* With the kernel's answers, which are the folders' inode numbers; by a path without the mount, as in /proc/PID/cgroup. */
static void test_cgroup_filter__real(void **state)
{
	char path[4096], *name, err[512] = "";
	size_t len = find_mount(path, sizeof(path) - 64);
	const struct config_filters filters = { .cgroups = &name, .cgroup_count = 1 };
	struct cgroup_filter filter = { 0 };
	struct stat st;

	(void)state;
	need_user_root("makes a cgroup");
	if (!len)
		skip_for("no cgroup v2 is mounted");
	name = path + len;
	snprintf(name, 64, "/stallprof-filter-test.%d", getpid());
	if (mkdir(path, 0755))
		skip_for("no cgroup can be made");
	assert_int_equal(cgroup_filter_choose(&filter, &filters, err, sizeof(err)), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(filter.id, st.st_ino);
	assert_false(hold(&filter));
	assert_int_equal(rmdir(path), 0);
	assert_false(hold(&filter));
	assert_int_equal(n_said, 1);
	assert_int_equal(mkdir(path, 0755), 0);
	assert_true(hold(&filter));
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(fake.cgroup, st.st_ino);
	assert_int_equal(n_said, 2);
	assert_int_equal(rmdir(path), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_cgroup_filter__none, reset),
		cmocka_unit_test_setup(test_cgroup_filter__that_cannot_be_obeyed, reset),
		cmocka_unit_test_setup(test_cgroup_filter__that_stays, reset),
		cmocka_unit_test_setup(test_cgroup_filter__made_anew, reset),
		cmocka_unit_test_setup(test_cgroup_filter__gone_for_a_while, reset),
		cmocka_unit_test_setup(test_cgroup_filter__cannot_be_looked_at, reset),
		cmocka_unit_test_setup(test_cgroup_filter__real, reset),
	};

	return cmocka_run_group_tests_name("cgroup_filter", tests, NULL, NULL);
}
