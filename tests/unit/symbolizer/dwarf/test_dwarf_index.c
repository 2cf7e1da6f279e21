/* Tests of dwarf_index.h: inlined frames and qualified names of gcc and clang. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/dwarf/dwarf_index.h"
#include "symbolizer/elf/symtab.h"
#include "tests/unit/compile_program.h"

/* The line numbers of this program are in the tests below. */
static const char program[] = "static volatile int sink;\n"                                     /* 1 */
                              "static inline __attribute__((always_inline)) int inner(int n)\n" /* 2 */
                              "{\n"                                                             /* 3 */
                              "	return sink + n;\n"                                             /* 4 */
                              "}\n"                                                             /* 5 */
                              "static inline __attribute__((always_inline)) int outer(int n)\n" /* 6 */
                              "{\n"                                                             /* 7 */
                              "	return inner(n);\n"                                             /* 8 */
                              "}\n"                                                             /* 9 */
                              "int shown(int n)\n"                                              /* 10 */
                              "{\n"                                                             /* 11 */
                              "	sink = 1;\n"                                                    /* 12 */
                              "	return outer(n);\n"                                             /* 13 */
                              "}\n";

struct file {
	struct elf_file *elf;
	struct dwarf_index *index;
	uint64_t start, end; /* of shown() */
};

static void open_program(struct file *f, const char *name)
{
	struct symtab *symbols;
	struct symtab_hit hit;
	uint64_t address;
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", program_dir, name);
	assert_int_equal(elf_file_open(open(path, O_RDONLY), false, 1 << 24, &f->elf), 0);
	assert_int_equal(dwarf_index_new(f->elf, f->elf, NULL, 1 << 20, NULL, &f->index), 0);
	assert_int_equal(symtab_new(f->elf, NULL, &symbols), 0);
	for (address = 0x100, f->start = 0; address < 0x4000 && !f->start; address++) {
		if (symtab_find(symbols, address, &hit) && strcmp(hit.name, "shown") == 0) {
			f->start = hit.start;
			f->end = hit.end;
		}
	}
	assert_true(f->start);
	symtab_free(symbols);
}

static void close_program(struct file *f)
{
	assert_int_equal(dwarf_index_errors(f->index), 0);
	dwarf_index_free(f->index);
	elf_file_close(f->elf);
}

static size_t find(const struct file *f, uint64_t address, struct dwarf_frame *frames, size_t max)
{
	struct dwarf_place place;

	if (!dwarf_index_locate(f->index, address, &place))
		return 0;
	assert_true(address >= place.same.low && address < place.same.high);
	return dwarf_index_frames(&place, address, frames, max);
}

static void assert_name(const struct file *f, const struct dwarf_frame *frame, const char *expected)
{
	char name[256];

	assert_true(dwarf_index_name(f->index, frame->die, name, sizeof(name)));
	assert_string_equal(name, expected);
}

/* Looks for the address in shown() where there are three frames, and compares them. */
static void assert_inlined(const char *name)
{
	static const char *const names[] = { "inner", "outer", "shown" };
	static const uint32_t lines[] = { 4, 8, 13 };
	struct dwarf_frame frames[8];
	struct file f;
	char path[PATH_MAX];
	uint64_t address;
	size_t n = 0, i;

	open_program(&f, name);
	for (address = f.start; address < f.end && n != 3; address++)
		n = find(&f, address, frames, 8);
	assert_int_equal(n, 3);
	for (i = 0; i < 3; i++) {
		assert_name(&f, &frames[i], names[i]);
		assert_int_equal(frames[i].line, lines[i]);
		assert_int_equal(frames[i].inlined, i < 2);
		assert_true(dwarf_lines_path(frames[i].lines, frames[i].file, path, sizeof(path)));
		assert_string_equal(strrchr(path, '/'), "/x.c");
		assert_int_equal(path[0], '/');
	}
	assert_int_equal(find(&f, address - 1, frames, 2), 2);
	assert_int_equal(find(&f, f.start, frames, 8), 1);
	assert_name(&f, &frames[0], "shown");
	assert_int_equal(find(&f, 1, frames, 8), 0);
	assert_int_equal(find(&f, UINT64_MAX, frames, 8), 0);
	close_program(&f);
}

static void test_dwarf_index__inlined_frames(void **state)
{
	static const char *const flags[] = { "-gdwarf-5",
		                             "-gdwarf-4",
		                             "-gdwarf-3 -gstrict-dwarf",
		                             "-gdwarf-2",
		                             "-gdwarf-5 -gdwarf64",
		                             "-gdwarf-5 -gz=zlib",
		                             "-gdwarf-4 -gz=zlib-gnu",
		                             "-gdwarf-5 -ffunction-sections",
		                             "-gdwarf-5 -fdebug-types-section" };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(flags) / sizeof(*flags); i++) {
		assert_true(compile_into("-O2 %s -shared -fPIC -o '%s/x.so' '%s/x.c'", flags[i], program_dir,
		                         program_dir));
		assert_inlined("x.so");
	}
}

static void test_dwarf_index__clang(void **state)
{
	static const char *const flags[] = { "-gdwarf-5", "-gdwarf-4", "-gdwarf-5 -gdwarf64" };
	size_t i;

	(void)state;
	if (shell("command -v clang > /dev/null")) {
		print_message("no clang here\n");
		skip();
	}
	for (i = 0; i < sizeof(flags) / sizeof(*flags); i++) {
		assert_int_equal(shell("clang -O2 %s -shared -fPIC -o '%s/clang.so' '%s/x.c'", flags[i],
		                       program_dir, program_dir),
		                 0);
		assert_inlined("clang.so");
	}
}

static void test_dwarf_index__none(void **state)
{
	struct dwarf_index *index;
	struct elf_file *f;
	char path[256];

	(void)state;
	assert_true(compile_into("-g0 -shared -fPIC -o '%s/none.so' '%s/x.c'", program_dir, program_dir));
	snprintf(path, sizeof(path), "%s/none.so", program_dir);
	assert_int_equal(elf_file_open(open(path, O_RDONLY), false, 1 << 24, &f), 0);
	assert_int_equal(dwarf_index_new(f, f, NULL, 1 << 20, NULL, &index), -ENOENT);
	elf_file_close(f);
}

static void test_dwarf_index__qualified_names(void **state)
{
	static const char source[] =
	        "namespace ns { struct outer { template <int N> struct inner { __attribute__((noinline)) "
	        "static int f(volatile int *p) { return *p + N; } }; }; static __attribute__((noinline)) "
	        "int g(volatile int *p) { return outer::inner<3>::f(p); } } extern \"C\" int "
	        "shown(volatile int *p) { return ns::g(p) + 1; }";
	struct dwarf_frame frames[8];
	char name[256], path[256];
	bool seen_g = false;
	uint64_t address;
	struct file f;
	FILE *file;

	(void)state;
	snprintf(path, sizeof(path), "%s/x.cc", program_dir);
	file = fopen(path, "w");
	fputs(source, file);
	fclose(file);
	assert_true(compile_into("-O1 -fno-inline -shared -fPIC -o '%s/cxx.so' '%s'", program_dir, path));
	open_program(&f, "cxx.so");
	for (address = f.start & ~0xfffull; address < f.end && !seen_g; address++) {
		if (find(&f, address, frames, 8) &&
		    dwarf_index_name(f.index, frames[0].die, name, sizeof(name)))
			seen_g |= strcmp(name, "ns::g") == 0;
	}
	assert_true(seen_g);
	close_program(&f);
}

/* A unit of Rust with shown(), into which inner() was inlined, in an enumeration, as rustc 1.63 puts it; what matters alone. */
static const char rust_enumeration[] =
        ".text\n.globl shown\n.type shown, @function\nshown: nop\ninlined: nop\n.size shown, .-shown\n"
        ".section .note.GNU-stack\n"
        ".section .debug_abbrev\n"
        ".uleb128 1, 0x11, 1, 0x13, 0x05, 0x11, 0x01, 0x12, 0x06, 0, 0\n" /* unit: language, low and high pc */
        ".uleb128 2, 0x04, 1, 0x03, 0x08, 0, 0\n"                         /* enumeration: name */
        ".uleb128 3, 0x28, 0, 0x03, 0x08, 0, 0\n"                         /* enumerator: name */
        ".uleb128 4, 0x2e, 1, 0x03, 0x08, 0x11, 0x01, 0x12, 0x06, 0, 0\n" /* function: name, low and high pc */
        ".uleb128 5, 0x1d, 0, 0x31, 0x13, 0x11, 0x01, 0x12, 0x06, 0, 0\n" /* inlined: origin, low and high pc */
        ".uleb128 6, 0x2e, 0, 0x03, 0x08, 0, 0\n"                         /* its function: name */
        ".uleb128 0\n"
        ".section .debug_info\nunit: .long end - version\nversion: .short 4\n.long .debug_abbrev\n.byte 8\n"
        ".uleb128 1\n.short 0x1c\n.quad shown\n.long 2\n"
        "origin: .uleb128 6\n.string \"inner\"\n"
        ".uleb128 2\n.string \"Color\"\n.uleb128 3\n.string \"Red\"\n"
        ".uleb128 4\n.string \"shown\"\n.quad shown\n.long 2\n"
        ".uleb128 5\n.long origin - unit\n.quad inlined\n.long 1\n.byte 0, 0, 0\nend:\n";

static void test_dwarf_index__rust_enumeration(void **state)
{
	struct dwarf_frame frames[8];
	char path[256];
	struct file f;
	FILE *file;

	(void)state;
	snprintf(path, sizeof(path), "%s/x.s", program_dir);
	file = fopen(path, "w");
	fputs(rust_enumeration, file);
	fclose(file);
	assert_int_equal(shell("cc -shared -o '%s/rust.so' '%s'", program_dir, path), 0);
	open_program(&f, "rust.so");
	assert_int_equal(find(&f, f.start, frames, 8), 1);
	assert_name(&f, &frames[0], "Color::shown");
	assert_int_equal(find(&f, f.start + 1, frames, 8), 2);
	assert_name(&f, &frames[0], "inner");
	assert_name(&f, &frames[1], "Color::shown");
	close_program(&f);
}

static int make_source(void **state)
{
	char path[256];
	FILE *file;

	if (program_dir_make(state))
		return -1;
	snprintf(path, sizeof(path), "%s/x.c", program_dir);
	file = fopen(path, "w");
	fputs(program, file);
	return fclose(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dwarf_index__inlined_frames),
		cmocka_unit_test(test_dwarf_index__clang),
		cmocka_unit_test(test_dwarf_index__none),
		cmocka_unit_test(test_dwarf_index__qualified_names),
		cmocka_unit_test(test_dwarf_index__rust_enumeration),
	};

	return cmocka_run_group_tests(tests, make_source, program_dir_remove);
}
