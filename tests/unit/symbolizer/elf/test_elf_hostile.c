/* Tests of elf_file.h, symtab.h and debug_file.h on tables made to cost far more time than their size. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "symbolizer/elf/debug_file.h"
#include "symbolizer/elf/symtab.h"

#define MAX_BYTES ((size_t)512 << 20)

/* Answers take so many seconds of CPU at most, with sanitizers too; without bounds they took far longer. */
#define MAX_SECONDS 10

static clock_t began;

static void assert_soon(void)
{
	print_message("%.2f s of CPU\n", (double)(clock() - began) / CLOCKS_PER_SEC);
	assert_true(clock() - began < MAX_SECONDS * CLOCKS_PER_SEC);
}

static Elf64_Ehdr header(void)
{
	return (Elf64_Ehdr){ .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		             .e_type = ET_DYN,
		             .e_machine = EM_X86_64,
		             .e_shentsize = sizeof(Elf64_Shdr),
		             .e_phentsize = sizeof(Elf64_Phdr) };
}

#define N_NOTES (1 << 18)

/*
 * A build-id in front of and behind 2^18 note sections, which are empty, or have 64 KiB without one. The first
 * is found by segments, too.
 */
static void check_notes(uint64_t note_len)
{
	static const uint32_t build_id[] = { 4, 4, NT_GNU_BUILD_ID, 0x554e47, 0xefbeadde };
	static uint8_t image[sizeof(Elf64_Ehdr) + 65536 + (N_NOTES + 2) * sizeof(Elf64_Shdr)];
	Elf64_Shdr *shdrs = (Elf64_Shdr *)(image + sizeof(Elf64_Ehdr) + 65536);
	Elf64_Ehdr ehdr = header();
	char hex[BUILD_ID_HEX_SIZE];
	struct elf_file *f;
	size_t i;

	ehdr.e_shoff = (uint64_t)((uint8_t *)shdrs - image);
	shdrs[0] = (Elf64_Shdr){ .sh_size = N_NOTES + 2 };
	for (i = 1; i < N_NOTES + 2; i++)
		shdrs[i] = (Elf64_Shdr){ .sh_type = SHT_NOTE,
			                 .sh_offset = sizeof(ehdr) + sizeof(build_id),
			                 .sh_size = note_len };
	memcpy(image, &ehdr, sizeof(ehdr));
	memcpy(image + sizeof(ehdr), build_id, sizeof(build_id));
	shdrs[N_NOTES + 1].sh_offset = sizeof(ehdr);
	shdrs[N_NOTES + 1].sh_size = sizeof(build_id);
	assert_int_equal(elf_file_open_image(image, sizeof(image), MAX_BYTES, &f), 0);
	debug_file_build_id(f, hex);
	assert_string_equal(hex, "");
	elf_file_close(f);
	shdrs[9] = shdrs[N_NOTES + 1];
	assert_int_equal(elf_file_open_image(image, sizeof(image), MAX_BYTES, &f), 0);
	debug_file_build_id(f, hex);
	assert_string_equal(hex, "deadbeef");
	elf_file_close(f);
}

static void test_elf_hostile__notes(void **state)
{
	(void)state;
	began = clock();
	check_notes(0);
	check_notes(65536 - 64);
	assert_soon();
}

#define MAX_SEGMENTS 1170
#define N_SYMBOLS    (1 << 20)

struct many_segments {
	Elf64_Ehdr ehdr;
	Elf64_Phdr phdrs[MAX_SEGMENTS + 1];
	Elf64_Shdr shdrs[3];
	char strings[16];
	Elf64_Sym symbols[N_SYMBOLS];
};

static struct many_segments many;

/* Segments of 16 bytes each from 0x1000 on, of which every other one is executable; symbols, of which two are in them. */
static void fill_many(size_t n_segments)
{
	size_t i;

	memset(&many, 0, sizeof(many));
	many.ehdr = header();
	many.ehdr.e_phoff = offsetof(struct many_segments, phdrs);
	many.ehdr.e_phnum = (uint16_t)n_segments;
	many.ehdr.e_shoff = offsetof(struct many_segments, shdrs);
	many.ehdr.e_shnum = 3;
	/* From the last address to the first: tables need not be sorted. */
	for (i = 0; i < n_segments; i++)
		many.phdrs[n_segments - 1 - i] = (Elf64_Phdr){ .p_type = PT_LOAD,
			                                       .p_vaddr = 0x1000 + i * 16,
			                                       .p_memsz = 16,
			                                       .p_filesz = 16,
			                                       .p_flags = i % 2 ? PF_R : PF_R | PF_X };
	many.shdrs[1] = (Elf64_Shdr){ .sh_type = SHT_SYMTAB,
		                      .sh_offset = offsetof(struct many_segments, symbols),
		                      .sh_size = sizeof(many.symbols),
		                      .sh_link = 2 };
	many.shdrs[2] = (Elf64_Shdr){ .sh_type = SHT_STRTAB,
		                      .sh_offset = offsetof(struct many_segments, strings),
		                      .sh_size = sizeof(many.strings) };
	memcpy(many.strings, "\0outside\0inside", 16);
	for (i = 0; i < N_SYMBOLS; i++)
		many.symbols[i] = (Elf64_Sym){ .st_name = 1,
			                       .st_info = STT_FUNC,
			                       .st_shndx = 1,
			                       .st_value = 0x100000 + i,
			                       .st_size = 1 };
	for (i = 0; i < 2; i++) {
		many.symbols[i].st_name = 9;
		many.symbols[i].st_value = 0x1000 + i * 32;
	}
}

static void test_elf_hostile__segments(void **state)
{
	struct symtab_hit hit;
	struct elf_file *f;
	struct symtab *t;
	int i;

	(void)state;
	fill_many(MAX_SEGMENTS);
	assert_int_equal(elf_file_open_image(&many, sizeof(many), MAX_BYTES, &f), 0);
	for (i = 0; i < 64; i++)
		assert_int_equal(elf_file_executable(f, 0x0fff + (uint64_t)i), i % 32 >= 1 && i % 32 <= 16);
	began = clock();
	for (i = 0; i < 4; i++) {
		assert_int_equal(symtab_new(f, NULL, &t), 0);
		assert_true(symtab_find(t, 0x1020, &hit));
		assert_string_equal(hit.name, "inside");
		assert_false(symtab_find(t, 0x100000, &hit));
		symtab_free(t);
	}
	assert_soon();
	elf_file_close(f);
	fill_many(MAX_SEGMENTS + 1);
	assert_int_equal(elf_file_open_image(&many, sizeof(many), MAX_BYTES, &f), -EBADMSG);
}

/* Segments that overlap, are empty, end behind the last address or begin at 0. */
static void test_elf_hostile__overlapping_segments(void **state)
{
	static const struct {
		uint64_t address, len;
	} segments[] = { { 0x3000, 0x1000 }, { 0x2000, 0x3000 }, { 0x2800, 0x100 },
		         { 0x6000, 0 },      { 0, 0x10 },        { UINT64_MAX - 0xf, 0x10 },
		         { 0x8000, 0x10 },   { 0x8010, 0x10 },   { UINT64_MAX - 0xf, 0x20 } };
	static const uint64_t inside[] = { 0,      0xf,    0x2000,           0x2900,    0x4fff,
		                           0x800f, 0x8010, UINT64_MAX - 0xf, UINT64_MAX };
	static const uint64_t outside[] = { 0x10, 0x1fff, 0x5000, 0x6000, 0x7fff, 0x8020, UINT64_MAX - 0x10 };
	size_t i, n = sizeof(segments) / sizeof(*segments);
	struct elf_file *f;

	(void)state;
	fill_many(n);
	for (i = 0; i < n; i++) {
		many.phdrs[i].p_flags = PF_X;
		many.phdrs[i].p_vaddr = segments[i].address;
		many.phdrs[i].p_memsz = segments[i].len;
	}
	assert_int_equal(elf_file_open_image(&many, sizeof(many), MAX_BYTES, &f), 0);
	for (i = 0; i < sizeof(inside) / sizeof(*inside); i++)
		assert_true(elf_file_executable(f, inside[i]));
	for (i = 0; i < sizeof(outside) / sizeof(*outside); i++)
		assert_false(elf_file_executable(f, outside[i]));
	elf_file_close(f);
	/* None is executable; there are none: anything is. */
	fill_many(1);
	many.phdrs[0].p_flags = PF_R;
	assert_int_equal(elf_file_open_image(&many, sizeof(many), MAX_BYTES, &f), 0);
	assert_false(elf_file_executable(f, 0x1000));
	elf_file_close(f);
	fill_many(0);
	assert_int_equal(elf_file_open_image(&many, sizeof(many), MAX_BYTES, &f), 0);
	assert_true(elf_file_executable(f, 0x1000));
	elf_file_close(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_elf_hostile__notes),
		cmocka_unit_test(test_elf_hostile__segments),
		cmocka_unit_test(test_elf_hostile__overlapping_segments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
