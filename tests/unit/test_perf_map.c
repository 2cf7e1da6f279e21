#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "symbolizer/perf_map.h"

static struct perf_map *parse(const char *text)
{
	struct perf_map *m;

	assert_int_equal(perf_map_parse(text, strlen(text), &m), 0);
	return m;
}

static void test_perf_map__finds(void **state)
{
	struct perf_map *m = parse("7f0000001000 20 py::f:/x y.py\nrubbish\n7f0000000000 10 other\n");

	(void)state;
	assert_string_equal(perf_map_find(m, 0x7f0000001000), "py::f:/x y.py");
	assert_string_equal(perf_map_find(m, 0x7f000000101f), "py::f:/x y.py");
	assert_null(perf_map_find(m, 0x7f0000001020));
	assert_string_equal(perf_map_find(m, 0x7f000000000f), "other");
	assert_null(perf_map_find(m, 0x7f0000000010));
	assert_null(perf_map_find(m, 0));
	perf_map_free(m);
}

static void test_perf_map__later_lines_win(void **state)
{
	struct perf_map *m = parse("1000 100 old\n1040 20 new\n1000 10 newest");

	(void)state;
	assert_string_equal(perf_map_find(m, 0x1005), "newest");
	assert_string_equal(perf_map_find(m, 0x1010), "old");
	assert_string_equal(perf_map_find(m, 0x1050), "new");
	assert_string_equal(perf_map_find(m, 0x1060), "old");
	perf_map_free(m);
}

static void test_perf_map__nothing_right(void **state)
{
	static const char *const texts[] = { "",
		                             "\n",
		                             "1000 0 empty\n",
		                             "1000\n",
		                             "xyz 10 name\n",
		                             "1000 10\n",
		                             "ffffffffffffffff 10 over the top\n",
		                             "-1 10 negative\n" };
	struct perf_map *m;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		assert_int_equal(perf_map_parse(texts[i], strlen(texts[i]), &m), -ENODATA);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_perf_map__finds),
		cmocka_unit_test(test_perf_map__later_lines_win),
		cmocka_unit_test(test_perf_map__nothing_right),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
