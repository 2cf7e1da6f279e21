/* Tests of dwarf_split.h: .dwo and .dwp files of gcc and clang, found and missing. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>

#include "symbolizer/dwarf/dwarf_index.h"
#include "symbolizer/dwarf/dwarf_package.h"
#include "symbolizer/dwarf/dwarf_split.h"
#include "symbolizer/symbolizer.h"
#include "tests/unit/compile_program.h"

#define BUFFER (1 << 20)

/* Two units with ranges in several sections, inlines in inlines, a class and a namespace. */
static const char unit_a[] =
        "static volatile int sink;\n"
        "static inline __attribute__((always_inline)) int inner(int n) { return n > 3 ? sink + n : n; }\n"
        "static inline __attribute__((always_inline)) int outer(int n)\n"
        "{\n"
        "	if (__builtin_expect(n > 9, 0)) return inner(n) * 2;\n"
        "	return inner(n);\n"
        "}\n"
        "namespace ns { struct k { int v; __attribute__((noinline)) int get(int n) { return outer(n) + v; } "
        "}; }\n"
        "namespace { __attribute__((noinline)) int hidden(int n) { sink = n; return outer(n); } }\n"
        "extern \"C\" int other(int);\n"
        "extern \"C\" int shown(int n) { ns::k k = { n }; return k.get(n) + hidden(n) + other(n); }\n";
static const char unit_b[] =
        "static volatile int sink;\n"
        "static inline __attribute__((always_inline)) int deep(int n) { return sink * n; }\n"
        "extern \"C\" int other(int n) { if (n > 4) return deep(n); return deep(n + 1); }\n";

static struct symbolizer_stats stats;
static size_t unit_bytes = 1 << 20;  /* that an index may keep */
static size_t split_bytes = 1 << 24; /* that a section of another file may have */

/* What is known of each address of .text, as text, in `out`. */
static void describe_all(const char *path, bool with_split, char *out)
{
	struct debug_file_place place = { .debug_dir = "/nonexistent", .root = "", .path = path };
	struct dwarf_split *split = NULL;
	struct dwarf_frame frames[16];
	struct dwarf_place at;
	struct dwarf_index *index;
	uint64_t address, step;
	struct elf_file *f;
	size_t n, i, len = 0;
	char name[512];

	memset(&stats, 0, sizeof(stats));
	assert_int_equal(elf_file_open(open(path, O_RDONLY), false, 1 << 24, &f), 0);
	if (with_split)
		split = dwarf_split_new(&place, "", split_bytes, &stats);
	assert_int_equal(dwarf_index_new(f, f, NULL, unit_bytes, split, &index), 0);
	for (step = 0; step < 0x4000; step++) {
		address = 0x1000 + step % 0x2000;
		if (step == 0x2000)
			len = 0; /* all once more */
		n = dwarf_index_locate(index, address, &at) ? dwarf_index_frames(&at, address, frames, 16)
		                                            : 0;
		for (i = 0; i < n; i++) {
			name[0] = 0;
			dwarf_index_name(index, frames[i].die, name, sizeof(name));
			len += (size_t)snprintf(out + len, BUFFER - len, "%lx %s %u %u %d\n", (long)address,
			                        name, frames[i].file, frames[i].line, frames[i].inlined);
			assert_true(len < BUFFER);
		}
	}
	out[len] = 0;
	assert_int_equal(dwarf_index_errors(index), 0);
	assert_true(!with_split || dwarf_index_memory(index) > 0);
	dwarf_index_free(index);
	elf_file_close(f);
}

/* Both programs are built in a folder of their own, bin/, with their objects in obj/. */
static bool build(const char *compiler, const char *flags)
{
	return shell("cd '%s' && rm -rf obj bin whole && mkdir obj bin whole && F='-O2 -ffunction-sections "
	             "-fPIC -w %s' && %s $F -gsplit-dwarf -c a.cc -o obj/a.o && %s $F -gsplit-dwarf -c b.cc "
	             "-o obj/b.o && %s -shared obj/a.o obj/b.o -o bin/x.so && %s $F -c a.cc -o whole/a.o && "
	             "%s "
	             "$F -c b.cc -o whole/b.o && %s -shared whole/a.o whole/b.o -o whole/x.so",
	             program_dir, flags, compiler, compiler, compiler, compiler, compiler, compiler) == 0;
}

static void assert_same(const char *what)
{
	char *split = malloc(BUFFER), *whole = malloc(BUFFER), path[256];

	snprintf(path, sizeof(path), "%s/whole/x.so", program_dir);
	describe_all(path, true, whole);
	assert_non_null(strstr(whole, "inner"));
	assert_int_equal(stats.split_files_opened, 0);
	snprintf(path, sizeof(path), "%s/bin/x.so", program_dir);
	describe_all(path, true, split);
	if (strcmp(split, whole) != 0)
		fail_msg("%s: split DWARF differs: \n%.600s\nand\n%.600s", what, split, whole);
	assert_int_equal(stats.split_files_missing, 0);
	free(split);
	free(whole);
}

static void check_all_forms(const char *compiler, const char *flags)
{
	assert_true(build(compiler, flags));
	assert_same("beside the objects");
	assert_int_equal(stats.split_files_opened, 2);

	assert_int_equal(shell("cd '%s' && mv obj/*.dwo bin", program_dir), 0);
	assert_same("beside the program");

	assert_int_equal(shell("cd '%s/bin' && mkdir obj && mv *.dwo obj", program_dir), 0);
	assert_same("below the program's folder");
}

static void check_package(const char *compiler, const char *flags, const char *packer)
{
	assert_true(build(compiler, flags));
	assert_int_equal(shell("cd '%s' && timeout 20 %s obj/*.dwo -o bin/x.so.dwp && rm obj/*.dwo",
	                       program_dir, packer),
	                 0);
	assert_same("in a package");
	assert_int_equal(stats.split_files_opened, 1);
}

static void test_dwarf_split__gcc(void **state)
{
	(void)state;
	check_all_forms("g++", "-gdwarf-4");
	check_all_forms("g++", "-gdwarf-5");
	check_all_forms("g++", "-gdwarf-5 -fdebug-types-section");
}

static void test_dwarf_split__clang(void **state)
{
	(void)state;
	check_all_forms("clang++", "-gdwarf-4");
	check_all_forms("clang++", "-gdwarf-5");
	check_all_forms("clang++", "-gdwarf-5 -gdwarf64");
}

/*
 * Not g++ -gdwarf-5: binutils' dwp does not know version 5, and LLVM 14's loops for ever when an abbreviation with an
 * implicit constant stands before the unit's own, as g++ likes to have it. The end-to-end test has one that works.
 */
static void test_dwarf_split__packages(void **state)
{
	(void)state;
	check_package("g++", "-gdwarf-4", "dwp");
	check_package("g++", "-gdwarf-4", "llvm-dwp");
	check_package("clang++", "-gdwarf-4", "llvm-dwp");
	check_package("clang++", "-gdwarf-5", "llvm-dwp");
}

/* A package whose sections have more than may be loaded: units are read alone. */
static void test_dwarf_split__large_package(void **state)
{
	(void)state;
	split_bytes = 1 << 16;
	check_package("clang++", "-gdwarf-5",
	              "sh -c 'llvm-dwp \"$@\" && for s in info abbrev str_offsets rnglists; do "
	              "objcopy --dump-section .debug_$s.dwo=part bin/x.so.dwp && "
	              "head -c 100000 /dev/zero >> part && "
	              "objcopy --update-section .debug_$s.dwo=part bin/x.so.dwp || exit 1; done' sh");
	split_bytes = 1 << 24;
}

static void assert_lines_only(uint64_t missing)
{
	char *out = malloc(BUFFER), path[256];

	snprintf(path, sizeof(path), "%s/bin/x.so", program_dir);
	describe_all(path, true, out);
	assert_int_equal(stats.split_files_missing, missing);
	assert_null(strstr(out, "inner"));
	assert_non_null(strstr(out, " 2 0\n")); /* line 2, where inner() stands */
	free(out);
}

static void test_dwarf_split__missing(void **state)
{
	(void)state;
	assert_true(build("g++", "-gdwarf-5"));
	assert_int_equal(shell("rm '%s'/obj/a.dwo", program_dir), 0);
	assert_lines_only(1);
	assert_int_equal(shell("rm '%s'/obj/b.dwo", program_dir), 0);
	assert_lines_only(2);
}

/* The unit of another build, with another dwo_id, is not taken. */
static void test_dwarf_split__stale(void **state)
{
	(void)state;
	assert_true(build("g++", "-gdwarf-5"));
	assert_int_equal(
	        shell("cd '%s' && echo '// more' >> a.cc && g++ -O1 -gdwarf-5 -gsplit-dwarf -fPIC -c "
	              "a.cc -o obj/other.o && mv obj/other.dwo obj/a.dwo && cp obj/a.dwo bin",
	              program_dir),
	        0);
	assert_lines_only(1);
	assert_int_equal(shell("cd '%s' && head -c 300 obj/b.dwo > short && mv short obj/b.dwo", program_dir),
	                 0);
	assert_lines_only(2);
}

/* What units hold is bounded; those that were dropped come back. */
static void test_dwarf_split__opened_again(void **state)
{
	(void)state;
	assert_true(build("g++", "-gdwarf-5"));
	unit_bytes = 1;
	assert_same("opened again");
	assert_true(stats.split_files_opened > 2);
	assert_int_equal(shell("rm '%s'/obj/a.dwo", program_dir), 0);
	assert_lines_only(1);
	unit_bytes = 1 << 20;
}

/* How many files the cache has after all of a library has been looked at. */
static int n_cached(const char *library)
{
	struct symbolizer_opts opts = { .debug_dir = "/nonexistent" };
	char cache[256], path[256], command[512];
	struct symbolizer *s;
	struct sym_process *p;
	struct sym_result r;
	uint64_t address;
	int n = -1;
	FILE *pipe;

	snprintf(cache, sizeof(cache), "%s/cache", program_dir);
	snprintf(path, sizeof(path), "%s/%s", program_dir, library);
	snprintf(command, sizeof(command), "find '%s' -name '*.stallsym' | wc -l", cache);
	opts.cache_dir = cache;
	s = symbolizer_new(&opts);
	p = symbolizer_process(s, 1, 0);
	symbolizer_process_exit(p);
	assert_int_equal(symbolizer_process_map(p, 0x10000, 0x20000, 0, 0, 0, 0, path), 0);
	for (address = 0x11000; address < 0x12000; address++)
		symbolizer_user(p, address, false, &r);
	assert_int_equal(symbolizer_save(s, true), 0);
	symbolizer_free(s);
	pipe = popen(command, "r");
	assert_int_equal(fscanf(pipe, "%d", &n), 1);
	pclose(pipe);
	return n;
}

/* What was found in files that come and go is not kept for the next time. */
static void test_dwarf_split__not_cached(void **state)
{
	(void)state;
	assert_true(build("g++", "-gdwarf-5 -Wl,--build-id"));
	assert_int_equal(n_cached("bin/x.so"), 0);
	assert_int_equal(n_cached("whole/x.so"), 1);
}

/* An index of version 2 with one unit in slot 1 of 2, its two parts of the given place. */
struct package_index {
	uint32_t version, columns, units, slots;
	uint64_t signatures[2];
	uint32_t rows[2], titles[2], offsets[2], lengths[2];
};

static const struct package_index good_index = {
	.version = 2,
	.columns = 2,
	.units = 1,
	.slots = 2,
	.signatures = { 0, 0x1111 },
	.rows = { 0, 1 },
	.titles = { 1, 3 },
	.offsets = { 10, 20 },
	.lengths = { 30, 40 },
};

static int find(const struct package_index *x, size_t len, uint64_t dwo_id, struct dwarf_package_row *row)
{
	uint32_t tries;

	return dwarf_package_find((const uint8_t *)x, len, dwo_id, row, &tries);
}

static void test_dwarf_split__package_index(void **state)
{
	struct package_index bad = good_index;
	struct dwarf_package_row row;
	size_t len;

	(void)state;
	assert_int_equal(find(&good_index, sizeof(bad), 0x1111, &row), 0);
	assert_int_equal(row.parts[PACKAGE_INFO].offset, 10);
	assert_int_equal(row.parts[PACKAGE_ABBREV].len, 40);
	assert_int_equal(row.parts[PACKAGE_RNGLISTS].len, 0);
	assert_int_equal(find(&good_index, sizeof(bad), 0x1113, &row), -ENOENT);
	assert_int_equal(find(&good_index, sizeof(bad), 0x1110, &row), -ENOENT);
	for (len = 0; len < sizeof(bad); len++)
		assert_int_equal(find(&good_index, len, 0x1111, &row), -EBADMSG);
	bad.version = 3;
	assert_int_equal(find(&bad, sizeof(bad), 0x1111, &row), -EBADMSG);
	bad = good_index;
	bad.rows[1] = 2;
	assert_int_equal(find(&bad, sizeof(bad), 0x1111, &row), -EBADMSG);
	bad = good_index;
	bad.slots = 3;
	assert_int_equal(find(&bad, sizeof(bad), 0x1111, &row), -EBADMSG);
	bad = good_index;
	bad.units = 0x80000000;
	assert_int_equal(find(&bad, sizeof(bad), 0x1111, &row), -EBADMSG);
	/* A table without an empty slot has an end, too. */
	bad = good_index;
	bad.rows[0] = 1;
	assert_int_equal(find(&bad, sizeof(bad), 0x2222, &row), -ENOENT);
}

/* Tables without an empty slot, in which one looks for what they have not. */
static void test_dwarf_split__package_without_end(void **state)
{
	static struct {
		uint32_t version, columns, units, slots;
		uint64_t signatures[4096];
		uint32_t rows[4096], title, offsets[1024], lengths[1024];
	} x = { .version = 5, .columns = 1, .units = 1024, .slots = 4096, .title = 1 };
	struct dwarf_package_row row;
	uint32_t tries;
	size_t i;

	(void)state;
	for (i = 0; i < 4096; i++)
		x.rows[i] = 1;
	assert_int_equal(dwarf_package_find((const uint8_t *)&x, sizeof(x), 0x2222, &row, &tries), -ENOENT);
	assert_int_equal(tries, 1025);
	x.units = 1000; /* there are more slots than anybody makes */
	assert_int_equal(dwarf_package_find((const uint8_t *)&x, sizeof(x), 0x2222, &row, &tries), -EBADMSG);
	assert_int_equal(tries, 0);
}

static int write_source(const char *name, const char *source)
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", program_dir, name);
	file = fopen(path, "w");
	fputs(source, file);
	return fclose(file);
}

static int make_sources(void **state)
{
	return program_dir_make(state) || write_source("a.cc", unit_a) || write_source("b.cc", unit_b) ? -1
	                                                                                               : 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dwarf_split__gcc),
		cmocka_unit_test(test_dwarf_split__clang),
		cmocka_unit_test(test_dwarf_split__packages),
		cmocka_unit_test(test_dwarf_split__large_package),
		cmocka_unit_test(test_dwarf_split__missing),
		cmocka_unit_test(test_dwarf_split__opened_again),
		cmocka_unit_test(test_dwarf_split__not_cached),
		cmocka_unit_test(test_dwarf_split__package_index),
		cmocka_unit_test(test_dwarf_split__package_without_end),
		cmocka_unit_test(test_dwarf_split__stale), /* changes a source */
	};

	return cmocka_run_group_tests(tests, make_sources, program_dir_remove);
}
