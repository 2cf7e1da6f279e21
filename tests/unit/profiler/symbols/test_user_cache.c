/* Tests of user_cache.h: where the cache folder is. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <sys/stat.h>

#include "profiler/symbols/user_cache.h"
#include "tests/unit/compile_program.h"

static void test_user_cache__where(void **state)
{
	char path[256], expected[256];
	struct stat st;

	(void)state;
	setenv("HOME", program_dir, 1);
	setenv("XDG_CACHE_HOME", "/somewhere", 1);
	assert_true(user_cache_path("stallprof", path, sizeof(path)));
	assert_string_equal(path, "/somewhere/stallprof");
	/* The specification wants a relative path to be passed over. */
	setenv("XDG_CACHE_HOME", "somewhere", 1);
	assert_true(user_cache_path("stallprof", path, sizeof(path)));
	snprintf(expected, sizeof(expected), "%s/.cache/stallprof", program_dir);
	assert_string_equal(path, expected);
	assert_int_equal(stat(path, &st), -1);
	*strrchr(expected, '/') = 0;
	assert_int_equal(stat(expected, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
}

static void test_user_cache__nowhere(void **state)
{
	char path[64], theirs[256];

	(void)state;
	unsetenv("XDG_CACHE_HOME");
	unsetenv("HOME");
	assert_false(user_cache_path("stallprof", path, sizeof(path)));
	/* Of another user, as under `sudo -E`. */
	snprintf(theirs, sizeof(theirs), "%s/theirs", program_dir);
	assert_int_equal(mkdir(theirs, 0777), 0);
	if (geteuid() == 0)
		assert_int_equal(chown(theirs, 65534, 65534), 0);
	setenv("HOME", geteuid() ? "/" : theirs, 1);
	assert_false(user_cache_path("stallprof", path, sizeof(path)));
	assert_int_equal(rmdir(theirs), 0);
	setenv("XDG_CACHE_HOME", "/a-name-that-fits-but-for-what-is-put-behind-it-in-the-end", 1);
	assert_false(user_cache_path("stallprof", path, sizeof(path)));
	assert_true(user_cache_path("s", path, sizeof(path)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_user_cache__where),
		cmocka_unit_test(test_user_cache__nowhere),
	};

	return cmocka_run_group_tests(tests, program_dir_make, program_dir_remove);
}
