/* Tests of lone_file.h: addresses and sections of files given by path. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "symbolizer/symbolizer.h"
#include "tests/unit/compile_program.h"

/* Both functions are the first of a section of their own: in the relocatable file they have the same address. */
static const char source[] =
        "volatile int sink;\n"
        "int __attribute__((noinline, section(\".text.one\"))) one(int n) { return n * sink; }\n"
        "int __attribute__((noinline, section(\".text.two\"))) two(int n) { return n / sink; }\n"
        "int main(int argc, char **argv) { return one(argc) + two(!argv); }\n";

static int make_files(void **state)
{
	char path[256];
	FILE *file;

	if (program_dir_make(state))
		return -1;
	snprintf(path, sizeof(path), "%s/lone.c", program_dir);
	file = fopen(path, "w");
	if (!file)
		return -1;
	fputs(source, file);
	if (fclose(file))
		return -1;
	return shell("cd '%s' && cc -O2 -g -c -o lone.o lone.c && cc -O2 -g -o lone lone.c && "
	             "gzip -k lone.o && xz -k lone.o && zstd -q lone.o && echo text >text && mkdir folder",
	             program_dir);
}

static struct symbolizer *symbols;
static char path_of_file[256];

static const char *file(const char *name)
{
	snprintf(path_of_file, sizeof(path_of_file), "%s/%s", program_dir, name);
	return path_of_file;
}

static void with_memory(size_t max_memory_bytes)
{
	const struct symbolizer_opts opts = { .max_memory_bytes = max_memory_bytes };

	symbols = symbolizer_new(&opts);
	assert_non_null(symbols);
}

static int begin(void **state)
{
	(void)state;
	with_memory(0);
	return 0;
}

static int end(void **state)
{
	(void)state;
	symbolizer_free(symbols);
	return 0;
}

static void assert_line(struct sym_file *f, const char *section, const char *function, uint32_t line)
{
	struct sym_result result;

	assert_int_equal(symbolizer_file_find(f, section, 2, &result), 0);
	assert_int_equal(result.address, 2);
	assert_null(result.module);
	assert_int_equal(result.source, SYM_SOURCE_DWARF);
	assert_string_equal(result.frames[0].function, function);
	assert_int_equal(result.frames[0].line, line);
}

static void test_lone_file__sections(void **state)
{
	static const char *const names[] = { "lone.o", "lone.o.gz", "lone.o.xz", "lone.o.zst" };
	struct sym_file *f;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(names) / sizeof(*names); i++) {
		assert_int_equal(symbolizer_file(symbols, file(names[i]), &f), 0);
		assert_line(f, ".text.one", "one", 2);
		assert_line(f, ".text.two", "two", 3);
	}
}

/* Each type unit of DWARF 5 has a .debug_info of its own, before the one that counts. */
static void test_lone_file__type_units(void **state)
{
	struct sym_file *f;

	(void)state;
	assert_int_equal(shell("cd '%s' && echo 'struct pair { int a, sum(int n) { return n * a; } } p; int "
	                       "one(int n) { "
	                       "return p.sum(n); }' | g++ -O2 -gdwarf-5 -fdebug-types-section -c -o types.o "
	                       "-x c++ - && test $(readelf -SW types.o | grep -c ' .debug_info ') = 2",
	                       program_dir),
	                 0);
	assert_int_equal(symbolizer_file(symbols, file("types.o"), &f), 0);
	assert_line(f, ".text", "pair::sum", 1);
}

static void test_lone_file__outside(void **state)
{
	struct sym_result result;
	struct sym_file *f;

	(void)state;
	assert_int_equal(symbolizer_file(symbols, file("lone.o"), &f), 0);
	/* Behind its section another one begins, which is not meant. */
	assert_int_equal(symbolizer_file_find(f, ".text.one", 0x1000, &result), 0);
	assert_int_equal(result.source, SYM_SOURCE_NONE);
	assert_string_equal(result.frames[0].function, "[no symbols: lone.o+0x1000]");
	assert_int_equal(symbolizer_file_find(f, ".text.three", 0, &result), -ENOENT);
	assert_int_equal(symbolizer_file_find(f, ".debug_info", 0, &result), -ENOENT);
	assert_int_equal(symbolizer_file_find(f, NULL, 0, &result), 0); /* .text, which is empty */
	assert_int_equal(result.source, SYM_SOURCE_NONE);
}

static void test_lone_file__no_such_files(void **state)
{
	struct sym_file *f;

	(void)state;
	assert_int_equal(symbolizer_file(symbols, file("missing"), &f), -ENOENT);
	assert_int_equal(symbolizer_file(symbols, file("text"), &f), -EBADMSG);
	assert_int_equal(symbolizer_file(symbols, file("folder"), &f), -EBADMSG);
	assert_int_equal(symbolizer_file(symbols, "/dev/zero", &f), -EBADMSG);
}

static uint64_t address_of(const char *name)
{
	char command[512], line[256] = "";
	FILE *nm;

	snprintf(command, sizeof(command), "nm '%s/lone' | grep ' %s$'", program_dir, name);
	nm = popen(command, "r");
	assert_non_null(nm);
	assert_non_null(fgets(line, sizeof(line), nm));
	pclose(nm);
	return strtoull(line, NULL, 16);
}

/* Over the limit the tables go, and are made again. */
static void test_lone_file__memory(void **state)
{
	const uint64_t addresses[] = { address_of("one"), address_of("two"), address_of("main") };
	static const char *const names[] = { "one", "two", "main" };
	struct symbolizer_stats stats;
	struct sym_result result;
	struct sym_file *f;
	size_t i;

	end(state);
	with_memory(20000);
	assert_int_equal(symbolizer_file(symbols, file("lone"), &f), 0);
	for (i = 0; i < 12; i++) {
		assert_int_equal(symbolizer_file_find(f, NULL, addresses[i % 3], &result), 0);
		assert_string_equal(result.frames[result.n_frames - 1].function, names[i % 3]);
	}
	symbolizer_stats(symbols, &stats);
	assert_int_equal(stats.files_opened, 1);
	assert_true(stats.cache_evictions > 0);
	assert_true(stats.memory_bytes > 4096);
}

#define WITH(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH(test_lone_file__sections), WITH(test_lone_file__type_units),
		WITH(test_lone_file__outside),  WITH(test_lone_file__no_such_files),
		WITH(test_lone_file__memory),
	};

	return cmocka_run_group_tests(tests, make_files, program_dir_remove);
}
