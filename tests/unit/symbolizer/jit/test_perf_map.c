/* Tests of perf_map.h: growing, overlapping and malformed maps. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbolizer/jit/perf_map.h"

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

static void write_at(int fd, const char *text, off_t at)
{
	assert_int_equal(pwrite(fd, text, strlen(text), at), strlen(text));
}

static void test_perf_map__grows(void **state)
{
	int fd = memfd_create("map", MFD_CLOEXEC);
	struct perf_map *m;

	(void)state;
	write_at(fd, "2000 10 two\n1000 10 on", 0);
	assert_int_equal(perf_map_read(fd, &m), 0);
	assert_string_equal(perf_map_find(m, 0x2000), "two");
	assert_null(perf_map_find(m, 0x1000)); /* its line is not whole yet */
	write_at(fd, "1000 10 one\n3000 10 three\n1500 10 between\nnonsense\n2008 8 part\n", 12);
	assert_int_equal(perf_map_grow(m, fd), 0);
	assert_string_equal(perf_map_find(m, 0x1000), "one");
	assert_string_equal(perf_map_find(m, 0x1500), "between");
	assert_string_equal(perf_map_find(m, 0x2007), "two");
	assert_string_equal(perf_map_find(m, 0x2008), "part");
	assert_string_equal(perf_map_find(m, 0x300f), "three");
	assert_int_equal(perf_map_grow(m, fd), 0);
	assert_string_equal(perf_map_find(m, 0x1000), "one");
	assert_int_equal(ftruncate(fd, 12), 0);
	assert_int_equal(perf_map_grow(m, fd), -ESTALE);
	perf_map_free(m);
	close(fd);
}

/* Written anew, as agents for Java do, and now longer. */
static void test_perf_map__another_content(void **state)
{
	int fd = memfd_create("map", MFD_CLOEXEC);
	struct perf_map *m;

	(void)state;
	write_at(fd, "1000 10 one\n", 0);
	assert_int_equal(perf_map_read(fd, &m), 0);
	write_at(fd, "1000 10 new\n2000 10 two\n", 0);
	assert_int_equal(perf_map_grow(m, fd), -ESTALE);
	assert_string_equal(perf_map_find(m, 0x1000), "one");
	perf_map_free(m);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_perf_map__finds),
		cmocka_unit_test(test_perf_map__later_lines_win),
		cmocka_unit_test(test_perf_map__nothing_right),
		cmocka_unit_test(test_perf_map__grows),
		cmocka_unit_test(test_perf_map__another_content),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
