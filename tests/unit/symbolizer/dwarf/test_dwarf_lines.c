/* Tests of dwarf_lines.h with made-up tables of DWARF 4: which line an address has, and where there is none. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dwarf.h>
#include <errno.h>
#include <string.h>

#include "symbolizer/dwarf/dwarf_lines.h"

/* Of the header: special opcodes from 10 on, each an address more is 14 opcodes, the line -3 to +10. */
#define OPCODE_BASE 10
#define LINE_BASE   (-3)
#define LINE_RANGE  14

static uint8_t table[512];
static size_t used;
static struct dwarf_lines *lines;

static void put(const void *bytes, size_t n)
{
	assert_true(used + n <= sizeof(table));
	memcpy(table + used, bytes, n);
	used += n;
}

static void put_u8(uint8_t byte)
{
	put(&byte, 1);
}

/* Lengths are filled in by read_table(). */
static void begin_table(void)
{
	static const uint8_t lengths[OPCODE_BASE - 1] = { 0, 1, 1, 1, 1, 0, 0, 0, 1 };
	static const char names[] = "include\0" /* directory 1 */ "\0" /* their end */
	                            "a.c\0\0\0\0" /* file 1, in directory 0, without time and length */
	                            "b.h\0\1\0\0" /* file 2, in directory 1 */;
	uint32_t length = 0;
	uint16_t version = 4;

	used = 0;
	put(&length, 4);
	put(&version, 2);
	put(&length, 4);
	put_u8(1); /* instructions of one byte */
	put_u8(1);
	put_u8(1);
	put_u8((uint8_t)LINE_BASE);
	put_u8(LINE_RANGE);
	put_u8(OPCODE_BASE);
	put(lengths, sizeof(lengths));
	put(names, sizeof(names)); /* with the end of the files */
	length = (uint32_t)(used - 10);
	memcpy(table + 6, &length, 4);
}

static void set_address(uint64_t address)
{
	put("\0\x09\x02", 3);
	put(&address, 8);
}

/* So many bytes and lines on, and a row. */
static void row(unsigned int address_more, int line_more)
{
	put_u8((uint8_t)(OPCODE_BASE + LINE_RANGE * address_more + (unsigned int)(line_more - LINE_BASE)));
}

static void end_sequence(uint8_t address_more)
{
	const uint8_t program[] = { DW_LNS_advance_pc, address_more, 0, 1, DW_LNE_end_sequence };

	put(program, sizeof(program));
}

static int read_table(void)
{
	struct dwarf_info info = { .line = { .data = table, .len = used } };
	const struct dwarf_unit unit = {
		.address_size = 8, .offset_size = 4, .comp_dir = "/src", .name = "a.c"
	};
	uint32_t length = (uint32_t)(used - 4);

	memcpy(table, &length, 4);
	return dwarf_lines_read(&info, &unit, &lines);
}

/* 0: the address is in no row. */
static uint32_t line_at(uint64_t address)
{
	uint32_t file, line;

	return dwarf_lines_find(lines, address, &file, &line) ? line : 0;
}

static int end(void **state)
{
	(void)state;
	dwarf_lines_free(lines);
	lines = NULL;
	return 0;
}

/* Rows hold up to the next, the last up to the sequence's end, which has no line itself. */
static void test_dwarf_lines__one_sequence(void **state)
{
	(void)state;
	begin_table();
	set_address(0x1000);
	row(0, 9); /* line 10 */
	row(4, 2);
	row(8, -1);
	end_sequence(4);
	assert_int_equal(read_table(), 0);
	assert_int_equal(line_at(0xfff), 0);
	assert_int_equal(line_at(0x1000), 10);
	assert_int_equal(line_at(0x1003), 10);
	assert_int_equal(line_at(0x1004), 12);
	assert_int_equal(line_at(0x100b), 12);
	assert_int_equal(line_at(0x100c), 11);
	assert_int_equal(line_at(0x100f), 11);
	assert_int_equal(line_at(0x1010), 0);
	assert_int_equal(line_at(0x1011), 0);
}

/* In whatever order they stand; between them there is nothing. */
static void test_dwarf_lines__sequences(void **state)
{
	(void)state;
	begin_table();
	set_address(0x2000);
	row(0, 1);
	end_sequence(16);
	set_address(0x1000);
	row(0, 5);
	end_sequence(8);
	set_address(0x1008);
	row(0, 7);
	end_sequence(8);
	assert_int_equal(read_table(), 0);
	assert_int_equal(line_at(0x1007), 6);
	assert_int_equal(line_at(0x1008), 8); /* the one that begins there, not the one that ends */
	assert_int_equal(line_at(0x1010), 0);
	assert_int_equal(line_at(0x1fff), 0);
	assert_int_equal(line_at(0x2000), 2);
	assert_int_equal(line_at(0x2010), 0);
}

/* Of rows at one address the last counts. */
static void test_dwarf_lines__rows_at_one_address(void **state)
{
	(void)state;
	begin_table();
	set_address(0x1000);
	row(0, 1);
	row(0, 3);
	row(2, 5);
	end_sequence(2);
	assert_int_equal(read_table(), 0);
	assert_int_equal(line_at(0x1000), 5);
	assert_int_equal(line_at(0x1002), 10);
}

/* What the linker discarded stands at 0, or is empty. */
static void test_dwarf_lines__discarded(void **state)
{
	(void)state;
	begin_table();
	set_address(0);
	row(0, 1);
	end_sequence(16);
	set_address(0x1000);
	row(0, 1);
	end_sequence(0);
	set_address(0x3000);
	row(0, 8);
	end_sequence(4);
	assert_int_equal(read_table(), 0);
	assert_int_equal(line_at(0), 0);
	assert_int_equal(line_at(8), 0);
	assert_int_equal(line_at(0x1000), 0);
	assert_int_equal(line_at(0x3003), 9);
}

static int note_row(uint64_t at, void *context)
{
	uint64_t *sum = context;

	*sum = *sum * 0x100 + (at & 0xff);
	return 0;
}

/* Where another answer may begin, and up to where the rows around an address are these. */
static void test_dwarf_lines__each_row(void **state)
{
	struct dwarf_interval same = { 0, UINT64_MAX };
	uint64_t rows = 0;

	(void)state;
	begin_table();
	set_address(0x1010);
	row(0, 1);
	row(4, 1);
	row(4, 1);
	end_sequence(8);
	assert_int_equal(read_table(), 0);
	assert_int_equal(dwarf_lines_each_row(lines, 0x1015, &same, note_row, &rows), 0);
	assert_int_equal(same.low, 0x1010);
	assert_int_equal(same.high, 0x1020);
	assert_int_equal(rows, 0x1418); /* those after its beginning */
	same = (struct dwarf_interval){ 0, UINT64_MAX };
	rows = 0;
	assert_int_equal(dwarf_lines_each_row(lines, 0x1020, &same, note_row, &rows), 0);
	assert_int_equal(same.low, 0x1020);
	assert_int_equal(rows, 0);
}

static void test_dwarf_lines__paths(void **state)
{
	char path[64];

	(void)state;
	begin_table();
	assert_int_equal(read_table(), 0);
	assert_true(dwarf_lines_path(lines, 1, path, sizeof(path)));
	assert_string_equal(path, "/src/a.c");
	assert_true(dwarf_lines_path(lines, 2, path, sizeof(path)));
	assert_string_equal(path, "/src/include/b.h");
	assert_false(dwarf_lines_path(lines, 3, path, sizeof(path)));
	assert_false(dwarf_lines_path(lines, 2, path, 16)); /* no room for the NUL */
}

static void test_dwarf_lines__broken(void **state)
{
	(void)state;
	begin_table();
	table[4] = 1; /* a version that there was not */
	assert_int_equal(read_table(), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_dwarf_lines__one_sequence, end),
		cmocka_unit_test_teardown(test_dwarf_lines__sequences, end),
		cmocka_unit_test_teardown(test_dwarf_lines__rows_at_one_address, end),
		cmocka_unit_test_teardown(test_dwarf_lines__discarded, end),
		cmocka_unit_test_teardown(test_dwarf_lines__each_row, end),
		cmocka_unit_test_teardown(test_dwarf_lines__paths, end),
		cmocka_unit_test_teardown(test_dwarf_lines__broken, end),
	};

	return cmocka_run_group_tests_name("dwarf_lines", tests, NULL, NULL);
}
