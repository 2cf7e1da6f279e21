/* Tests of object_rules(): whose tables have the rules for an address, and when a debug file is looked for. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "symbolizer/object/object.h"
#include "tests/unit/compile_program.h"

#define MAX_BYTES ((size_t)64 << 20)

static struct symbolizer_stats stats;
static const struct object_environment environment = { .debug_dir = "/nonexistent",
	                                               .max_bytes = MAX_BYTES,
	                                               .stats = &stats };

/* lib.so: `in_file` has its rules in .eh_frame, `in_debug_file` has them in the debug file's .debug_frame. */
static int make_library(void **state)
{
	if (program_dir_make(state))
		return -1;
	return shell("cd '%s' && exec >/dev/null && echo 'int in_file(int n) { volatile char b[200]; return "
	             "b[n]; }' > a.c && "
	             "echo 'int in_debug_file(int n) { volatile char b[300]; return b[n]; }' > b.c && "
	             "cc -g -O1 -fPIC -fomit-frame-pointer -c a.c && "
	             "cc -g -O1 -fPIC -fomit-frame-pointer -fno-asynchronous-unwind-tables -c b.c && "
	             "cc -shared -nostdlib -Wl,--build-id -o whole.so a.o b.o && "
	             "objcopy --only-keep-debug whole.so lib.debug && "
	             "objcopy --strip-debug --add-gnu-debuglink=lib.debug whole.so lib.so",
	             program_dir);
}

static uint64_t address_of(const char *function)
{
	unsigned long long address = 0;
	char command[512];
	FILE *pipe;

	snprintf(command, sizeof(command), "nm '%s/whole.so' | grep ' %s$'", program_dir, function);
	pipe = popen(command, "r");
	assert_non_null(pipe);
	assert_int_equal(fscanf(pipe, "%llx", &address), 1);
	pclose(pipe);
	return address;
}

static struct object *open_file(const char *name)
{
	struct elf_file *f;
	struct object *o;
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", program_dir, name);
	assert_int_equal(elf_file_open(open(path, O_RDONLY | O_CLOEXEC), false, MAX_BYTES, &f), 0);
	o = object_new(&environment, f, "", path);
	assert_non_null(o);
	stats = (struct symbolizer_stats){ 0 };
	return o;
}

static void test_object_rules__of_the_file_need_no_debug_file(void **state)
{
	uint64_t address = address_of("in_file");
	struct object *o = open_file("lib.so");
	const struct cfi_rules *rules;

	(void)state;
	assert_int_equal(object_rules(o, address, &rules), 0);
	assert_true(rules->cfa.kind == CFI_OFFSET && rules->cfa.n == 8);
	assert_int_equal(stats.debug_files_opened, 0);
	assert_true(object_has_grown(o));
	object_free(o);
}

static void test_object_rules__of_the_debug_file(void **state)
{
	uint64_t address = address_of("in_debug_file"), both = address_of("in_file");
	struct object *o = open_file("lib.so");
	const struct cfi_rules *rules;
	size_t before = object_memory(o);

	(void)state;
	assert_int_equal(object_rules(o, address, &rules), 0);
	assert_true(rules->cfa.kind == CFI_OFFSET && rules->cfa.n == 8);
	assert_int_equal(stats.debug_files_opened, 1);
	assert_true(object_memory(o) > before);
	/* What has been found stays so, in either. */
	assert_int_equal(object_rules(o, both, &rules), 0);
	assert_int_equal(object_rules(o, address, &rules), 0);
	assert_int_equal(object_rules(o, 1, &rules), -ENOENT);
	assert_int_equal(stats.debug_files_opened, 1);
	object_free(o);
}

/* Its segments lead to .eh_frame only. */
static void test_object_rules__of_the_files_own_debug_frame(void **state)
{
	uint64_t address = address_of("in_debug_file"), other = address_of("in_file");
	struct object *o = open_file("whole.so");
	const struct cfi_rules *rules, *again;

	(void)state;
	assert_int_equal(object_rules(o, other, &rules), 0);
	assert_int_equal(object_rules(o, address, &rules), 0);
	assert_true(rules->cfa.kind == CFI_OFFSET && rules->cfa.n == 8);
	assert_int_equal(object_rules(o, other, &again), 0);
	assert_ptr_equal(rules, again);
	assert_int_equal(object_rules(o, 1, &rules), -ENOENT);
	assert_int_equal(stats.debug_files_opened, 0);
	object_free(o);
}

static void test_object_rules__again_when_the_tables_were_dropped(void **state)
{
	uint64_t address = address_of("in_debug_file");
	struct object *o = open_file("lib.so");
	const struct cfi_rules *rules;

	(void)state;
	assert_int_equal(object_rules(o, address, &rules), 0);
	object_unload(o);
	assert_int_equal(object_rules(o, address, &rules), 0);
	assert_int_equal(stats.debug_files_opened, 2);
	object_free(o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_object_rules__of_the_file_need_no_debug_file),
		cmocka_unit_test(test_object_rules__of_the_debug_file),
		cmocka_unit_test(test_object_rules__of_the_files_own_debug_frame),
		cmocka_unit_test(test_object_rules__again_when_the_tables_were_dropped),
	};

	return cmocka_run_group_tests(tests, make_library, program_dir_remove);
}
