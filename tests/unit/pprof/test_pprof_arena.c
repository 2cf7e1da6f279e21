/* Tests of pprof_arena.h and pprof_intern.h: bounded memory, and tables in it. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "pprof/pprof_arena.h"
#include "pprof/pprof_intern.h"

static void test_pprof_arena__pieces_are_zeroed_aligned_and_apart(void **state)
{
	struct pprof_arena a = { .max_bytes = 1 << 20 };
	unsigned char *pieces[300];
	size_t sizes[300];

	(void)state;
	/* Small ones, and now and then one that gets a chunk of its own. */
	for (size_t i = 0; i < 300; i++) {
		sizes[i] = i % 50 == 49 ? 20000 + i : i;
		pieces[i] = pprof_arena_alloc(&a, sizes[i]);
		assert_non_null(pieces[i]);
		assert_int_equal((uintptr_t)pieces[i] % 8, 0);
		for (size_t k = 0; k < sizes[i]; k++)
			assert_int_equal(pieces[i][k], 0);
		memset(pieces[i], (int)(i % 255) + 1, sizes[i]);
	}
	for (size_t i = 0; i < 300; i++)
		for (size_t k = 0; k < sizes[i]; k++)
			assert_int_equal(pieces[i][k], i % 255 + 1);
	pprof_arena_clear(&a);
	assert_int_equal(a.used_bytes, 0);
}

static void test_pprof_arena__bound_is_exact(void **state)
{
	struct pprof_arena a = { .max_bytes = 64 }, unbounded = { .max_bytes = SIZE_MAX };

	(void)state;
	errno = 0;
	assert_null(pprof_arena_alloc(&a, 65));
	assert_int_equal(errno, ENOSPC);
	assert_non_null(pprof_arena_alloc(&a, 60));
	assert_int_equal(a.used_bytes, 64);
	assert_null(pprof_arena_alloc(&a, 1));
	assert_int_equal(pprof_arena_charge(&a, 1), -ENOSPC);
	assert_int_equal(pprof_arena_charge(&a, 0), 0);
	assert_null(pprof_arena_alloc(&unbounded, SIZE_MAX));
	assert_null(pprof_arena_alloc(&unbounded, SIZE_MAX - 7));
	assert_int_equal(unbounded.used_bytes, 0);
	pprof_arena_clear(&a);
	pprof_arena_clear(&unbounded);
}

static void test_pprof_arena__arrays_grow_to_the_bound_and_no_further(void **state)
{
	struct pprof_arena a = { .max_bytes = 1000 };
	size_t capacity = 0, n = 0;
	uint64_t *array = NULL, *grown;

	(void)state;
	while ((grown = pprof_arena_grow(&a, array, &capacity, n + 1, sizeof(*array)))) {
		array = grown;
		assert_in_range(capacity, n + 1, 125);
		array[n] = n;
		n++;
	}
	assert_int_equal(errno, ENOSPC);
	assert_int_equal(n, 125);
	assert_int_equal(a.used_bytes, 1000);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(array[i], i);
	free(array);
	pprof_arena_clear(&a);
}

static void test_pprof_arena__records_are_numbered_once(void **state)
{
	struct pprof_arena a = { .max_bytes = 16 << 20 };
	struct pprof_intern t = { .arena = &a };
	bool is_new;

	(void)state;
	for (int round = 0; round < 2; round++)
		for (uint32_t i = 0; i < 10000; i++) {
			assert_int_equal(pprof_intern_add(&t, &i, sizeof(i), &is_new), i);
			assert_int_equal(is_new, round == 0);
		}
	assert_int_equal(t.n, 10000);
	for (uint32_t i = 0; i < 10000; i++) {
		assert_memory_equal(pprof_intern_get(&t, i), &i, sizeof(i));
		assert_int_equal(pprof_intern_number(pprof_intern_get(&t, i)), i);
	}
	/* Equal beginnings are not equal records. */
	assert_int_equal(pprof_intern_find(&t, "\0\0\0", 3), -ENOENT);
	assert_int_equal(pprof_intern_find(&t, "\1\0\0", 4), 1);
	assert_int_equal(pprof_intern_add(&t, "", 0, NULL), 10000);
	pprof_intern_free(&t);
	pprof_arena_clear(&a);
}

static void test_pprof_arena__full_tables_still_find(void **state)
{
	struct pprof_arena a = { .max_bytes = 4096 };
	struct pprof_intern t = { .arena = &a };
	int64_t ret = 0;
	uint32_t n = 0;

	(void)state;
	for (; ret >= 0; n++)
		ret = pprof_intern_add(&t, &n, sizeof(n), NULL);
	assert_int_equal(ret, -ENOSPC);
	assert_in_range(n, 10, 100);
	assert_int_equal(t.n, n - 1);
	for (uint32_t i = 0; i < t.n; i++)
		assert_int_equal(pprof_intern_add(&t, &i, sizeof(i), NULL), i);
	pprof_intern_free(&t);
	pprof_arena_clear(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pprof_arena__pieces_are_zeroed_aligned_and_apart),
		cmocka_unit_test(test_pprof_arena__bound_is_exact),
		cmocka_unit_test(test_pprof_arena__arrays_grow_to_the_bound_and_no_further),
		cmocka_unit_test(test_pprof_arena__records_are_numbered_once),
		cmocka_unit_test(test_pprof_arena__full_tables_still_find),
	};

	return cmocka_run_group_tests_name("pprof_arena", tests, NULL, NULL);
}
