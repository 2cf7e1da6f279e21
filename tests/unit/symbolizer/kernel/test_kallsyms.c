/* Tests of kallsyms.h: made-up tables, and that of the running kernel. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/kernel/kallsyms.h"
#include "tests/unit/need_root.h"

static struct kallsyms *parse(const char *text)
{
	struct kallsyms *k;

	assert_int_equal(kallsyms_parse(text, strlen(text), &k), 0);
	return k;
}

static void assert_name(const struct kallsyms *k, uint64_t address, const char *name, const char *module)
{
	struct kallsyms_hit hit;

	assert_true(kallsyms_find(k, address, &hit));
	assert_string_equal(hit.name, name);
	assert_string_equal(hit.module, module);
	assert_true(hit.start <= address && address < hit.next);
}

static void test_kallsyms__core_module_bpf(void **state)
{
	struct kallsyms *k = parse("ffffffff81000000 T _stext\n"
	                           "ffffffff81000000 T first\n"
	                           "ffffffff81000100 t second\n"
	                           "ffffffff82000000 D data\n"
	                           "ffffffffc0001000 t ext4_sync_file\t[ext4]\n"
	                           "ffffffffc0001200 T ext4_other\t[ext4]\n"
	                           "ffffffffc0200000 t bpf_prog_0123456789abcdef_name\t[bpf]\n");
	uint64_t start, end;

	(void)state;
	assert_name(k, 0xffffffff81000000, "first", "");
	assert_name(k, 0xffffffff810000ff, "first", "");
	assert_name(k, 0xffffffff81000100, "second", "");
	assert_name(k, 0xffffffffc0001080, "ext4_sync_file", "ext4");
	assert_name(k, 0xffffffffc0200010, "bpf_prog_0123456789abcdef_name", "bpf");
	assert_true(kallsyms_address(k, "_stext") == 0xffffffff81000000);
	assert_true(kallsyms_address(k, "ext4_other") == 0xffffffffc0001200);
	assert_true(kallsyms_address(k, "none") == 0);
	assert_true(kallsyms_module_range(k, "ext4", &start, &end));
	assert_true(start == 0xffffffffc0001000 && end > 0xffffffffc0001200);
	assert_false(kallsyms_module_range(k, "xfs", &start, &end));
	kallsyms_free(k);
}

static void test_kallsyms__outside(void **state)
{
	struct kallsyms *k = parse("ffffffff81000000 T only\nffffffff82000000 D data\n");
	struct kallsyms_hit hit;

	(void)state;
	assert_false(kallsyms_find(k, 0, &hit));
	assert_false(kallsyms_find(k, 0xffffffff80ffffff, &hit));
	assert_true(kallsyms_find(k, 0xffffffff810fffff, &hit));
	assert_false(kallsyms_find(k, 0xffffffff81100000, &hit));
	assert_false(kallsyms_find(k, 0xffffffff82000001, &hit));
	kallsyms_free(k);
}

/* Every rule of the header, each with the better name first and then last. */
static void test_kallsyms__one_name_of_several(void **state)
{
	static const struct {
		const char *better, *worse;
	} cases[] = {
		{ "t zz_text", "D aa_data" },
		{ "t function", "T _stext" },
		{ "t function", "T __pi_function" },
		{ "t function", "T __irqentry_text_start" },
		{ "T zz_global", "W aa_weak" },
		{ "W zz_weak", "t aa_local" },
		{ "T sys_read", "T __sys_read" },
		{ "T short", "T longer" },
		{ "T aaa", "T bbb" },
	};
	const char *first, *second;
	struct kallsyms *k;
	char text[256];
	size_t i;

	(void)state;
	for (i = 0; i < 2 * sizeof(cases) / sizeof(*cases); i++) {
		first = i % 2 ? cases[i / 2].worse : cases[i / 2].better;
		second = i % 2 ? cases[i / 2].better : cases[i / 2].worse;
		snprintf(text, sizeof(text), "ffffffff81000000 %s\nffffffff81000000 %s\n", first, second);
		k = parse(text);
		assert_name(k, 0xffffffff81000000, cases[i / 2].better + 2, "");
		kallsyms_free(k);
	}
}

static void test_kallsyms__hidden_or_empty(void **state)
{
	static const char hidden[] = "0000000000000000 T _stext\n0000000000000000 T function\n";
	struct kallsyms *k;

	(void)state;
	assert_int_equal(kallsyms_parse(hidden, strlen(hidden), &k), -ENODATA);
	assert_int_equal(kallsyms_parse("", 0, &k), -ENODATA);
	assert_int_equal(kallsyms_parse("hello\n\n ffff T x\n", 17, &k), -ENODATA);
	assert_int_equal(kallsyms_read("/nonexistent/kallsyms", &k), -ENOENT);
}

static void test_kallsyms__unsorted(void **state)
{
	struct kallsyms *k = parse("ffffffff81000200 T b\nffffffff81000100 T a\nffffffff81000300 T c");

	(void)state;
	assert_int_equal(kallsyms_count(k), 3);
	assert_name(k, 0xffffffff81000180, "a", "");
	assert_name(k, 0xffffffff81000280, "b", "");
	assert_name(k, 0xffffffff81000300, "c", "");
	kallsyms_free(k);
}

/* The running kernel: every global text symbol's own address gives a name of that address. */
static void test_kallsyms__running_kernel(void **state)
{
	struct kallsyms_hit hit;
	struct kallsyms *k;
	uint64_t address;

	(void)state;
	if (kallsyms_read("/proc/kallsyms", &k))
		skip_for("kallsyms is hidden here");
	assert_true(kallsyms_count(k) > 10000);
	address = kallsyms_address(k, "schedule");
	assert_true(address);
	assert_true(kallsyms_find(k, address + 1, &hit));
	assert_string_equal(hit.name, "schedule");
	kallsyms_free(k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kallsyms__core_module_bpf),
		cmocka_unit_test(test_kallsyms__outside),
		cmocka_unit_test(test_kallsyms__one_name_of_several),
		cmocka_unit_test(test_kallsyms__hidden_or_empty),
		cmocka_unit_test(test_kallsyms__unsorted),
		cmocka_unit_test(test_kallsyms__running_kernel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
