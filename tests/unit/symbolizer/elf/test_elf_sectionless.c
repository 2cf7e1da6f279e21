/* Tests of elf_sectionless.h: files without section headers. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbolizer/cfi/cfi.h"
#include "symbolizer/elf/debug_file.h"
#include "symbolizer/elf/elf_sectionless.h"
#include "symbolizer/elf/symtab.h"
#include "tests/unit/compile_program.h"

#define MAX_BYTES ((size_t)64 << 20)

static int make_libraries(void **state)
{
	return program_dir_make(state) ||
	       shell("for i in $(seq 99); do echo \"int function_$i(int n) { return n + $i; }\"; done > "
	             "'%s/x.c'",
	             program_dir) ||
	       !compile_into("-shared -fPIC -Wl,--build-id=0x0123456789abcdef -Wl,--hash-style=gnu -o "
	                     "'%s/gnu.so' '%s/x.c'",
	                     program_dir, program_dir) ||
	       !compile_into("-shared -fPIC -Wl,--build-id=0x0123456789abcdef -Wl,--hash-style=sysv -o "
	                     "'%s/sysv.so' '%s/x.c'",
	                     program_dir, program_dir);
}

static struct elf_file *open_file(const char *name)
{
	struct elf_file *f = NULL;
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", program_dir, name);
	assert_int_equal(elf_file_open(open(path, O_RDONLY), false, MAX_BYTES, &f), 0);
	return f;
}

/* Cuts off all behind what the segments need, as sstrip does; or lets the header tell of a table that is not there. */
static void cut_sections(const char *from, const char *to, bool leave_header)
{
	char path[256];
	uint64_t end = 0;
	Elf64_Ehdr header;
	Elf64_Phdr p;
	int fd, i;

	assert_int_equal(shell("cp '%s/%s' '%s/%s'", program_dir, from, program_dir, to), 0);
	snprintf(path, sizeof(path), "%s/%s", program_dir, to);
	fd = open(path, O_RDWR);
	assert_int_equal(pread(fd, &header, sizeof(header), 0), sizeof(header));
	for (i = 0; i < header.e_phnum; i++) {
		assert_int_equal(pread(fd, &p, sizeof(p), (off_t)(header.e_phoff + (size_t)i * sizeof(p))),
		                 sizeof(p));
		if (p.p_offset + p.p_filesz > end)
			end = p.p_offset + p.p_filesz;
	}
	assert_true(end < header.e_shoff);
	if (!leave_header)
		header.e_shoff = header.e_shnum = header.e_shstrndx = 0;
	assert_int_equal(pwrite(fd, &header, sizeof(header), 0), sizeof(header));
	assert_int_equal(ftruncate(fd, (off_t)end), 0);
	close(fd);
}

/* Of the whole file too, section for section, but for .eh_frame's end. */
static void assert_sections(struct elf_file *whole, struct elf_file *cut)
{
	static const char *const names[] = { ".dynsym", ".dynstr", ".eh_frame_hdr", ".eh_frame" };
	struct elf_section a, b;
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(*names); i++) {
		assert_int_equal(elf_file_section(whole, names[i], &a), 0);
		if (elf_file_section(cut, names[i], &b))
			fail_msg("no %s", names[i]);
		assert_int_equal(a.address, b.address);
		assert_true(i == 3 ? b.len >= a.len : b.len == a.len);
		assert_memory_equal(a.data, b.data, a.len);
	}
}

/* Each function is unwound by the same rules. */
static void assert_unwinding(struct elf_file *whole, struct elf_file *cut)
{
	const struct cfi_rules *a, *b;
	struct cfi *by_whole, *by_cut;
	uint64_t start = 0;
	int n;

	assert_int_equal(cfi_new(whole, &by_whole), 0);
	assert_int_equal(cfi_new(cut, &by_cut), 0);
	for (n = 0; cfi_next_function(by_whole, start, &start); n++, start++) {
		assert_int_equal(cfi_rules_at(by_whole, start, &a), 0);
		assert_int_equal(cfi_rules_at(by_cut, start, &b), 0);
		assert_memory_equal(a, b, sizeof(*a));
	}
	assert_true(n >= 99);
	cfi_free(by_whole);
	cfi_free(by_cut);
}

static void compare(const char *name, bool leave_header)
{
	struct elf_file *whole = open_file(name), *cut;
	char hex[BUILD_ID_HEX_SIZE], wanted[32];
	struct symtab_hit hit;
	struct symtab *t;
	uint64_t address;
	int i;

	cut_sections(name, "cut.so", leave_header);
	cut = open_file("cut.so");
	assert_int_equal(elf_file_lost_sections(cut), leave_header);
	assert_sections(whole, cut);
	elf_file_release_all(cut);
	assert_sections(whole, cut);
	assert_unwinding(whole, cut);
	debug_file_build_id(cut, hex);
	assert_string_equal(hex, "0123456789abcdef");
	assert_int_equal(symtab_new(cut, NULL, &t), 0);
	for (i = 1; i <= 99; i++) {
		snprintf(wanted, sizeof(wanted), "function_%d", i);
		assert_int_equal(symtab_address(whole, wanted, &address), 0);
		assert_true(symtab_find(t, address + 1, &hit));
		assert_string_equal(hit.name, wanted);
	}
	symtab_free(t);
	elf_file_close(cut);
	elf_file_close(whole);
}

static void test_elf_sectionless__gnu_hash(void **state)
{
	(void)state;
	compare("gnu.so", false);
}

static void test_elf_sectionless__hash(void **state)
{
	(void)state;
	compare("sysv.so", false);
}

static void test_elf_sectionless__table_outside_the_file(void **state)
{
	(void)state;
	compare("gnu.so", true);
}

/* Each word of the dynamic section set to something silly: read none the less, and never outside the file. */
static void test_elf_sectionless__silly_tables(void **state)
{
	static const uint64_t silly[] = { 0, 1, 0x1000, 0x7fffffffffffffff, UINT64_MAX };
	struct elf_file *f;
	struct elf_section section;
	char path[256];
	Elf64_Ehdr header;
	Elf64_Phdr p;
	size_t i, j;
	int fd;

	(void)state;
	cut_sections("gnu.so", "whole.so", false);
	f = open_file("whole.so");
	elf_file_read(f, 0, &header, sizeof(header));
	for (i = 0; i < header.e_phnum; i++)
		if (!elf_file_read(f, header.e_phoff + i * sizeof(p), &p, sizeof(p)) &&
		    p.p_type == PT_DYNAMIC)
			break;
	assert_true(i < header.e_phnum);
	elf_file_close(f);
	snprintf(path, sizeof(path), "%s/silly.so", program_dir);
	for (i = 8; i < p.p_filesz; i += 16) {
		for (j = 0; j < sizeof(silly) / sizeof(*silly); j++) {
			assert_int_equal(shell("cp '%s/whole.so' '%s'", program_dir, path), 0);
			fd = open(path, O_RDWR);
			assert_int_equal(pwrite(fd, &silly[j], 8, (off_t)(p.p_offset + i)), 8);
			close(fd);
			f = open_file("silly.so");
			assert_int_equal(elf_file_section(f, ".eh_frame_hdr", &section), 0);
			if (!elf_file_section(f, ".dynsym", &section))
				assert_true(section.len && section.data[section.len - 1] < 255);
			elf_file_close(f);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_elf_sectionless__gnu_hash),
		cmocka_unit_test(test_elf_sectionless__hash),
		cmocka_unit_test(test_elf_sectionless__table_outside_the_file),
		cmocka_unit_test(test_elf_sectionless__silly_tables),
	};

	return cmocka_run_group_tests(tests, make_libraries, program_dir_remove);
}
