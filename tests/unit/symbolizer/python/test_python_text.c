/* Tests of python_text.h: strings of all widths as CPython keeps them, and malformed ones. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/python/python_layout.h"
#include "symbolizer/python/python_text.h"

#define ADDRESS 0x1000

enum { COMPACT = 1 << 5, ASCII = 1 << 6 };

static uint8_t memory[32768];
static struct sym_python_layout layout;
static char *text; /* the last one */

static int read_memory(void *context, uint64_t address, void *buffer, size_t len)
{
	uint64_t offset = address - ADDRESS;

	(void)context;
	if (offset > sizeof(memory) || len > sizeof(memory) - offset)
		return -EFAULT;
	memcpy(buffer, memory + offset, len);
	return 0;
}

static int read_text(uint64_t address)
{
	free(text);
	text = NULL;
	return python_text(&layout, read_memory, NULL, address, &text);
}

static int text_of(const void *characters, size_t bytes, uint64_t length, unsigned int width,
                   unsigned int flags)
{
	uint32_t state = width << 2 | flags;
	size_t header = flags & ASCII ? layout.unicode_ascii_size : layout.unicode_compact_size;

	memset(memory, 0, sizeof(memory));
	memcpy(memory + layout.unicode_length, &length, sizeof(length));
	memcpy(memory + layout.unicode_state, &state, sizeof(state));
	memcpy(memory + header, characters, bytes);
	return read_text(ADDRESS);
}

static void test_python_text__every_width(void **state)
{
	const uint8_t latin[] = { 'g', 'r', 0xf6, 0xdf, 'e' };
	const uint16_t two[] = { 0x3b1, 'x', 0x20ac };
	const uint32_t four[] = { 0x1f40d, 'y', 0x10ffff };

	(void)state;
	assert_int_equal(text_of("plain", 5, 5, 1, COMPACT | ASCII), 0);
	assert_string_equal(text, "plain");
	assert_int_equal(text_of(latin, 5, 5, 1, COMPACT), 0);
	assert_string_equal(text, "größe");
	assert_int_equal(text_of(two, sizeof(two), 3, 2, COMPACT), 0);
	assert_string_equal(text, "αx€");
	assert_int_equal(text_of(four, sizeof(four), 3, 4, COMPACT), 0);
	assert_string_equal(text, "🐍y\xf4\x8f\xbf\xbf");
	assert_int_equal(text_of("", 0, 0, 1, COMPACT | ASCII), 0);
	assert_string_equal(text, "");
}

static void test_python_text__what_utf8_cannot_hold_is_replaced(void **state)
{
	const uint32_t bad[] = { 0, 0xd800, 0xdfff, 0x110000, 0xffffffff };

	(void)state;
	assert_int_equal(text_of(bad, sizeof(bad), 5, 4, COMPACT), 0);
	assert_string_equal(text, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
}

static void test_python_text__long_ones_are_cut(void **state)
{
	static char characters[PYTHON_TEXT_MAX + 10];

	(void)state;
	memset(characters, 'a', sizeof(characters));
	assert_int_equal(text_of(characters, sizeof(characters), sizeof(characters), 1, COMPACT | ASCII), 0);
	assert_int_equal(strlen(text), PYTHON_TEXT_MAX);
	/* A length that no memory has. */
	assert_int_equal(text_of(characters, sizeof(characters), INT64_MAX, 1, COMPACT | ASCII), 0);
	assert_int_equal(strlen(text), PYTHON_TEXT_MAX);
}

static void test_python_text__others_are_refused(void **state)
{

	(void)state;
	assert_int_equal(text_of("abc", 3, 3, 1, ASCII), -EBADMSG);
	assert_int_equal(text_of("abc", 3, 3, 3, COMPACT), -EBADMSG);
	assert_int_equal(text_of("abc", 3, 3, 0, COMPACT), -EBADMSG);
	assert_int_equal(text_of("abc", 3, 3, 2, COMPACT | ASCII), -EBADMSG);
	assert_int_equal(text_of("abc", 3, UINT64_MAX, 1, COMPACT | ASCII), -EBADMSG);
	assert_int_equal(read_text(5), -EFAULT);
}

/* The first field is a byte there. */
static void test_python_text__free_threaded_3_14(void **state)
{

	(void)state;
	assert_int_equal(text_of("abc", 3, 3, 1, COMPACT | ASCII), 0);
	layout.free_threaded = true;
	assert_int_equal(read_text(ADDRESS), 0);
	memory[layout.unicode_state] = 1;
	memory[layout.unicode_state + 1] = 1 | 1 << 3 | 1 << 4;
	assert_int_equal(read_text(ADDRESS), 0);
	assert_string_equal(text, "abc");
	layout.free_threaded = false;
	assert_int_equal(read_text(ADDRESS), -EBADMSG);
}

static int set_up(void **state)
{
	(void)state;
	return python_layout_by_table(0x030c, &layout);
}

static int tear_down(void **state)
{
	(void)state;
	free(text);
	text = NULL;
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_python_text__every_width, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_python_text__what_utf8_cannot_hold_is_replaced, set_up,
		                                tear_down),
		cmocka_unit_test_setup_teardown(test_python_text__long_ones_are_cut, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_python_text__others_are_refused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_python_text__free_threaded_3_14, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
