/* Tests of symtab.h: which of several names an address gets. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/elf/symtab.h"
#include "tests/unit/compile_program.h"

#define MAX_BYTES ((size_t)64 << 20)

/* Each FUNCTION is 16 bytes; what stands before it are names for the same address. */
static const char assembly[] =
        "	.text\n"
        "	.macro function name\n"
        "	.type \\name, @function\n"
        "\\name: .fill 16, 1, 0x90\n"
        "	.size \\name, 16\n"
        "	.endm\n"
        "	.macro alias name\n"
        "	.type \\name, @function\n"
        "\\name:\n"
        "	.size \\name, 16\n"
        "	.endm\n"
        "base:	.fill 16, 1, 0x90\n"
        "	.globl __u, _w, weak_name, global_name\n"
        "	.weak _w, weak_name\n"
        "aaa_label:\n" /* 16: a label with a size, and a function */
        "	.size aaa_label, 16\n"
        "function zzz_function\n"
        "	.type unsized, @function\n" /* 32: without a size, and with one */
        "unsized:\n"
        "function sized_name\n"
        "alias a_local\n" /* 48: local, and global */
        "function global_name\n"
        "alias __u\n" /* 64: underscores count, weakness does not */
        "alias _w\n"
        "function weak_name\n"
        "	.globl longer_name, short_b, short_a\n"
        "alias longer_name\n" /* 80: the shorter, then the first */
        "alias short_b\n"
        "function short_a\n"
        "	.type outer, @function\n" /* 96: nested, with a label and a sized function inside */
        "outer:	.fill 16, 1, 0x90\n"
        "again:	.fill 16, 1, 0x90\n"
        "function inner\n"
        "	.fill 16, 1, 0x90\n"
        "	.size outer, 64\n"
        "bare:	.fill 32, 1, 0x90\n" /* 160: goes to the next */
        "	.type chosen, @gnu_indirect_function\n"
        "chosen: .fill 16, 1, 0x90\n" /* 192 */
        "	.size chosen, 16\n"
        "last:	.fill 0x11000, 1, 0x90\n"; /* 208: to the section's end */

static int make_library(void **state)
{
	char path[256];
	FILE *file;

	if (program_dir_make(state))
		return -1;
	snprintf(path, sizeof(path), "%s/names.s", program_dir);
	file = fopen(path, "w");
	if (!file || fputs(assembly, file) < 0 || fclose(file))
		return -1;
	return !compile_into("-shared -nostdlib -o '%s/names.so' '%s/names.s'", program_dir, program_dir);
}

static void test_symtab__which_name(void **state)
{
	static const struct {
		uint64_t at;
		const char *name;
	} cases[] = {
		{ 0, "base" },           { 15, "base" },
		{ 16, "zzz_function" },  { 32, "sized_name" },
		{ 48, "global_name" },   { 64, "weak_name" },
		{ 80, "short_a" },       { 96, "outer" },
		{ 112, "outer" },        { 127, "outer" },
		{ 128, "inner" },        { 143, "inner" },
		{ 144, "outer" },        { 159, "outer" },
		{ 160, "bare" },         { 191, "bare" },
		{ 192, "chosen" },       { 207, "chosen" },
		{ 208, "last" },         { 208 + 0x10fff, "last" },
		{ 208 + 0x11000, NULL },
	};
	struct symtab_hit hit;
	struct elf_file *f;
	struct symtab *t;
	uint64_t base;
	char path[256];
	size_t i;

	(void)state;
	snprintf(path, sizeof(path), "%s/names.so", program_dir);
	assert_int_equal(elf_file_open(open(path, O_RDONLY), false, MAX_BYTES, &f), 0);
	assert_int_equal(symtab_new(f, NULL, &t), 0);
	assert_int_equal(symtab_address(f, "base", &base), 0);
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		if (symtab_find(t, base + cases[i].at, &hit) != (cases[i].name != NULL))
			fail_msg("%d", (int)cases[i].at);
		if (cases[i].name)
			assert_string_equal(hit.name, cases[i].name);
	}
	assert_true(symtab_find(t, base + 160, &hit));
	assert_true(hit.start == base + 160 && hit.end == base + 192);
	symtab_free(t);
	elf_file_close(f);
}

/* Gives every symbol that has no size the number of another section, as patchelf may leave them. */
static void renumber(const char *path)
{
	int fd = open(path, O_RDWR);
	Elf64_Ehdr ehdr;
	Elf64_Shdr shdr;
	Elf64_Sym sym;
	uint64_t at;
	int i;

	assert_int_equal(pread(fd, &ehdr, sizeof(ehdr), 0), sizeof(ehdr));
	for (i = 0; i < ehdr.e_shnum; i++) {
		assert_int_equal(
		        pread(fd, &shdr, sizeof(shdr), (off_t)(ehdr.e_shoff + (size_t)i * sizeof(shdr))),
		        sizeof(shdr));
		for (at = 0; shdr.sh_type == SHT_SYMTAB && at < shdr.sh_size; at += sizeof(sym)) {
			assert_int_equal(pread(fd, &sym, sizeof(sym), (off_t)(shdr.sh_offset + at)),
			                 sizeof(sym));
			if (!sym.st_size && sym.st_shndx)
				sym.st_shndx = 1;
			assert_int_equal(pwrite(fd, &sym, sizeof(sym), (off_t)(shdr.sh_offset + at)),
			                 sizeof(sym));
		}
	}
	close(fd);
}

static void test_symtab__wrong_section(void **state)
{
	struct symtab_hit hit;
	struct elf_file *f;
	struct symtab *t;
	uint64_t base;
	char path[256];

	(void)state;
	snprintf(path, sizeof(path), "%s/renumbered.so", program_dir);
	assert_int_equal(shell("cp '%s/names.so' '%s'", program_dir, path), 0);
	renumber(path);
	assert_int_equal(elf_file_open(open(path, O_RDONLY), false, MAX_BYTES, &f), 0);
	assert_int_equal(symtab_new(f, NULL, &t), 0);
	assert_int_equal(symtab_address(f, "base", &base), 0);
	assert_true(symtab_find(t, base + 15, &hit));
	assert_string_equal(hit.name, "base");
	assert_true(symtab_find(t, base + 191, &hit));
	assert_string_equal(hit.name, "bare");
	symtab_free(t);
	elf_file_close(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_symtab__which_name),
		cmocka_unit_test(test_symtab__wrong_section),
	};

	return cmocka_run_group_tests(tests, make_library, program_dir_remove);
}
