/* Tests of dwarf_value.c and dwarf_cursor.h: range lists, strings, numbers. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dwarf.h>
#include <errno.h>
#include <string.h>

#include "symbolizer/dwarf/dwarf_unit.h"

#define SECTION(bytes) ((struct dwarf_section){ (const uint8_t *)(bytes), sizeof(bytes) - 1 })

struct found {
	uint64_t low[8], high[8];
	size_t n;
};

static int note(uint64_t low, uint64_t high, void *context)
{
	struct found *f = context;

	assert_true(f->n < 8);
	f->low[f->n] = low;
	f->high[f->n++] = high;
	return 0;
}

static const struct dwarf_value absent;

static void test_dwarf_value__ranges_of_version_5(void **state)
{
	/* .debug_addr at 8: 0x5000, 0x6000. The list stands at 4 of .debug_rnglists, behind an offset table of one. */
	static const char addr[] = "\0\0\0\0\0\0\0\0\x00\x50\0\0\0\0\0\0\x00\x60\0\0\0\0\0\0";
	static const char lists[] = "\x04\0\0\0"
	                            "\x04\x10\x20"                         /* offset_pair, from low_pc */
	                            "\x05\x00\x20\0\0\0\0\0\0\x04\x01\x02" /* base_address, offset_pair */
	                            "\x01\x01\x04\x01\x02"                 /* base_addressx 1, offset_pair */
	                            "\x02\x00\x01"                         /* startx_endx */
	                            "\x03\x01\x10"                         /* startx_length */
	                            "\x06\x00\x70\0\0\0\0\0\0\x00\x71\0\0\0\0\0\0" /* start_end */
	                            "\x07\x00\x80\0\0\0\0\0\0\x08"                 /* start_length */
	                            "\x04\x05\x05"                                 /* empty */
	                            "\x00\x04\x01\x02";
	struct dwarf_info d = { .rnglists = SECTION(lists), .addr = SECTION(addr) };
	struct dwarf_unit u = {
		.version = 5, .address_size = 8, .offset_size = 4, .low_pc = 0x1000, .addr_base = 8
	};
	struct dwarf_value by_offset = { .form = DW_FORM_sec_offset, .number = 4 };
	struct dwarf_value by_index = { .form = DW_FORM_rnglistx, .number = 0 };
	static const struct found expected = { { 0x1010, 0x2001, 0x6001, 0x5000, 0x6000, 0x7000, 0x8000 },
		                               { 0x1020, 0x2002, 0x6002, 0x6000, 0x6010, 0x7100, 0x8008 },
		                               7 };
	struct found found = { .n = 0 };

	(void)state;
	assert_int_equal(dwarf_each_range(&d, &u, &absent, &absent, &by_offset, note, &found), 0);
	assert_memory_equal(&found, &expected, sizeof(found));
	memset(&found, 0, sizeof(found));
	assert_int_equal(dwarf_each_range(&d, &u, &absent, &absent, &by_index, note, &found), 0);
	assert_memory_equal(&found, &expected, sizeof(found));
	/* Lists that break off, indexes past the end, unknown kinds. */
	d.rnglists.len = 20;
	assert_int_equal(dwarf_each_range(&d, &u, &absent, &absent, &by_offset, note, &(struct found){ 0 }),
	                 -EBADMSG);
	d.addr.len = 4;
	d.rnglists = SECTION("\x02\x00\x01\x00");
	by_offset.number = 0;
	assert_int_equal(dwarf_each_range(&d, &u, &absent, &absent, &by_offset, note, &found), -EBADMSG);
	d.rnglists = SECTION("\x09\x00");
	assert_int_equal(dwarf_each_range(&d, &u, &absent, &absent, &by_offset, note, &found), -EBADMSG);
}

static void test_dwarf_value__ranges_of_version_4(void **state)
{
	static const char list[] = "\x10\0\0\0\x20\0\0\0"
	                           "\xff\xff\xff\xff\x00\x20\0\0"
	                           "\x01\0\0\0\x02\0\0\0"
	                           "\x03\0\0\0\x03\0\0\0"
	                           "\0\0\0\0\0\0\0\0"
	                           "\x05\0\0\0\x06\0\0\0";
	struct dwarf_info d = { .ranges = SECTION(list) };
	struct dwarf_unit u = { .version = 4, .address_size = 4, .offset_size = 4, .low_pc = 0x1000 };
	struct dwarf_value ranges = { .form = DW_FORM_sec_offset };
	struct found found = { .n = 0 };

	(void)state;
	assert_int_equal(dwarf_each_range(&d, &u, &absent, &absent, &ranges, note, &found), 0);
	assert_int_equal(found.n, 2);
	assert_true(found.low[0] == 0x1010 && found.high[0] == 0x1020);
	assert_true(found.low[1] == 0x2001 && found.high[1] == 0x2002);
	ranges.number = 40;
	assert_int_equal(dwarf_each_range(&d, &u, &absent, &absent, &ranges, note, &found), -EBADMSG);
}

static void test_dwarf_value__low_and_high(void **state)
{
	struct dwarf_info d = { .errors = 0 };
	struct dwarf_unit u = { .version = 5, .address_size = 8, .offset_size = 4 };
	struct dwarf_value low = { .form = DW_FORM_addr, .number = 0x1000 };
	struct dwarf_value length = { .form = DW_FORM_data4, .number = 0x10 };
	struct dwarf_value high = { .form = DW_FORM_addr, .number = 0x1020 };
	struct found found = { .n = 0 };

	(void)state;
	assert_int_equal(dwarf_each_range(&d, &u, &low, &length, &absent, note, &found), 0);
	assert_int_equal(dwarf_each_range(&d, &u, &low, &high, &absent, note, &found), 0);
	assert_int_equal(dwarf_each_range(&d, &u, &absent, &high, &absent, note, &found), 0);
	assert_int_equal(dwarf_each_range(&d, &u, &low, &absent, &absent, note, &found), 0);
	assert_int_equal(dwarf_each_range(&d, &u, &high, &low, &absent, note, &found), 0);
	assert_int_equal(found.n, 2);
	assert_true(found.high[0] == 0x1010 && found.high[1] == 0x1020);
}

static void test_dwarf_value__strings(void **state)
{
	struct dwarf_info alt = { .str = SECTION("alt\0string\0") };
	struct dwarf_info d = { .str = SECTION("abc\0def\0"),
		                .line_str = SECTION("line\0"),
		                .str_offsets = SECTION("\0\0\0\0\x04\0\0\0"),
		                .alt = &alt };
	struct dwarf_unit u = { .version = 5, .offset_size = 4 };
	static const struct {
		struct dwarf_value value;
		const char *string;
	} cases[] = {
		{ { .form = DW_FORM_string, .string = "inline" }, "inline" },
		{ { .form = DW_FORM_strp, .number = 4 }, "def" },
		{ { .form = DW_FORM_strp, .number = 6 }, "f" },
		{ { .form = DW_FORM_line_strp }, "line" },
		{ { .form = DW_FORM_strx1, .number = 1 }, "def" },
		{ { .form = DW_FORM_GNU_strp_alt, .number = 4 }, "string" },
		{ { .form = DW_FORM_strp, .number = 8 }, NULL },
		{ { .form = DW_FORM_strx, .number = 2 }, NULL },
		{ { .form = DW_FORM_strx, .number = UINT64_MAX }, NULL },
		{ { .form = DW_FORM_data4, .number = 4 }, NULL },
		{ { .form = 0 }, NULL },
	};
	const char *got;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		got = dwarf_value_string(&d, &u, &cases[i].value);
		if (cases[i].string)
			assert_string_equal(got, cases[i].string);
		else
			assert_null(got);
	}
}

/* A string of 32767 bytes, and one of 32768. */
static void test_dwarf_value__long_strings(void **state)
{
	static char longest[32768], too_long[32769];
	struct dwarf_info d = { .str = { (const uint8_t *)longest, sizeof(longest) },
		                .line_str = { (const uint8_t *)too_long, sizeof(too_long) } };
	struct dwarf_unit u = { .version = 5, .offset_size = 4 };
	struct dwarf_value in_str = { .form = DW_FORM_strp }, in_line_str = { .form = DW_FORM_line_strp };

	(void)state;
	memset(longest, 'a', sizeof(longest) - 1);
	memset(too_long, 'a', sizeof(too_long) - 1);
	assert_ptr_equal(dwarf_value_string(&d, &u, &in_str), longest);
	assert_null(dwarf_value_string(&d, &u, &in_line_str));
	in_line_str.number = 1;
	assert_ptr_equal(dwarf_value_string(&d, &u, &in_line_str), too_long + 1);
}

static void test_dwarf_value__cursor(void **state)
{
	static const uint8_t bytes[] = { 0xe5, 0x8e, 0x26, 0x7f, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
		                         0x80, 0x80, 0x80, 0x80, 0x80, 0x01, 0x34, 0x12, 'a',  'b' };
	struct dwarf_cursor c = dwarf_cursor_at(bytes, sizeof(bytes), 0);

	(void)state;
	assert_true(dwarf_uleb(&c) == 624485);
	assert_true(dwarf_sleb(&c) == -1);
	assert_true(dwarf_uleb(&c) == 0);
	assert_int_equal(dwarf_u16(&c), 0x1234);
	assert_false(c.failed);
	assert_string_equal(dwarf_string(&c), "");
	assert_true(c.failed && dwarf_left(&c) == 0);
	assert_int_equal(dwarf_u64(&c), 0);
	assert_true(dwarf_cursor_at(bytes, sizeof(bytes), sizeof(bytes) + 1).failed);
	assert_true(dwarf_cursor_at(NULL, 0, 0).failed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dwarf_value__ranges_of_version_5),
		cmocka_unit_test(test_dwarf_value__ranges_of_version_4),
		cmocka_unit_test(test_dwarf_value__low_and_high),
		cmocka_unit_test(test_dwarf_value__strings),
		cmocka_unit_test(test_dwarf_value__long_strings),
		cmocka_unit_test(test_dwarf_value__cursor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
