/* Tests of the pool of unwind rules: what it holds at most, and that it goes on answering then. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/cfi/cfi.h"
#include "tests/unit/frame_image.h"

#define MAX_HELD   ((size_t)24 << 20)
#define FRAMES     0x1000
#define CODE       0x100000
#define MAX_ROWS   (1 << 16) /* of a function and its neighbours */
#define FDE_HEADER 17        /* up to the instructions */
#define ROW_BYTES  5
#define ROWS       40000 /* of a function */

/* Its rules are as large as rules get. */
static void make_row(struct cfi_row *row, int n)
{
	static uint8_t expressions[CFI_MAX_EXPRESSION];
	uint8_t i;

	*row = (struct cfi_row){ .expressions = expressions,
		                 .cfa = { .kind = CFI_OFFSET, .reg = 7, .n = n },
		                 .return_register = 16,
		                 .n_rules = 17 };
	for (i = 0; i < row->n_rules; i++)
		row->rules[i] =
		        (struct cfi_rule){ .kind = CFI_EXPRESSION, .reg = i, .length = CFI_MAX_EXPRESSION };
}

static void test_cfi_rules__bound_of_bytes(void **state)
{
	struct cfi_rule_pool pool = { 0 };
	struct cfi_row row;
	uint32_t id, first, small;
	int i, err = 0;

	(void)state;
	make_row(&row, 0);
	assert_int_equal(cfi_rule_pool_add(&pool, &cfi_arch_x86_64, &row, &first), 0);
	for (i = 1; !err && i < 20000; i++) {
		make_row(&row, i);
		err = cfi_rule_pool_add(&pool, &cfi_arch_x86_64, &row, &id);
	}
	assert_int_equal(err, -ENOSPC);
	assert_true(i > 1000);
	assert_true(cfi_rule_pool_memory(&pool) < MAX_HELD);
	/* What it has is found none the less. */
	make_row(&row, 0);
	assert_int_equal(cfi_rule_pool_add(&pool, &cfi_arch_x86_64, &row, &small), 0);
	assert_int_equal(small, first);
	cfi_rule_pool_free(&pool);
}

/* The FDE of function `number`, at that offset of the bytes. */
static void put_function(uint8_t *at, size_t offset, uint32_t number)
{
	const uint32_t first = number * ROWS;
	const uint32_t fde[] = { FDE_HEADER - 4 + ROWS * ROW_BYTES, (uint32_t)offset + 4,
		                 CODE + first - (FRAMES + (uint32_t)offset + 8), ROWS };
	uint32_t i;

	memcpy(at + offset, fde, sizeof(fde));
	at += offset + FDE_HEADER;
	for (i = first; i < first + ROWS; i++, at += ROW_BYTES) {
		const uint8_t row[ROW_BYTES] = { i > first ? 0x41 : 0, /* DW_CFA_advance_loc 1, DW_CFA_nop */
			                         0x0e, /* DW_CFA_def_cfa_offset, of three bytes */
			                         (uint8_t)(0x80 | (i & 0x7f)),
			                         (uint8_t)(0x80 | (i >> 7 & 0x7f)), (uint8_t)(i >> 14) };

		memcpy(at, row, sizeof(row));
	}
}

/* So many functions of ROWS rows each, all different. */
static struct frame_image *make_functions(uint32_t n, size_t *len)
{
	static const uint8_t cie[24] = { 20, 0, 0,    0,  0, 0,    0,    0, 1, 'z',  'R',
		                         0,  1, 0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x90, 1 };
	size_t each = FDE_HEADER + (size_t)ROWS * ROW_BYTES, size = sizeof(cie) + n * each;
	uint8_t *frames = calloc(1, size);
	struct frame_section sections[FRAME_IMAGE_SECTIONS] = { { frames, size, FRAMES } };
	struct frame_image *image;
	uint32_t i;

	memcpy(frames, cie, sizeof(cie));
	for (i = 0; i < n; i++)
		put_function(frames, sizeof(cie) + i * each, i);
	image = frame_image_new(EM_X86_64, sections, len);
	free(frames);
	return image;
}

/* What a table holds when the rows of these functions have been made, which are one chunk. */
static size_t held_by(uint32_t n_functions)
{
	const struct cfi_rules *rules;
	struct frame_image *image;
	struct elf_file *file;
	struct cfi *cfi;
	size_t len = 0, held;
	uint32_t i;

	image = make_functions(n_functions, &len);
	assert_int_equal(elf_file_open_owned(image, len, MAX_HELD, &file), 0);
	assert_int_equal(cfi_new(file, &cfi), 0);
	for (i = 0; i < 8; i++)
		assert_int_equal(cfi_rules_at(cfi, CODE + 5000, &rules), 0);
	held = cfi_memory(cfi);
	/* The evaluator has those that were left out. */
	for (i = 0; i < n_functions * ROWS; i += ROWS / 2 + 1) {
		assert_int_equal(cfi_rules_at(cfi, CODE + i, &rules), 0);
		assert_int_equal(rules->cfa.n, i);
	}
	cfi_free(cfi);
	elf_file_close(file);
	return held;
}

/* No rules are kept for rows that there is no room for. */
static void test_cfi_rules__of_rows_that_are_left_out(void **state)
{
	(void)state;
	assert_in_range(held_by(4), 0, held_by(2) + MAX_ROWS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cfi_rules__bound_of_bytes),
		cmocka_unit_test(test_cfi_rules__of_rows_that_are_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
