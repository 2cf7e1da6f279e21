/* Tests of object_cache.h: files with one build-id, too few descriptors, and when files are closed. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#include "symbolizer/object/heavy_files.h"
#include "symbolizer/object/object_cache.h"
#include "symbolizer/symbolizer.h"
#include "tests/unit/compile_program.h"
#include "tests/unit/need_root.h"

#define NOBODY 65534
/* Of another length than the others, so that its file is. */
#define LATER "later_function_whose_file_is_larger_than_those_of_the_others_as_its_name_is"

static struct symbolizer *s;
static char debug_dir[128];
static uint64_t now_ns; /* for symbolizer_let_go() */

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

static void map(struct sym_process *p, const char *name, uint64_t base)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", program_dir, name);
	assert_int_equal(symbolizer_process_map(p, base, base + 0x10000, 0, 0, 0, 0, path), 0);
}

static const char *function_in(struct sym_process *p, const char *name, uint64_t base, uint64_t address)
{
	struct sym_result r;

	map(p, name, base);
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

/* Whether we have that file of the folder open, or mapped. */
static bool is_held(const char *name)
{
	char path[256], link[300], target[256], line[512];
	DIR *fds = opendir("/proc/self/fd");
	FILE *maps = fopen("/proc/self/maps", "r");
	struct dirent *entry;
	bool held = false;
	ssize_t n;

	snprintf(path, sizeof(path), "%s/%s", program_dir, name);
	while ((entry = readdir(fds))) {
		snprintf(link, sizeof(link), "/proc/self/fd/%s", entry->d_name);
		n = readlink(link, target, sizeof(target) - 1);
		target[n > 0 ? n : 0] = 0;
		held |= strncmp(target, path, strlen(path)) == 0;
	}
	while (fgets(line, sizeof(line), maps))
		held |= strstr(line, path) != NULL;
	closedir(fds);
	fclose(maps);
	return held;
}

#define OF_PROGRAM "00/00000000000000000000000000000000000002.debug"

/*
 * A program that tells its pid, waits, and ends when we do; and in a debug folder what has been stripped from it, which is mapped when it is
 * read. Returns main()'s address.
 */
static uint64_t make_program(void)
{
	char line[256] = "";
	FILE *nm;

	assert_int_equal(
	        shell("cd '%s' && mkdir -p -m 755 debug/.build-id/00 && "
	              "echo 'int main(void) { return prctl(PR_SET_PDEATHSIG, 9) || "
	              "printf(\"%%d\", getpid()) < 0 || puts(\"\") < 0 || fflush(stdout) || pause(); }' | "
	              "cc -g -O1 -no-pie -include stdio.h -include unistd.h -include sys/prctl.h "
	              "-Wl,--build-id=0x%040d -o program -x c - && "
	              "objcopy --only-keep-debug program debug/.build-id/" OF_PROGRAM " && "
	              "nm program | grep ' main$' > main && strip program",
	              program_dir, 2),
	        0);
	snprintf(line, sizeof(line), "%s/main", program_dir);
	nm = fopen(line, "r");
	assert_non_null(fgets(line, sizeof(line), nm));
	fclose(nm);
	return strtoull(line, NULL, 16);
}

/* What was opened through a process does not outlive it for long, its debug file neither. */
static void test_object_cache__closed_after_its_process(void **state)
{
	uint64_t at = make_program();
	struct sym_process *p;
	struct sym_result r;
	char text[128];
	FILE *program;
	pid_t pid;

	(void)state;
	snprintf(text, sizeof(text), "exec '%s/program'", program_dir);
	program = popen(text, "r");
	assert_non_null(fgets(text, sizeof(text), program));
	pid = (pid_t)strtol(text, NULL, 10);
	p = symbolizer_process(s, (uint32_t)pid, 1);
	assert_int_equal(symbolizer_process_refresh(p), 0);
	assert_int_equal(symbolizer_user(p, at, false, &r), 0);
	assert_string_equal(r.frames[0].function, "main");
	assert_int_equal(r.source, SYM_SOURCE_DWARF);
	symbolizer_let_go(s, now_ns += OBJECT_CACHE_LOOK_NS);
	assert_true(is_held("program"));
	assert_true(is_held("debug/.build-id/" OF_PROGRAM));
	kill(pid, SIGKILL);
	pclose(program);
	symbolizer_process_exit(p);
	symbolizer_let_go(s, now_ns += OBJECT_CACHE_LOOK_NS);
	assert_true(is_held("program")); /* its last stacks may come yet */
	symbolizer_process_drop(p);
	symbolizer_let_go(s, now_ns += OBJECT_CACHE_LOOK_NS);
	assert_false(is_held("program"));
	assert_false(is_held("debug/.build-id/" OF_PROGRAM));
}

/* Another process goes on with a copy of its own; what it opened itself is not opened again. */
static void test_object_cache__closed_though_another_uses_it(void **state)
{
	uint64_t address = make_library("first", "good_function", 0);
	uint64_t other = make_library("other", "a_function_of_the_second_process_alone", 0);
	struct sym_process *first = symbolizer_process(s, 4000002, 1);
	struct sym_process *second = symbolizer_process(s, 4000003, 1);
	struct sym_result r;

	(void)state;
	assert_int_equal(shell("cd '%s' && cp first second", program_dir), 0);
	symbolizer_process_exit(first);
	symbolizer_process_exit(second);
	assert_string_equal(function_in(first, "first", 0x10000, address), "good_function");
	assert_string_equal(function_in(second, "second", 0x10000, address), "good_function");
	assert_string_equal(function_in(second, "other", 0x20000, other),
	                    "a_function_of_the_second_process_alone");
	assert_true(is_held("first") && !is_held("second"));
	symbolizer_process_drop(first);
	symbolizer_let_go(s, now_ns += OBJECT_CACHE_LOOK_NS);
	assert_false(is_held("first"));
	assert_int_equal(shell("rm '%s/other'", program_dir), 0);
	assert_int_equal(symbolizer_user(second, 0x10000 + address, false, &r), 0);
	assert_string_equal(r.frames[0].function, "good_function");
	assert_int_equal(symbolizer_user(second, 0x20000 + other, false, &r), 0);
	assert_string_equal(r.frames[0].function, "a_function_of_the_second_process_alone");
	assert_true(is_held("second"));
	symbolizer_process_drop(second);
}

/* Who has the same file mapped before it is closed takes it over. */
static void test_object_cache__kept_for_the_next_process(void **state)
{
	uint64_t address = make_library("same", "good_function", 0);
	struct sym_process *before = symbolizer_process(s, 4000005, 1);
	struct sym_process *next = symbolizer_process(s, 4000006, 1);
	struct symbolizer_stats first, second;

	(void)state;
	symbolizer_process_exit(before);
	symbolizer_process_exit(next);
	function_in(before, "same", 0x10000, address);
	symbolizer_process_drop(before);
	symbolizer_stats(s, &first);
	assert_string_equal(function_in(next, "same", 0x10000, address), "good_function");
	symbolizer_let_go(s, now_ns += OBJECT_CACHE_LOOK_NS);
	symbolizer_stats(s, &second);
	assert_true(is_held("same"));
	assert_int_equal(second.files_opened, first.files_opened);
	symbolizer_process_drop(next);
	symbolizer_let_go(s, now_ns += OBJECT_CACHE_LOOK_NS);
	assert_false(is_held("same"));
}

/* A program that the process has left for another one, and what it has mapped and does not use. */
static void test_object_cache__closed_when_not_needed(void **state)
{
	uint64_t address = make_library("idle", "good_function", 0), from;
	struct sym_process *p = symbolizer_process(s, 4000004, 1);
	struct sym_result r;

	(void)state;
	symbolizer_process_exit(p);
	function_in(p, "idle", 0x10000, address);
	for (from = now_ns; now_ns - from < 2 * OBJECT_CACHE_IDLE_NS;) {
		symbolizer_user(p, 0x10000 + address, false, &r);
		symbolizer_let_go(s, now_ns += OBJECT_CACHE_LOOK_NS);
		assert_true(is_held("idle"));
	}
	for (from = now_ns; now_ns - from < OBJECT_CACHE_IDLE_NS;) {
		assert_true(is_held("idle"));
		symbolizer_let_go(s, now_ns += OBJECT_CACHE_LOOK_NS);
	}
	assert_false(is_held("idle"));
	symbolizer_user(p, 0x10000 + address, false, &r);
	assert_string_equal(r.frames[0].function, "good_function");
	assert_true(is_held("idle"));
	symbolizer_process_exec(p);
	symbolizer_let_go(s, now_ns += OBJECT_CACHE_LOOK_NS);
	assert_false(is_held("idle"));
	symbolizer_process_drop(p);
}

/* A library whose strings of debug information take 3 MB, and far less in the file. */
static uint64_t make_heavy(const char *name, const char *function)
{
	char line[256] = "", path[256];
	FILE *nm;

	assert_int_equal(
	        shell("cd '%s' && echo 'int %s(int n) { return n * 7; } asm(\".section .debug_str, "
	              "\\\"MS\\\", @progbits, 1; .fill 3000000, 1, 97; .byte 0; .text\");' | "
	              "cc -g -O1 -shared -fPIC -gz -o %s -x c - && test $(stat -c %%s %s) -lt 40000 && "
	              "nm %s | grep ' %s$' > %s.nm",
	              program_dir, function, name, name, name, function, name),
	        0);
	snprintf(path, sizeof(path), "%s/%s.nm", program_dir, name);
	nm = fopen(path, "r");
	assert_non_null(fgets(line, sizeof(line), nm));
	fclose(nm);
	return strtoull(line, NULL, 16);
}

/* What the name of a function in the heavy file comes from. */
static enum sym_source source_of(struct sym_process *p, uint64_t address, const char *function)
{
	struct sym_result r;

	assert_int_equal(symbolizer_user(p, address, false, &r), 0);
	assert_string_equal(r.frames[0].function, function);
	return r.source;
}

/* Two files that don't fit into memory together are not loaded in turn for ever. */
static void test_object_cache__heavy_files(void **state)
{
	struct symbolizer_opts opts = { .max_memory_bytes = 4 << 20, .debug_dir = "/nonexistent" };
	uint64_t a = 0x10000 + make_heavy("heavy_a", "fa"), b = 0x20000 + make_heavy("heavy_b", "fb");
	struct symbolizer *small = symbolizer_new(&opts);
	struct sym_process *p = symbolizer_process(small, 4000007, 1);
	struct symbolizer_stats stats;
	int i;

	(void)state;
	symbolizer_process_exit(p);
	symbolizer_let_go(small, now_ns);
	map(p, "heavy_a", 0x10000);
	map(p, "heavy_b", 0x20000);
	assert_int_equal(source_of(p, a, "fa"), SYM_SOURCE_DWARF);
	assert_int_equal(source_of(p, b, "fb"), SYM_SOURCE_DWARF);
	for (i = 0; i < 3; i++) {
		assert_int_equal(source_of(p, a, "fa"), SYM_SOURCE_SYMTAB);
		assert_int_equal(source_of(p, b, "fb"), SYM_SOURCE_DWARF);
	}
	symbolizer_stats(small, &stats);
	assert_int_equal(stats.cache_evictions, 1);
	assert_int_equal(stats.files_too_large, 1);
	symbolizer_let_go(small, now_ns + HEAVY_FILES_NS - 1);
	assert_int_equal(source_of(p, a, "fa"), SYM_SOURCE_SYMTAB);
	/* After a while it is tried again; the other one has been there for long, and only goes this once. */
	symbolizer_let_go(small, now_ns += HEAVY_FILES_NS + OBJECT_CACHE_LOOK_NS);
	assert_int_equal(source_of(p, a, "fa"), SYM_SOURCE_DWARF);
	symbolizer_let_go(small, now_ns += HEAVY_FILES_NS);
	assert_int_equal(source_of(p, b, "fb"), SYM_SOURCE_DWARF);
	assert_int_equal(source_of(p, a, "fa"), SYM_SOURCE_DWARF);
	symbolizer_free(small);
}

static int set_up(void **state)
{
	struct symbolizer_opts opts = { .debug_dir = debug_dir };

	if (program_dir_make(state))
		return -1;
	snprintf(debug_dir, sizeof(debug_dir), "%s/debug", program_dir);
	s = symbolizer_new(&opts);
	return s ? 0 : -1;
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
		cmocka_unit_test(test_object_cache__closed_after_its_process),
		cmocka_unit_test(test_object_cache__closed_though_another_uses_it),
		cmocka_unit_test(test_object_cache__kept_for_the_next_process),
		cmocka_unit_test(test_object_cache__closed_when_not_needed),
		cmocka_unit_test(test_object_cache__heavy_files),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
