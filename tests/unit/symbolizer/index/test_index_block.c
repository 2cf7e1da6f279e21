/* Tests of index_block.h: building and reading blocks, also hostile ones. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/index/index_block.h"

/* f, with a() inlined at f.c:13 and b() inlined into that at x.h:8: 16 to 31 f, 32 to 47 b, 48 to 63 f. */
static struct index_block *make_block(void)
{
	struct index_builder w;
	struct index_block *b;
	uint32_t f, a, inner;

	index_builder_start(&w, 0x1010, INDEX_DWARF);
	f = index_builder_scope(&w, INDEX_NO_SCOPE, "f", NULL, 0);
	index_builder_segment(&w, 0x1010, f, "f.c", 12);
	a = index_builder_scope(&w, f, "a", "f.c", 13);
	inner = index_builder_scope(&w, a, "b", "x.h", 8);
	index_builder_segment(&w, 0x1020, inner, "x.h", 4);
	index_builder_segment(&w, 0x1028, inner, "x.h", 4);
	index_builder_segment(&w, 0x1030, f, NULL, 0);
	assert_int_equal(index_builder_finish(&w, 0x1040, &b), 0);
	return b;
}

static void assert_frame(const struct index_frame *frame, const char *name, const char *file, uint32_t line,
                         bool inlined)
{
	assert_string_equal(frame->name, name);
	if (file)
		assert_string_equal(frame->file, file);
	else
		assert_null(frame->file);
	assert_int_equal(frame->line, line);
	assert_int_equal(frame->inlined, inlined);
}

static void test_index_block__answers(void **state)
{
	struct index_block *b = make_block();
	struct index_frame frames[8];

	(void)state;
	assert_true(index_block_is_valid(b, index_block_size(b)));
	assert_int_equal(b->n_segments, 3); /* the third says what the second says */
	assert_int_equal(index_block_find(b, 0x1010, frames, 8), 1);
	assert_frame(&frames[0], "f", "f.c", 12, false);
	assert_int_equal(index_block_find(b, 0x101f, frames, 8), 1);
	assert_int_equal(index_block_find(b, 0x102f, frames, 8), 3);
	assert_frame(&frames[0], "b", "x.h", 4, true);
	assert_frame(&frames[1], "a", "x.h", 8, true);
	assert_frame(&frames[2], "f", "f.c", 13, false);
	assert_int_equal(index_block_find(b, 0x1020, frames, 2), 2);
	assert_int_equal(index_block_find(b, 0x103f, frames, 8), 1);
	assert_frame(&frames[0], "f", NULL, 0, false);
	free(b);
}

static void test_index_block__texts_are_kept_once(void **state)
{
	struct index_builder w;
	struct index_block *b;
	char name[32];
	int i;

	(void)state;
	index_builder_start(&w, 0, INDEX_DWARF);
	for (i = 0; i < 2000; i++) {
		snprintf(name, sizeof(name), "function_%d", i % 1000);
		index_builder_segment(&w, (uint64_t)i, index_builder_scope(&w, INDEX_NO_SCOPE, name, NULL, 0),
		                      name, (uint32_t)i);
	}
	assert_int_equal(index_builder_finish(&w, 2000, &b), 0);
	assert_in_range(b->text_len, 1000 * sizeof("function_"), 1000 * sizeof("function_999"));
	assert_true(index_block_is_valid(b, index_block_size(b)));
	free(b);
}

static void test_index_block__too_large(void **state)
{
	struct index_builder w;
	struct index_block *b;
	uint64_t i;

	(void)state;
	index_builder_start(&w, 0, INDEX_SYMTAB);
	for (i = 0; i < 100000; i++)
		index_builder_segment(&w, i, 0, NULL, (uint32_t)i);
	assert_int_equal(index_builder_finish(&w, i, &b), -EFBIG);
	assert_null(b);
	index_builder_start(&w, 0, INDEX_SYMTAB);
	index_builder_segment(&w, (uint64_t)1 << 32, 0, NULL, 1);
	assert_int_equal(index_builder_finish(&w, (uint64_t)1 << 33, &b), -EFBIG);
}

static void test_index_block__nothing_known(void **state)
{
	struct index_builder w;
	struct index_block *b;
	struct index_frame frame;

	(void)state;
	index_builder_start(&w, 7, INDEX_NONE);
	assert_int_equal(index_builder_finish(&w, 8, &b), 0);
	assert_true(index_block_is_valid(b, index_block_size(b)));
	assert_int_equal(index_block_find(b, 7, &frame, 1), 0);
	free(b);
}

/* Whatever is in a block that counts as valid, nothing outside it is read, and no chain goes in a circle. */
static void test_index_block__hostile(void **state)
{
	static const uint8_t values[] = { 0x00, 0x01, 0x7f, 0x80, 0xff };
	struct index_block *b = make_block();
	size_t size = index_block_size(b), at, v, accepted = 0;
	struct index_frame frames[INDEX_MAX_FRAMES];
	uint8_t *copy = malloc(size);
	uint64_t address;

	(void)state;
	for (at = 0; at < size * sizeof(values); at++) {
		v = at % sizeof(values);
		memcpy(copy, b, size);
		copy[at / sizeof(values)] ^= values[v];
		if (!index_block_is_valid(copy, size))
			continue;
		accepted++;
		for (address = 0x1000; address < 0x1050; address++)
			index_block_find((struct index_block *)copy, address, frames, INDEX_MAX_FRAMES);
	}
	assert_in_range(accepted, 1, size * sizeof(values) - 1);
	for (at = 0; at < size; at++)
		assert_false(index_block_is_valid(b, at));
	free(copy);
	free(b);
}

static void test_index_block__checksum_sees_each_byte(void **state)
{
	uint8_t bytes[61];
	uint64_t sum;
	size_t i, bit;

	(void)state;
	memset(bytes, 0xa5, sizeof(bytes));
	sum = index_checksum(bytes, sizeof(bytes));
	for (i = 0; i < sizeof(bytes); i++)
		for (bit = 0; bit < 8; bit++) {
			bytes[i] ^= (uint8_t)(1 << bit);
			assert_true(index_checksum(bytes, sizeof(bytes)) != sum);
			bytes[i] ^= (uint8_t)(1 << bit);
		}
	assert_true(index_checksum(bytes, sizeof(bytes) - 1) != sum);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_index_block__answers),
		cmocka_unit_test(test_index_block__texts_are_kept_once),
		cmocka_unit_test(test_index_block__too_large),
		cmocka_unit_test(test_index_block__nothing_known),
		cmocka_unit_test(test_index_block__hostile),
		cmocka_unit_test(test_index_block__checksum_sees_each_byte),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
