/* Tests of intern.h, address_map.h and arena.h. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "symbolizer/base/address_map.h"
#include "symbolizer/base/arena.h"
#include "symbolizer/base/intern.h"

static void test_intern__one_address_a_string(void **state)
{
	struct intern *t = intern_new(1 << 24);
	const char *first[5000];
	char name[64];
	int round, i;

	(void)state;
	for (round = 0; round < 2; round++) {
		for (i = 0; i < 5000; i++) {
			snprintf(name, sizeof(name), "a_function_with_a_name_%d", i);
			if (!round)
				first[i] = intern_string(t, name);
			assert_string_equal(first[i], name);
			assert_ptr_equal(intern_string(t, name), first[i]);
		}
	}
	assert_ptr_not_equal(intern_bytes(t, "abcdef", 3), intern_string(t, "abcdef"));
	assert_string_equal(intern_bytes(t, "abcdef", 3), "abc");
	assert_string_equal(intern_string(t, ""), "");
	intern_free(t);
	intern_free(NULL);
}

static void test_intern__full(void **state)
{
	struct intern *t = intern_new(200000);
	const char *kept = intern_string(t, "kept"), *last = "";
	char name[1024] = "";
	int i;

	(void)state;
	for (i = 0; i < 1000 && strcmp(last, INTERN_FULL) != 0; i++) {
		snprintf(name, sizeof(name), "%0900d", i);
		last = intern_string(t, name);
	}
	assert_string_equal(last, INTERN_FULL);
	assert_true(i > 10);
	assert_true(intern_memory(t) <= 200000 + 65536 + 64);
	assert_ptr_equal(intern_string(t, "kept"), kept);
	intern_free(t);
}

/* No string takes more than its share of the table; what is cut is cut between characters. */
static void test_intern__long_strings(void **state)
{
	struct intern *t = intern_new(1 << 24);
	static char text[INTERN_MAX_LENGTH + 100];
	const char *kept;
	size_t i;

	(void)state;
	memset(text, 'a', sizeof(text) - 1);
	text[INTERN_MAX_LENGTH] = 0;
	assert_string_equal(intern_string(t, text), text);
	text[INTERN_MAX_LENGTH] = 'a';
	kept = intern_string(t, text);
	assert_int_equal(strlen(kept), INTERN_MAX_LENGTH);
	assert_ptr_equal(intern_bytes(t, text, INTERN_MAX_LENGTH), kept);
	for (i = 0; i < 4; i++) {
		memset(text, 'a', sizeof(text) - 1);
		memcpy(text + INTERN_MAX_LENGTH - i, "\xf0\x9f\x90\x8c", 4);
		kept = intern_string(t, text);
		assert_int_equal(strlen(kept), INTERN_MAX_LENGTH - i);
	}
	/* What is no UTF-8 anyway is cut there. */
	memset(text, '\x80', sizeof(text) - 1);
	assert_in_range(strlen(intern_string(t, text)), INTERN_MAX_LENGTH - 3, INTERN_MAX_LENGTH);
	intern_free(t);
}

static void test_intern__address_map(void **state)
{
	struct address_map m = { 0 };
	uint32_t value, i;

	(void)state;
	assert_false(address_map_get(&m, 5, &value));
	for (i = 0; i < 10000; i++)
		assert_int_equal(address_map_put(&m, i * 4096ull, i, 10000), 0);
	assert_int_not_equal(address_map_put(&m, 1, 1, 10000), 0);
	assert_int_equal(address_map_put(&m, 4096, 77, 10000), 0);
	for (i = 0; i < 10000; i++) {
		assert_true(address_map_get(&m, i * 4096ull, &value));
		assert_int_equal(value, i == 1 ? 77 : i);
	}
	assert_false(address_map_get(&m, 1, &value));
	address_map_clear(&m);
	assert_false(address_map_get(&m, 0, &value));
	assert_int_equal(address_map_memory(&m), 0);
}

static void test_intern__arena(void **state)
{
	struct arena a = { 0 };
	char *small = arena_alloc(&a, 5), *next = arena_alloc(&a, 3), *big = arena_alloc(&a, 1 << 20);

	(void)state;
	assert_non_null(big);
	memset(big, 1, 1 << 20);
	assert_ptr_equal(next, small + 8);
	assert_null(arena_alloc(&a, SIZE_MAX));
	assert_true(a.bytes > 1 << 20);
	arena_free(&a);
	assert_int_equal(a.bytes, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_intern__one_address_a_string),
		cmocka_unit_test(test_intern__full),
		cmocka_unit_test(test_intern__long_strings),
		cmocka_unit_test(test_intern__address_map),
		cmocka_unit_test(test_intern__arena),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
