/* Tests of object_cache.h: files with one build-id, and too few descriptors. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#include "symbolizer/symbolizer.h"
#include "tests/unit/compile_program.h"
#include "tests/unit/need_root.h"

#define NOBODY 65534
/* Of another length than the others, so that its file is. */
#define LATER "later_function_whose_file_is_larger_than_those_of_the_others_as_its_name_is"

static struct symbolizer *s;

/* A library with one function of that name, and the build-id that the others have; by whom, if not us. */
static uint64_t make_library(const char *name, const char *function, int owner)
{
	char command[256], line[256] = "";
	FILE *nm;

	assert_int_equal(shell("echo 'int %s(int n) { return n * 7; }' | cc -g0 -O1 -shared -fPIC "
	                       "-Wl,--build-id=0x%040d -o '%s/%s' -x c -",
	                       function, 1, program_dir, name),
	                 0);
	if (owner)
		assert_int_equal(shell("chown %d '%s/%s'", owner, program_dir, name), 0);
	snprintf(command, sizeof(command), "nm '%s/%s' | grep ' %s$'", program_dir, name, function);
	nm = popen(command, "r");
	assert_non_null(fgets(line, sizeof(line), nm));
	pclose(nm);
	return strtoull(line, NULL, 16);
}

static const char *function_in(struct sym_process *p, const char *name, uint64_t base, uint64_t address)
{
	struct sym_result r;
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", program_dir, name);
	assert_int_equal(symbolizer_process_map(p, base, base + 0x10000, 0, 0, 0, 0, path), 0);
	assert_int_equal(symbolizer_user(p, base + address, false, &r), 0);
	return r.frames[0].function;
}

/* Files with one build-id and one size are read once, but only those of one writer. */
static void test_object_cache__one_build_id(void **state)
{
	struct sym_process *p = symbolizer_process(s, 4000000, 1);
	struct symbolizer_stats stats;
	uint64_t address;

	(void)state;
	need_user_root("it gives a file away");
	address = make_library("forged", "evil_function", NOBODY);
	assert_int_equal(make_library("sound", "good_function", 0), address);
	assert_int_equal(shell("cp '%s/sound' '%s/twin'", program_dir, program_dir), 0);
	assert_int_equal(
	        shell("cp '%s/sound' '%s/open'; chmod 666 '%s/open'", program_dir, program_dir, program_dir),
	        0);
	symbolizer_process_exit(p);
	assert_string_equal(function_in(p, "forged", 0x10000, address), "evil_function");
	assert_string_equal(function_in(p, "sound", 0x20000, address), "good_function");
	assert_string_equal(function_in(p, "twin", 0x30000, address), "good_function");
	symbolizer_stats(s, &stats);
	assert_int_equal(stats.files_opened, 2);
	assert_string_equal(function_in(p, "open", 0x40000, address), "good_function");
	symbolizer_stats(s, &stats);
	assert_int_equal(stats.files_opened, 3);
	symbolizer_process_drop(p);
}

/* What fails for want of descriptors is there when there are some again. */
static void test_object_cache__descriptors(void **state)
{
	uint64_t address = make_library("later", LATER, 0);
	struct sym_process *p = symbolizer_process(s, 4000001, 1);
	const struct timespec pause = { .tv_nsec = 150000000 };
	struct rlimit before, none;
	struct sym_result r;

	(void)state;
	symbolizer_process_exit(p);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = (struct rlimit){ .rlim_cur = 0, .rlim_max = before.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_string_not_equal(function_in(p, "later", 0x10000, address), LATER);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	nanosleep(&pause, NULL);
	assert_int_equal(symbolizer_user(p, 0x10000 + address, false, &r), 0);
	assert_string_equal(r.frames[0].function, LATER);
	symbolizer_process_drop(p);
}

static int set_up(void **state)
{
	s = symbolizer_new(NULL);
	return s ? program_dir_make(state) : -1;
}

static int tear_down(void **state)
{
	symbolizer_free(s);
	return program_dir_remove(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_object_cache__one_build_id),
		cmocka_unit_test(test_object_cache__descriptors),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
