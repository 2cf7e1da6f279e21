/* Tests of note_line.h: any value survives being written and read. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/format/note_line.h"
#include "pprof/utf8.h"

static void test_note_line__form(void **state)
{
	struct note_writer writer;
	char *line;

	(void)state;
	assert_int_equal(note_writer_begin(&writer, "stallprof.x"), 0);
	note_writer_text(&writer, "bare", "tp_btf/block:rq@1.5,+-%");
	note_writer_text(&writer, "empty", "");
	note_writer_text(&writer, "text", "a \"b\"\\\n\r\t\x01\xff\xc3\xa9");
	note_writer_u64(&writer, "n", UINT64_MAX);
	note_writer_hex64(&writer, "id", 255);
	line = note_writer_end(&writer);
	assert_string_equal(line, "stallprof.x bare=tp_btf/block:rq@1.5,+-% empty=\"\" "
	                          "text=\"a \\\"b\\\"\\\\\\n\\r\\t\\x01\\xff\xc3\xa9\" "
	                          "n=18446744073709551615 id=00000000000000ff");
	free(line);
}

/* Writes value and reads it back; the line must be UTF-8 and have no control characters. */
static void assert_survives(const char *value)
{
	struct note_writer writer;
	struct note_fields fields;
	size_t left;
	char *line;

	assert_int_equal(note_writer_begin(&writer, "r"), 0);
	note_writer_text(&writer, "v", value);
	note_writer_u64(&writer, "last", 7);
	line = note_writer_end(&writer);
	assert_non_null(line);
	left = strlen(line);
	for (const char *at = line; left;) {
		size_t length = utf8_sequence(at, left);

		if (!length || (unsigned char)*at < 0x20)
			fail_msg("not clean: %s", line);
		at += length;
		left -= length;
	}
	assert_int_equal(note_fields_parse(&fields, line, "r"), 0);
	assert_string_equal(note_fields_text(&fields, "v"), value);
	assert_string_equal(note_fields_text(&fields, "last"), "7");
	note_fields_free(&fields);
	free(line);
}

static void test_note_line__every_byte_survives(void **state)
{
	char text[8];

	(void)state;
	assert_survives("");
	assert_survives("a b=\"c\" d=\\x41");
	assert_survives("\xf0\x9f\x98\x80\xed\xa0\x80");
	for (unsigned a = 1; a < 256; a++) {
		for (unsigned b = 1; b < 256; b++) {
			text[0] = (char)a;
			text[1] = (char)b;
			text[2] = '\0';
			assert_survives(text);
		}
	}
}

static void test_note_line__other_records(void **state)
{
	static const char *const lines[] = { "", "stallprof", "stallprof.xy a=1", "x stallprof.x a=1" };
	struct note_fields fields;

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		assert_int_equal(note_fields_parse(&fields, lines[i], "stallprof.x"), -ENOMSG);
	assert_int_equal(note_fields_parse(&fields, "stallprof.x", "stallprof.x"), 0);
	assert_int_equal(fields.count, 0);
	note_fields_free(&fields);
}

static void test_note_line__malformed(void **state)
{
	static const char *const lines[] = {
		"r a",           "r a=",       "r =1",        "r a=\"",       "r a=\"b",
		"r a=\"b\"c",    "r a=\"\\",   "r a=\"\\q\"", "r a=\"\\x4\"", "r a=\"\\x00\"",
		"r a=\"\\xg0\"", "r  a=1",     "r a=1;b=2",   "r A=1",        "r a=b=c",
		"r a=\xff",      "r a=1  b=2", "r a=(b)",     "r a=\"\\x",
	};
	struct note_fields fields;

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		if (note_fields_parse(&fields, lines[i], "r") != -EINVAL)
			fail_msg("taken: %s", lines[i]);
}

static void test_note_line__bounds(void **state)
{
	struct note_writer writer;
	struct note_fields fields;
	char *big = malloc(NOTE_LINE_MAX + 16), *many = NULL;

	(void)state;
	memset(big, 'a', NOTE_LINE_MAX + 15);
	big[NOTE_LINE_MAX + 15] = '\0';
	assert_int_equal(note_writer_begin(&writer, "r"), 0);
	note_writer_text(&writer, "v", big);
	assert_null(note_writer_end(&writer));
	assert_int_equal(errno, EMSGSIZE);
	memcpy(big, "r v=", 4);
	assert_int_equal(note_fields_parse(&fields, big, "r"), -EINVAL);
	free(big);

	assert_int_equal(note_writer_begin(&writer, "r"), 0);
	for (int i = 0; i <= NOTE_FIELDS_MAX; i++)
		note_writer_u64(&writer, "k", 1);
	many = note_writer_end(&writer);
	assert_int_equal(note_fields_parse(&fields, many, "r"), -EINVAL);
	*strrchr(many, ' ') = '\0';
	assert_int_equal(note_fields_parse(&fields, many, "r"), 0);
	assert_int_equal(fields.count, NOTE_FIELDS_MAX);
	note_fields_free(&fields);
	free(many);
}

static void test_note_line__numbers(void **state)
{
	struct note_fields fields;
	uint64_t number = 5;

	(void)state;
	assert_int_equal(note_fields_parse(&fields,
	                                   "r max=18446744073709551615 over=18446744073709551616 minus=-1 "
	                                   "hex=ff long=10000000000000000 empty=\"\" plus=+1",
	                                   "r"),
	                 0);
	assert_int_equal(note_fields_u64(&fields, "max", &number), 0);
	assert_true(number == UINT64_MAX);
	assert_int_equal(note_fields_u64(&fields, "over", &number), -EINVAL);
	assert_int_equal(note_fields_u64(&fields, "minus", &number), -EINVAL);
	assert_int_equal(note_fields_u64(&fields, "plus", &number), -EINVAL);
	assert_int_equal(note_fields_u64(&fields, "empty", &number), -EINVAL);
	assert_int_equal(note_fields_u64(&fields, "hex", &number), -EINVAL);
	assert_int_equal(note_fields_u64(&fields, "none", &number), -ENOENT);
	assert_true(number == UINT64_MAX);
	assert_int_equal(note_fields_hex64(&fields, "hex", &number), 0);
	assert_int_equal(number, 255);
	assert_int_equal(note_fields_hex64(&fields, "long", &number), -EINVAL);
	note_fields_free(&fields);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_note_line__form),
		cmocka_unit_test(test_note_line__every_byte_survives),
		cmocka_unit_test(test_note_line__other_records),
		cmocka_unit_test(test_note_line__malformed),
		cmocka_unit_test(test_note_line__bounds),
		cmocka_unit_test(test_note_line__numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
