/* Tests of dwarf_ranges.h: .debug_aranges and lookups. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "symbolizer/dwarf/dwarf_ranges.h"

struct seen {
	struct dwarf_ranges ranges;
	int stop_after; /* so many calls; 0: never */
};

static int note(uint64_t low, uint64_t high, uint64_t unit, void *context)
{
	struct seen *seen = context;

	if (dwarf_ranges_add(&seen->ranges, low, high, unit))
		return -ENOMEM;
	return seen->stop_after && (int)seen->ranges.n == seen->stop_after ? 7 : 0;
}

static uint8_t bytes[512];
static size_t len;

static void put(uint64_t value, size_t size)
{
	memcpy(bytes + len, &value, size);
	len += size;
}

/* A set of one unit as gcc writes it: two ranges, one of nothing between them, the end. */
static void put_set(uint64_t unit, uint64_t first, uint64_t second)
{
	put(2 + 4 + 2 + 4 + 4 * 16, 4);
	put(2, 2);
	put(unit, 4);
	put(8, 1);
	put(0, 1);
	put(0, 4);
	put(first, 8);
	put(0x10, 8);
	put(0x99, 8);
	put(0, 8);
	put(second, 8);
	put(0x20, 8);
	put(0, 8);
	put(0, 8);
}

static void test_dwarf_ranges__aranges(void **state)
{
	const struct dwarf_unit_range expected[] = { { 0x1000, 0x1010, 0x40 },
		                                     { 0x2000, 0x2020, 0x40 },
		                                     { 0x1010, 0x1020, 0x80 },
		                                     { 0x3000, 0x3020, 0x80 } };
	struct seen seen = { 0 };
	size_t i, cut;

	(void)state;
	len = 0;
	put_set(0x40, 0x1000, 0x2000);
	put_set(0x80, 0x1010, 0x3000);
	assert_int_equal(dwarf_aranges_each(bytes, len, note, &seen), 0);
	assert_int_equal(seen.ranges.n, 4);
	for (i = 0; i < 4; i++)
		assert_memory_equal(&seen.ranges.ranges[i], &expected[i], sizeof(expected[i]));
	dwarf_ranges_free(&seen.ranges);
	seen.stop_after = 2;
	assert_int_equal(dwarf_aranges_each(bytes, len, note, &seen), 7);
	assert_int_equal(seen.ranges.n, 2);
	dwarf_ranges_free(&seen.ranges);
	seen.stop_after = 0;
	for (cut = 1; cut < len; cut++) {
		if (cut != len / 2)
			assert_int_equal(dwarf_aranges_each(bytes, cut, note, &seen), -EBADMSG);
		dwarf_ranges_free(&seen.ranges);
	}
	assert_int_equal(dwarf_aranges_each(NULL, 0, note, &seen), 0);
}

static void test_dwarf_ranges__odd_sets(void **state)
{
	struct seen seen = { 0 };

	(void)state;
	len = 0;
	/* 64-bit: the pairs begin at 32. */
	put(0xffffffff, 4);
	put(2 + 8 + 2 + 8 + 2 * 16, 8);
	put(2, 2);
	put(0x123456789, 8);
	put(8, 1);
	put(0, 1);
	put(0, 8);
	put(0x1000, 8);
	put(0x10, 8);
	put(0, 8);
	put(0, 8);
	/* Of 32-bit addresses: they begin at 16. */
	put(2 + 4 + 2 + 4 + 2 * 8, 4);
	put(2, 2);
	put(0x40, 4);
	put(4, 1);
	put(0, 1);
	put(0, 4);
	put(0x2000, 4);
	put(0x20, 4);
	put(0, 8);
	/* Of a version that nobody has: passed over. */
	put(2 + 4, 4);
	put(9, 2);
	put(0, 4);
	assert_int_equal(dwarf_aranges_each(bytes, len, note, &seen), 0);
	assert_int_equal(seen.ranges.n, 2);
	assert_true(seen.ranges.ranges[0].unit == 0x123456789 && seen.ranges.ranges[0].high == 0x1010);
	assert_true(seen.ranges.ranges[1].unit == 0x40 && seen.ranges.ranges[1].high == 0x2020);
	dwarf_ranges_free(&seen.ranges);
}

/* The nearest first; and the answer is the same one all over the interval that it narrows to. */
static void test_dwarf_ranges__find(void **state)
{
	struct dwarf_ranges r = { 0 };
	struct dwarf_interval same;
	uint64_t units[4], others[4], at, address;
	size_t n;

	(void)state;
	dwarf_ranges_add(&r, 50, 60, 3);
	dwarf_ranges_add(&r, 10, 100, 1);
	dwarf_ranges_add(&r, 20, 40, 2);
	dwarf_ranges_add(&r, 120, 130, 4);
	dwarf_ranges_sort(&r);
	same = (struct dwarf_interval){ 0, UINT64_MAX };
	assert_int_equal(dwarf_ranges_find(&r, 55, &same, units, 4), 2);
	assert_int_equal(units[0], 3);
	assert_int_equal(units[1], 1);
	assert_int_equal(dwarf_ranges_find(&r, 55, &same, units, 1), 1);
	for (address = 0; address < 140; address++) {
		same = (struct dwarf_interval){ 0, UINT64_MAX };
		n = dwarf_ranges_find(&r, address, &same, units, 4);
		assert_true(same.low <= address && address < same.high);
		for (at = same.low; at < same.high && at < 140; at++) {
			struct dwarf_interval any = { 0, UINT64_MAX };

			assert_int_equal(dwarf_ranges_find(&r, at, &any, others, 4), n);
			assert_memory_equal(units, others, n * sizeof(*units));
		}
	}
	dwarf_ranges_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dwarf_ranges__aranges),
		cmocka_unit_test(test_dwarf_ranges__odd_sets),
		cmocka_unit_test(test_dwarf_ranges__find),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
