/* Tests of dwarf_index.h on files made to cost far more memory or time than their size. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dwarf.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "symbolizer/dwarf/dwarf_index.h"

#define MIB       ((size_t)1 << 20)
#define MAX_BYTES (512 * MIB)

/* An address that all units claim and none has anything of. */
#define PC 0x5000

/* --- files ------------------------------------------------------------------------------------------ */

struct bytes {
	uint8_t data[48 * 1024 * 1024];
	size_t len;
};

enum { INFO, ABBREV, LINE, ARANGES, RANGES, STR, NAMES, N_SECTIONS };

static const char *const names[N_SECTIONS] = { ".debug_info",    ".debug_abbrev", ".debug_line",
	                                       ".debug_aranges", ".debug_ranges", ".debug_str",
	                                       ".shstrtab" };

static struct bytes sections[N_SECTIONS], image;

static void put(struct bytes *b, uint64_t value, size_t size)
{
	assert_true(size <= sizeof(b->data) - b->len);
	memcpy(b->data + b->len, &value, size);
	b->len += size;
}

static void put_all(struct bytes *b, const void *data, size_t len)
{
	assert_true(len <= sizeof(b->data) - b->len);
	memcpy(b->data + b->len, data, len);
	b->len += len;
}

/* For codes; those of forms and attributes are below 128. */
static void put_uleb(struct bytes *b, uint64_t value)
{
	for (; value >= 128; value >>= 7)
		put(b, (value & 127) | 128, 1);
	put(b, value, 1);
}

static void start(void)
{
	size_t i;

	for (i = 0; i < N_SECTIONS; i++)
		sections[i].len = 0;
	image.len = 0;
}

/* The file of all sections, without segments: any address may be code. */
static struct elf_file *finish(void)
{
	Elf64_Ehdr ehdr = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		            .e_type = ET_DYN,
		            .e_machine = EM_X86_64,
		            .e_shentsize = sizeof(Elf64_Shdr),
		            .e_shnum = N_SECTIONS + 1,
		            .e_shstrndx = NAMES + 1 };
	Elf64_Shdr shdrs[N_SECTIONS + 1] = { 0 };
	struct elf_file *f;
	size_t i;

	put(&sections[NAMES], 0, 1);
	for (i = 0; i < N_SECTIONS; i++) {
		shdrs[i + 1].sh_name = (uint32_t)sections[NAMES].len;
		put_all(&sections[NAMES], names[i], strlen(names[i]) + 1);
	}
	put_all(&image, &ehdr, sizeof(ehdr));
	for (i = 0; i < N_SECTIONS; i++) {
		shdrs[i + 1].sh_type = SHT_PROGBITS;
		shdrs[i + 1].sh_offset = image.len;
		shdrs[i + 1].sh_size = sections[i].len;
		put_all(&image, sections[i].data, sections[i].len);
	}
	ehdr.e_shoff = image.len;
	put_all(&image, shdrs, sizeof(shdrs));
	memcpy(image.data, &ehdr, sizeof(ehdr));
	assert_int_equal(elf_file_open_image(image.data, image.len, MAX_BYTES, &f), 0);
	return f;
}

/* A unit of version 4 that has `dies`; returns the offset of the first of them. */
static uint64_t put_unit(uint64_t abbrev_offset, const uint8_t *dies, size_t len)
{
	put(&sections[INFO], 7 + len, 4);
	put(&sections[INFO], 4, 2);
	put(&sections[INFO], abbrev_offset, 4);
	put(&sections[INFO], 8, 1);
	put_all(&sections[INFO], dies, len);
	return sections[INFO].len - len;
}

/* Says that the unit at that offset has the 4 KiB from there on. */
static void put_arange_at(uint64_t unit, uint64_t low)
{
	struct bytes *b = &sections[ARANGES];

	put(b, 44, 4);
	put(b, 2, 2);
	put(b, unit, 4);
	put(b, 8, 1);
	put(b, 0, 5); /* segments, and to a multiple of 16 */
	put(b, low, 8);
	put(b, 0x1000, 8);
	put(b, 0, 8);
	put(b, 0, 8);
}

static void put_arange(uint64_t unit)
{
	put_arange_at(unit, PC & ~0xff);
}

/* An abbreviation without its attributes, which pairs of numbers are to follow, and 0, 0. */
static void put_abbrev(uint64_t code, uint64_t tag, bool has_children)
{
	put_uleb(&sections[ABBREV], code);
	put_uleb(&sections[ABBREV], tag);
	put(&sections[ABBREV], has_children, 1);
}

static void put_attribute(uint64_t name, uint64_t form)
{
	put_uleb(&sections[ABBREV], name);
	put_uleb(&sections[ABBREV], form);
}

/* A file whose units have a root alone, with one attribute of four bytes. */
static void start_units(uint64_t name, uint64_t form)
{
	start();
	put_abbrev(1, DW_TAG_compile_unit, false);
	put_attribute(name, form);
	put_attribute(0, 0);
	put(&sections[ABBREV], 0, 1);
}

/* Such units; the attribute is 0. */
static void put_units(int n, bool with_aranges)
{
	static const uint8_t die[] = { 1, 0, 0, 0, 0 };

	while (n--) {
		if (with_aranges)
			put_arange(sections[INFO].len);
		put_unit(0, die, sizeof(die));
	}
}

/* Some `n` attributes that take no bytes in a DIE, in abbreviations from `code` on; returns the next code. */
static uint64_t put_padding(uint64_t code, size_t n)
{
	size_t i;

	while (n) {
		put_abbrev(code++, DW_TAG_variable, false);
		for (i = 0; i < 200 && n; i++, n--)
			put_attribute(DW_AT_external, DW_FORM_flag_present);
		put_attribute(0, 0);
	}
	return code;
}

/* A program with so many rows, far from the PC. */
#define LINES_START 0x100000

static void put_lines(size_t rows)
{
	static const uint8_t header[] = { 1, 1, 0, 1, 1, 0, 0 }; /* special opcodes alone */
	struct bytes *b = &sections[LINE];

	put(b, 6 + sizeof(header) + 11 + rows + 3, 4);
	put(b, 2, 2);
	put(b, sizeof(header), 4);
	put_all(b, header, sizeof(header));
	put(b, 0, 1); /* extended: */
	put(b, 9, 1);
	put(b, DW_LNE_set_address, 1);
	put(b, LINES_START, 8);
	while (rows--)
		put(b, 2, 1); /* the next byte, a row */
	put(b, 0, 1);
	put(b, 1, 1);
	put(b, DW_LNE_end_sequence, 1);
}

/* A unit with the line table at that offset. */
static void put_unit_with_lines(uint64_t low, uint32_t offset)
{
	uint8_t die[5] = { 1 };

	memcpy(die + 1, &offset, sizeof(offset));
	put_arange_at(sections[INFO].len, low);
	put_unit(0, die, sizeof(die));
}

static struct dwarf_index *open_index(struct elf_file *f, struct elf_file *alt)
{
	struct dwarf_index *x;

	assert_int_equal(dwarf_index_new(f, f, alt, MIB, NULL, &x), 0);
	return x;
}

/* --- memory ----------------------------------------------------------------------------------------- */

/* 32 units share one line table of 2 MiB, and each is looked into for an address that none has. */
static void test_dwarf_hostile__units_of_one_lookup(void **state)
{
	struct dwarf_place place;
	struct dwarf_index *x;
	struct elf_file *f;

	(void)state;
	start_units(DW_AT_stmt_list, DW_FORM_sec_offset);
	put_units(32, true);
	put_lines(100000);
	f = finish();
	x = open_index(f, NULL);
	assert_false(dwarf_index_locate(x, PC, &place));
	assert_true(dwarf_index_memory(x) > 2 * MIB);
	assert_true(dwarf_index_memory(x) < 16 * MIB);
	assert_true(dwarf_index_is_partial(x));
	assert_true(dwarf_index_errors(x) > 0);
	/* Nor does the next lookup keep more. */
	assert_false(dwarf_index_locate(x, PC + 1, &place));
	assert_true(dwarf_index_memory(x) < 16 * MIB);
	dwarf_index_free(x);
	elf_file_close(f);
}

/*
 * 16 functions, each of which has its name from the next one, in a unit with a table of abbreviations of its own:
 * 16 MiB. `form` is how they refer to it. Returns the first.
 */
static uint64_t put_chain(uint64_t form)
{
	uint8_t dies[6] = { 1, 2 };
	uint64_t first = 0;
	uint32_t next;
	int i;

	start();
	for (i = 0; i < 16; i++) {
		next = (uint32_t)sections[INFO].len + (11 + sizeof(dies)) + 12;
		memcpy(dies + 2, &next, sizeof(next));
		first = put_unit(sections[ABBREV].len, dies, sizeof(dies));
		put_abbrev(1, DW_TAG_compile_unit, true);
		put_attribute(0, 0);
		put_abbrev(2, DW_TAG_subprogram, false);
		put_attribute(DW_AT_abstract_origin, form);
		put_attribute(0, 0);
	}
	put_padding(3, MIB - 4096);
	put(&sections[ABBREV], 0, 1);
	return first - 15 * (11 + sizeof(dies)) + 1;
}

static void test_dwarf_hostile__abbreviations_of_one_name(void **state)
{
	uint64_t first = put_chain(DW_FORM_ref_addr);
	struct elf_file *f = finish();
	struct dwarf_index *x = open_index(f, NULL);
	struct dwarf_place place;
	char name[64];

	(void)state;
	assert_false(dwarf_index_name(x, first, name, sizeof(name)));
	assert_true(dwarf_index_memory(x) > 16 * MIB);
	assert_true(dwarf_index_memory(x) < 128 * MIB);
	assert_true(dwarf_index_is_partial(x));
	assert_false(dwarf_index_locate(x, PC, &place));
	assert_true(dwarf_index_memory(x) < MIB);
	dwarf_index_free(x);
	elf_file_close(f);
}

/* Those of the file that dwz shares are given back, too. */
static void test_dwarf_hostile__abbreviations_of_alt(void **state)
{
	uint64_t first = put_chain(DW_FORM_GNU_ref_alt);
	struct elf_file *f = finish();
	struct dwarf_index *x = open_index(f, f);
	struct dwarf_place place;
	char name[64];

	(void)state;
	assert_false(dwarf_index_name(x, first, name, sizeof(name)));
	assert_true(dwarf_index_memory(x) > 32 * MIB - MIB);
	assert_false(dwarf_index_locate(x, PC, &place));
	assert_true(dwarf_index_memory(x) < MIB);
	dwarf_index_free(x);
	elf_file_close(f);
}

/* A unit with more lines than are kept has those before. */
static void test_dwarf_hostile__rows_of_one_unit(void **state)
{
	struct dwarf_place place;
	struct dwarf_index *x;
	struct elf_file *f;

	(void)state;
	start_units(DW_AT_stmt_list, DW_FORM_sec_offset);
	put_unit_with_lines(LINES_START, 0);
	put_arange_at(0, LINES_START + ((uint64_t)4 << 20));
	put_lines((4 << 20) + 1000);
	f = finish();
	x = open_index(f, NULL);
	assert_true(dwarf_index_locate(x, LINES_START + 100, &place));
	assert_true(dwarf_index_is_partial(x));
	assert_int_equal(dwarf_index_errors(x), 1);
	assert_true(dwarf_index_memory(x) < 80 * MIB);
	assert_false(dwarf_index_locate(x, LINES_START + (4 << 20) + 500, &place));
	dwarf_index_free(x);
	elf_file_close(f);
}

/* --- time ------------------------------------------------------------------------------------------- */

/* All answers are given within so many seconds of CPU, with sanitizers too; without bounds they took far longer. */
#define MAX_SECONDS 20

/* Asks for three addresses, of which nothing is known. */
static void assert_soon(struct elf_file *f)
{
	struct dwarf_index *x = open_index(f, NULL);
	clock_t began = clock();
	struct dwarf_place place;
	uint64_t i;

	for (i = 0; i < 3; i++)
		assert_false(dwarf_index_locate(x, PC + i, &place));
	print_message("%.2f s of CPU\n", (double)(clock() - began) / CLOCKS_PER_SEC);
	assert_true(clock() - began < MAX_SECONDS * CLOCKS_PER_SEC);
	assert_true(dwarf_index_is_partial(x));
	assert_true(dwarf_index_errors(x) > 0 && dwarf_index_errors(x) < 100);
	dwarf_index_free(x);
	elf_file_close(f);
}

/* Units in turn have one of two tables of 2 MB that end alike, with what the root of each is. */
static void test_dwarf_hostile__units_and_abbreviations(void **state)
{
	static const uint8_t die[] = { 0x80, 0x7f }; /* the code of the last one */
	uint64_t second;
	int i;

	(void)state;
	start();
	put_abbrev(1, DW_TAG_variable, false);
	put_attribute(0, 0);
	second = sections[ABBREV].len;
	put_padding(2, MIB - 4096);
	put_abbrev(127 << 7, DW_TAG_compile_unit, false);
	put_attribute(0, 0);
	put(&sections[ABBREV], 0, 1);
	for (i = 0; i < 20000; i++)
		put_unit(i % 2 ? second : 0, die, sizeof(die));
	assert_soon(finish());
}

/* Units whose roots have one list of ranges, at 0, where there is no code. */
static void test_dwarf_hostile__units_and_ranges(void **state)
{
	int i;

	(void)state;
	start_units(DW_AT_ranges, DW_FORM_sec_offset);
	for (i = 0; i < 1 << 20; i++) {
		put(&sections[RANGES], 0, 8);
		put(&sections[RANGES], 1, 8);
	}
	put(&sections[RANGES], 0, 8);
	put(&sections[RANGES], 0, 8);
	put_units(20000, false);
	assert_soon(finish());
}

/* Functions of one byte, each with a million attributes that take none. */
static void test_dwarf_hostile__functions_and_attributes(void **state)
{
	static uint8_t dies[40000] = { 1 };
	int i;

	(void)state;
	start();
	put_abbrev(1, DW_TAG_compile_unit, true);
	put_attribute(0, 0);
	put_abbrev(2, DW_TAG_subprogram, false);
	for (i = 0; i < 1000000; i++)
		put_attribute(DW_AT_external, DW_FORM_flag_present);
	put_attribute(0, 0);
	put(&sections[ABBREV], 0, 1);
	memset(dies + 1, 2, sizeof(dies) - 1);
	put_arange(sections[INFO].len);
	put_unit(0, dies, sizeof(dies));
	assert_soon(finish());
}

/* Units that share a line table of 32 MB with few rows, 32 of which are tried for each address. */
static void test_dwarf_hostile__units_and_lines(void **state)
{
	(void)state;
	start_units(DW_AT_stmt_list, DW_FORM_sec_offset);
	put_units(4000, true);
	put_lines(32 * MIB);
	memset(sections[LINE].data + 100, 1, 32 * MIB - 100); /* the same address again */
	assert_soon(finish());
}

/* Units share a name of 32 MB. */
static void test_dwarf_hostile__units_and_names(void **state)
{
	struct dwarf_place place;
	struct dwarf_index *x;
	struct elf_file *f;
	clock_t began;

	(void)state;
	start_units(DW_AT_name, DW_FORM_strp);
	put_units(20000, false);
	memset(sections[STR].data, 'a', 32 * MIB);
	sections[STR].len = 32 * MIB;
	put(&sections[STR], 0, 1);
	f = finish();
	x = open_index(f, NULL);
	began = clock();
	assert_false(dwarf_index_locate(x, PC, &place));
	assert_true(clock() - began < MAX_SECONDS * CLOCKS_PER_SEC);
	dwarf_index_free(x);
	elf_file_close(f);
}

/* Units as compilers make them, which share a table in a row: no work to speak of. */
static void test_dwarf_hostile__ordinary_units(void **state)
{
	static const uint8_t die[] = { 0x80, 0x7f };
	struct dwarf_place place;
	struct dwarf_index *x;
	struct elf_file *f;

	(void)state;
	start();
	put_padding(1, MIB - 4096);
	put_abbrev(127 << 7, DW_TAG_compile_unit, false);
	put_attribute(0, 0);
	put(&sections[ABBREV], 0, 1);
	for (int i = 0; i < 20000; i++)
		put_unit(0, die, sizeof(die));
	f = finish();
	x = open_index(f, NULL);
	assert_false(dwarf_index_locate(x, PC, &place));
	assert_false(dwarf_index_is_partial(x));
	assert_int_equal(dwarf_index_errors(x), 0);
	dwarf_index_free(x);
	elf_file_close(f);
}

/* One unit with nearly all lines, which is more than may be kept, and is dropped and loaded again and again. */
static void test_dwarf_hostile__ordinary_large_unit(void **state)
{
	const size_t n_idle = 30 * MIB, n_rows = 100000;
	struct dwarf_place place;
	struct dwarf_index *x;
	struct elf_file *f;
	uint64_t i;

	(void)state;
	start_units(DW_AT_stmt_list, DW_FORM_sec_offset);
	put_unit_with_lines(LINES_START, 0);
	put_lines(n_idle + n_rows);
	memset(sections[LINE].data + 100, 1, n_idle); /* the same address again */
	put_unit_with_lines(PC, (uint32_t)sections[LINE].len);
	put_lines(1);
	f = finish();
	x = open_index(f, NULL);
	for (i = 0; i < 40; i++) {
		assert_true(dwarf_index_locate(x, LINES_START + 2000 + i, &place));
		assert_false(dwarf_index_locate(x, PC + i, &place));
	}
	assert_false(dwarf_index_is_partial(x));
	assert_int_equal(dwarf_index_errors(x), 0);
	dwarf_index_free(x);
	elf_file_close(f);
}

/* A file that took too much work is read again, after lookups in which it was not. */
static void test_dwarf_hostile__rests(void **state)
{
	struct dwarf_place place;
	struct dwarf_index *x;
	struct elf_file *f;
	uint64_t i;

	(void)state;
	start_units(DW_AT_stmt_list, DW_FORM_sec_offset);
	put_unit_with_lines(LINES_START, 0);
	put_units(40, true);
	put_lines(32 * MIB);
	memset(sections[LINE].data + 1100, 1, 32 * MIB - 1100);
	f = finish();
	x = open_index(f, NULL);
	assert_true(dwarf_index_locate(x, LINES_START + 500, &place));
	assert_false(dwarf_index_locate(x, PC, &place));
	assert_false(dwarf_index_locate(x, LINES_START + 500, &place));
	for (i = 0; i < 20; i++)
		if (dwarf_index_locate(x, LINES_START + 500, &place))
			break;
	assert_true(i > 2 && i < 20);
	assert_true(dwarf_index_is_partial(x));
	dwarf_index_free(x);
	elf_file_close(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dwarf_hostile__units_of_one_lookup),
		cmocka_unit_test(test_dwarf_hostile__rows_of_one_unit),
		cmocka_unit_test(test_dwarf_hostile__abbreviations_of_one_name),
		cmocka_unit_test(test_dwarf_hostile__abbreviations_of_alt),
		cmocka_unit_test(test_dwarf_hostile__units_and_abbreviations),
		cmocka_unit_test(test_dwarf_hostile__units_and_ranges),
		cmocka_unit_test(test_dwarf_hostile__functions_and_attributes),
		cmocka_unit_test(test_dwarf_hostile__units_and_lines),
		cmocka_unit_test(test_dwarf_hostile__units_and_names),
		cmocka_unit_test(test_dwarf_hostile__ordinary_units),
		cmocka_unit_test(test_dwarf_hostile__ordinary_large_unit),
		cmocka_unit_test(test_dwarf_hostile__rests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
