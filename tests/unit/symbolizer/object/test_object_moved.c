/*
 * Tests of object_cache.h: an object whose process has ended finds its debug files through the next one. They are in
 * /dev/shm, which has no block device, so that a gate is asked.
 */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "symbolizer/base/file_gate.h"
#include "symbolizer/object/object_cache.h"
#include "tests/unit/compile_program.h"

static struct symbolizer_stats stats;
static struct object_environment env = { .debug_dir = "/nonexistent",
	                                 .max_bytes = (size_t)64 << 20,
	                                 .stats = &stats };
static struct object_cache *cache;
static const int first, second; /* processes */

/* What `library` has of the file a.c, and of b.c. */
#define FIRST_FUNCTION  "a_function"
#define SECOND_FUNCTION "b_function"

static int begin(void **state)
{
	(void)state;
	file_gate_set(NULL);
	stats = (struct symbolizer_stats){ 0 };
	cache = object_cache_new(&env);
	return 0;
}

static int end(void **state)
{
	(void)state;
	object_cache_free(cache);
	return 0;
}

static struct object *get(const char *library, const char *root, const void *opener)
{
	char path[256];
	struct object_place place = { .root = root, .path = path, .opener = opener };
	struct object *o;
	struct stat st;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", program_dir, library);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(object_cache_get(cache, fd, &st, &place, &o), 0);
	return o;
}

static uint64_t address_of(const char *library, const char *function)
{
	char command[256], line[256] = "";
	FILE *nm;

	snprintf(command, sizeof(command), "nm -D '%s/%s' | grep ' %s$'", program_dir, library, function);
	nm = popen(command, "r");
	assert_non_null(fgets(line, sizeof(line), nm));
	pclose(nm);
	return strtoull(line, NULL, 16);
}

static bool has_dwarf(struct object *o, const char *library, const char *function)
{
	struct object_answer answer;

	return object_resolve(o, address_of(library, function), &answer) &&
	       answer.source == SYM_SOURCE_DWARF &&
	       strcmp(answer.frames[answer.n_frames - 1].function, function) == 0;
}

/* A process that waits to be ended; its root folder. */
static pid_t start(char root[64])
{
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
		_exit(0);
	}
	snprintf(root, 64, "/proc/%d/root", (int)pid);
	return pid;
}

static void stop(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Symbols that were all that could be had are not what the next process gets. */
static void test_object_moved__debug_file(void **state)
{
	struct object *o;
	char root[64];
	int asked;

	for (asked = 0; asked < 2; asked++) {
		begin(state);
		stop(start(root));
		o = get("stripped", root, &first);
		assert_true(!asked || !has_dwarf(o, "stripped", FIRST_FUNCTION));
		object_cache_opener_gone(cache, &first);
		assert_ptr_equal(get("stripped", "/proc/self/root", &second), o);
		assert_true(has_dwarf(o, "stripped", FIRST_FUNCTION));
		end(state);
	}
}

/* Whoever is not the first, while the first one lives, is not asked. */
static void test_object_moved__not_yet(void **state)
{
	struct object *o;
	char root[64];

	begin(state);
	stop(start(root));
	o = get("stripped", "/proc/self/root", &first);
	assert_ptr_equal(get("stripped", root, &second), o);
	assert_true(has_dwarf(o, "stripped", FIRST_FUNCTION));
	end(state);
}

static bool answers_but_for_debug_file(void *ctx, uint64_t dev, const char *path)
{
	(void)ctx;
	(void)dev;
	return !strstr(path, "stripped.debug");
}

/* What could be had before is no answer while it is not known whether there is a debug file. */
static void test_object_moved__does_not_answer(void **state)
{
	const struct file_gate gate = { .answers = answers_but_for_debug_file };
	struct object_answer answer;
	struct object *o;
	char root[64];

	begin(state);
	stop(start(root));
	o = get("stripped", root, &first);
	assert_false(has_dwarf(o, "stripped", FIRST_FUNCTION));
	object_cache_opener_gone(cache, &first);
	file_gate_set(&gate);
	assert_ptr_equal(get("stripped", "/proc/self/root", &second), o);
	assert_false(object_resolve(o, address_of("stripped", FIRST_FUNCTION), &answer));
	file_gate_set(NULL);
	assert_true(has_dwarf(o, "stripped", FIRST_FUNCTION));
	end(state);
}

/* What has been found is kept, with the answers. */
static void test_object_moved__nothing_missed(void **state)
{
	struct object_answer before, after;
	struct object *o;
	char root[64];
	pid_t pid = start(root);

	begin(state);
	o = get("stripped", root, &first);
	assert_true(object_resolve(o, address_of("stripped", FIRST_FUNCTION), &before));
	object_cache_opener_gone(cache, &first);
	stop(pid);
	get("stripped", "/proc/self/root", &second);
	assert_true(object_resolve(o, address_of("stripped", FIRST_FUNCTION), &after));
	assert_ptr_equal(before.frames, after.frames);
	assert_int_equal(stats.debug_files_opened, 1);
	end(state);
}

/*
 * Split units: the first one's was found, the second one's is found by the next process, whether it was missed before or not.
 * Symbols and lines are known without it, so that it is the counters that tell.
 */
static void test_object_moved__split_units(void **state)
{
	struct object *o;
	char root[64];
	pid_t pid;
	unsigned int asked;

	for (asked = 0; asked < 2; asked++) {
		begin(state);
		pid = start(root);
		o = get("split", root, &first);
		assert_true(has_dwarf(o, "split", FIRST_FUNCTION));
		stop(pid);
		assert_int_equal(stats.split_files_opened, 1);
		assert_true(!asked || has_dwarf(o, "split", SECOND_FUNCTION));
		assert_int_equal(stats.split_files_missing, asked);
		object_cache_opener_gone(cache, &first);
		get("split", "/proc/self/root", &second);
		assert_true(has_dwarf(o, "split", SECOND_FUNCTION));
		assert_int_equal(stats.split_files_opened, 2);
		assert_true(has_dwarf(o, "split", FIRST_FUNCTION));
		assert_int_equal(stats.split_files_missing, asked);
		end(state);
	}
}

static int set_up(void **state)
{
	(void)state;
	snprintf(program_dir, sizeof(program_dir), "/dev/shm/stallprof-test-XXXXXX");
	return !mkdtemp(program_dir) ||
	       shell("cd '%s' && for i in a b; do "
	             "echo \"int ${i}_function(int n) { return n * 7; }\" > $i.c; done && "
	             "cc -g -gsplit-dwarf -O1 -shared -fPIC -o split a.c b.c && "
	             "cc -g -O1 -shared -fPIC -o stripped a.c b.c && "
	             "objcopy --only-keep-debug stripped stripped.debug && "
	             "strip --strip-all stripped && objcopy --add-gnu-debuglink=stripped.debug stripped",
	             program_dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_object_moved__debug_file),
		cmocka_unit_test(test_object_moved__not_yet),
		cmocka_unit_test(test_object_moved__does_not_answer),
		cmocka_unit_test(test_object_moved__nothing_missed),
		cmocka_unit_test(test_object_moved__split_units),
	};

	return cmocka_run_group_tests(tests, set_up, program_dir_remove);
}
