/*
 * Tests of unwind tables that are read in parts: of a file with so many functions that the linker's table has several
 * blocks, sound and wrong in many ways.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbolizer/cfi/cfi.h"
#include "symbolizer/cfi/cfi_index.h"
#include "tests/unit/frame_image.h"

#define FUNCTIONS (20 * CFI_INDEX_BLOCK + 40)
#define HDR       0x10000u
#define EH_FRAME  0x20000u
#define CODE      0x100000
#define LENGTH    16
#define MAX_BYTES ((size_t)16 << 20)

struct pair {
	int32_t start, fde;
};

struct bytes {
	uint8_t data[1 << 17];
	size_t n;
};

/* A file with FUNCTIONS functions, the i-th at address_of(i), each with a CFA of its own. */
static struct {
	struct bytes eh_frame;
	struct {
		uint8_t start[4];
		int32_t eh_frame;
		uint32_t n;
		struct pair pairs[FUNCTIONS];
	} hdr;
	uint64_t code;
	int fd;
	struct elf_file *file;
	struct cfi *cfi;
} at;

static uint64_t address_of(int i)
{
	return at.code + LENGTH * (uint64_t)i;
}

static void put(struct bytes *to, const void *bytes, size_t n)
{
	memcpy(to->data + to->n, bytes, n);
	to->n += n;
}

static void put_word(struct bytes *to, uint32_t word)
{
	put(to, &word, sizeof(word));
}

/* Ends the entry that begins there: pads it with `nops`, and up to a multiple of four. */
static void end_entry(struct bytes *to, size_t start, size_t nops)
{
	uint32_t length;

	memset(to->data + to->n, 0, nops + 4);
	to->n += nops;
	to->n += -to->n & 3;
	length = (uint32_t)(to->n - start - 4);
	memcpy(to->data + start, &length, sizeof(length));
}

static void put_cie(struct bytes *to, size_t nops)
{
	size_t start = to->n;

	put_word(to, 0);
	put_word(to, 0);
	put(to, "\1zR\0\1\x78\x10\1\x1b\x0c\7\x08\x90\1", 14);
	end_entry(to, start, nops);
}

static int32_t cfa_of(int i)
{
	return 16 + 4 * i;
}

static void put_fde(struct bytes *to, size_t cie, int i, size_t nops)
{
	size_t start = to->n;
	uint8_t program[] = { 0, 0x0e, (uint8_t)(0x80 | (cfa_of(i) & 0x7f)),
		              (uint8_t)(cfa_of(i) >> 7 & 0x7f) };

	at.hdr.pairs[i] = (struct pair){ .start = (int32_t)(address_of(i) - HDR),
		                         .fde = (int32_t)(EH_FRAME + start - HDR) };
	put_word(to, 0);
	put_word(to, (uint32_t)(to->n - cie));
	put_word(to, (uint32_t)(address_of(i) - (EH_FRAME + to->n)));
	put_word(to, LENGTH);
	put(to, program, sizeof(program));
	end_entry(to, start, nops);
}

/* `cie_nops`, `fde_nops`: how long the CIE and the tenth function's FDE are. */
static void make_tables_at(uint64_t code, size_t cie_nops, size_t fde_nops)
{
	int i;

	memset(&at, 0, sizeof(at));
	at.code = code;
	memcpy(at.hdr.start, "\1\x1b\x03\x3b", 4);
	at.hdr.eh_frame = (int32_t)(EH_FRAME - HDR - 4);
	at.hdr.n = FUNCTIONS;
	put_cie(&at.eh_frame, cie_nops);
	for (i = 0; i < FUNCTIONS; i++)
		put_fde(&at.eh_frame, 0, i, i == 10 ? fde_nops : 0);
}

static void make_tables(size_t cie_nops, size_t fde_nops)
{
	make_tables_at(CODE, cie_nops, fde_nops);
}

static void open_file(void)
{
	const struct frame_section sections[FRAME_IMAGE_SECTIONS] = {
		{ .data = at.eh_frame.data, .len = at.eh_frame.n, .address = EH_FRAME },
		{ .data = NULL },
		{ .data = &at.hdr, .len = sizeof(at.hdr), .address = HDR },
	};
	struct frame_image *image;
	size_t len;

	image = frame_image_new(EM_X86_64, sections, &len);
	assert_non_null(image);
	at.fd = memfd_create("frames", MFD_CLOEXEC);
	assert_int_equal(write(at.fd, image, len), len);
	free(image);
	assert_int_equal(elf_file_open(dup(at.fd), false, MAX_BYTES, &at.file), 0);
	assert_int_equal(cfi_new(at.file, &at.cfi), 0);
}

static void close_file(void)
{
	cfi_free(at.cfi);
	elf_file_close(at.file);
	close(at.fd);
}

static void assert_found(int i)
{
	uint64_t address = address_of(i);
	const struct cfi_rules *rules;
	struct cfi_row row;

	assert_int_equal(cfi_rules_at(at.cfi, address + LENGTH - 1, &rules), 0);
	assert_int_equal(rules->cfa.n, cfa_of(i));
	assert_int_equal(cfi_find(at.cfi, address, &row), 0);
	assert_true(row.start == address && row.end == address + LENGTH && row.cfa.n == cfa_of(i));
}

/* By evaluator, and by rows, which are made after some questions. */
static void assert_all_found(void)
{
	int i, times;

	for (times = 0; times < 2; times++) {
		for (i = 0; i < FUNCTIONS; i += 7)
			assert_found(i);
		for (i = FUNCTIONS - 1; i >= 0; i--)
			assert_found(i);
	}
}

static void assert_none_at(uint64_t address)
{
	const struct cfi_rules *rules;
	struct cfi_row row;

	assert_int_equal(cfi_rules_at(at.cfi, address, &rules), -ENOENT);
	assert_int_equal(cfi_find(at.cfi, address, &row), -ENOENT);
}

static void assert_none_around(void)
{
	assert_none_at(0);
	assert_none_at(CODE - 1);
	assert_none_at(address_of(FUNCTIONS));
	assert_none_at(UINT64_MAX);
}

static void test_cfi_index__reads_what_it_needs(void **state)
{
	size_t before;

	(void)state;
	make_tables(0, 0);
	open_file();
	before = cfi_memory(at.cfi);
	assert_found(FUNCTIONS - 1);
	assert_true(cfi_memory(at.cfi) - before < sizeof(at.hdr.pairs));
	assert_all_found();
	assert_none_around();
	close_file();
}

static void test_cfi_index__functions_in_order(void **state)
{
	uint64_t address = 0, start;
	int i;

	(void)state;
	make_tables(0, 0);
	open_file();
	for (i = 0; cfi_next_function(at.cfi, address, &start); i++, address = start + 1)
		assert_int_equal(start, address_of(i));
	assert_int_equal(i, FUNCTIONS);
	close_file();
}

static void swap(int a, int b)
{
	struct pair kept = at.hdr.pairs[a];

	at.hdr.pairs[a] = at.hdr.pairs[b];
	at.hdr.pairs[b] = kept;
}

static void in_one_block(void)
{
	swap(20, 70);
}

static void neighbours(void)
{
	swap(20, 21);
}

static void at_a_border(void)
{
	swap(CFI_INDEX_BLOCK - 1, CFI_INDEX_BLOCK);
}

static void blocks(void)
{
	int i;

	for (i = 0; i < CFI_INDEX_BLOCK; i++)
		swap(i, 2 * CFI_INDEX_BLOCK + i);
}

static void backwards(void)
{
	int i;

	for (i = 0; i < FUNCTIONS / 2; i++)
		swap(i, FUNCTIONS - 1 - i);
}

static void twice(void)
{
	at.hdr.pairs[31] = at.hdr.pairs[30];
}

static void twice_at_a_border(void)
{
	at.hdr.pairs[CFI_INDEX_BLOCK] = at.hdr.pairs[CFI_INDEX_BLOCK - 1];
}

static void of_others(void)
{
	int i;

	for (i = 0; i < FUNCTIONS; i++)
		at.hdr.pairs[i].fde = at.hdr.pairs[(i + 1) % FUNCTIONS].fde;
}

static void outside(void)
{
	int i;

	for (i = 0; i < FUNCTIONS; i += 3)
		at.hdr.pairs[i].fde = i % 2 ? INT32_MAX : INT32_MIN;
}

static void at_the_end(void)
{
	at.hdr.pairs[FUNCTIONS - 1].fde = (int32_t)(EH_FRAME + at.eh_frame.n - HDR);
}

/* The linker's table is wrong, and all functions are found none the less, each with its own rules. */
static void test_cfi_index__wrong_tables(void **state)
{
	static void (*const spoil[])(void) = { in_one_block, neighbours, at_a_border,       blocks,
		                               backwards,    twice,      twice_at_a_border, outside,
		                               at_the_end };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(spoil) / sizeof(*spoil); i++) {
		make_tables(0, 0);
		spoil[i]();
		open_file();
		assert_all_found();
		assert_none_around();
		close_file();
	}
}

/* Sorted, but each pair leads to the FDE of another function: none of them is taken for its own. */
static void test_cfi_index__pairs_that_lead_elsewhere(void **state)
{
	int i;

	(void)state;
	make_tables(0, 0);
	of_others();
	open_file();
	for (i = 0; i < FUNCTIONS; i++)
		assert_none_at(address_of(i));
	close_file();
}

/* Rules that were given out are valid as long as the table, though the index behind them was replaced. */
static void test_cfi_index__rules_outlive_a_wrong_table(void **state)
{
	const struct cfi_rules *before, *after;

	(void)state;
	make_tables(0, 0);
	swap(FUNCTIONS - 1, FUNCTIONS - 2);
	open_file();
	assert_int_equal(cfi_rules_at(at.cfi, CODE, &before), 0);
	assert_found(FUNCTIONS - 1);
	assert_int_equal(cfi_rules_at(at.cfi, CODE, &after), 0);
	assert_ptr_equal(before, after);
	assert_int_equal(before->cfa.n, cfa_of(0));
	close_file();
}

/* Entries for which the buffer has to grow, each alone and both. */
static void test_cfi_index__long_entries(void **state)
{
	static const size_t nops[][2] = { { 3000, 0 }, { 0, 5000 }, { 3000, 5000 }, { 100, 1300 } };
	size_t i;
	int times;

	(void)state;
	for (i = 0; i < sizeof(nops) / sizeof(*nops); i++) {
		make_tables(nops[i][0], nops[i][1]);
		open_file();
		/* In the chunk of the long one, whose rows are made when it was not asked for itself. */
		for (times = 0; times < 6; times++)
			assert_found(8);
		assert_found(10);
		assert_all_found();
		assert_none_around();
		close_file();
	}
}

/* Only a wrong file has code below address 0, which its table has before all other; nor does a function lie across it. */
static void test_cfi_index__addresses_that_wrap(void **state)
{
	int i, times;

	(void)state;
	make_tables_at(0 - (uint64_t)LENGTH * 8 - LENGTH / 2, 0, 0);
	open_file();
	for (times = 0; times < 6; times++)
		for (i = 0; i < FUNCTIONS; i++)
			if (i != 8)
				assert_found(i);
	assert_none_at(address_of(8));
	close_file();
}

/* The file shrinks: what can't be read is not found, and nothing else happens. */
static void test_cfi_index__a_file_that_shrinks(void **state)
{
	const struct cfi_rules *rules;
	int i, err;

	(void)state;
	make_tables(0, 0);
	open_file();
	assert_found(0);
	assert_int_equal(ftruncate(at.fd, 4096), 0);
	for (i = 0; i < FUNCTIONS; i++) {
		err = cfi_rules_at(at.cfi, address_of(i), &rules);
		assert_true(err == -ENOENT || (!err && rules->cfa.n == cfa_of(i)));
	}
	assert_none_at(address_of(FUNCTIONS - 1));
	close_file();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cfi_index__reads_what_it_needs),
		cmocka_unit_test(test_cfi_index__functions_in_order),
		cmocka_unit_test(test_cfi_index__wrong_tables),
		cmocka_unit_test(test_cfi_index__pairs_that_lead_elsewhere),
		cmocka_unit_test(test_cfi_index__rules_outlive_a_wrong_table),
		cmocka_unit_test(test_cfi_index__long_entries),
		cmocka_unit_test(test_cfi_index__addresses_that_wrap),
		cmocka_unit_test(test_cfi_index__a_file_that_shrinks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
