/* Tests of pprof_gzip.h: compressing and decompressing profiles. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "pprof/pprof_gzip.h"

static const size_t MIB = 1 << 20;

/* What `n` copies of `fill` unpack to, after packing, within `max_bytes`. */
static int pack_and_unpack(int fill, size_t n, size_t max_bytes)
{
	unsigned char *plain = malloc(n + 1);
	const char *what = NULL;
	void *packed, *again = NULL;
	size_t packed_len, again_len;
	int ret;

	memset(plain, fill, n);
	assert_int_equal(pprof_gzip_pack(plain, n, &packed, &packed_len), 0);
	assert_true(pprof_is_gzip(packed, packed_len));
	ret = pprof_gzip_unpack(packed, packed_len, max_bytes, &again, &again_len, &what);
	assert_null(what);
	if (!ret) {
		assert_int_equal(again_len, n);
		assert_memory_equal(again, plain, n);
	}
	free(plain);
	free(packed);
	free(again);
	return ret;
}

static void test_pprof_gzip__round_trip(void **state)
{
	static const size_t sizes[] = { 0, 1, 65535, 65536, 65537, 131072, 3 << 20 };

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		assert_int_equal(pack_and_unpack('x', sizes[i], SIZE_MAX), 0);
}

static void test_pprof_gzip__bound_is_exact(void **state)
{
	static const size_t bounds[] = { 1, 1000, 65536, 100000 };

	(void)state;
	for (size_t i = 0; i < sizeof(bounds) / sizeof(*bounds); i++) {
		assert_int_equal(pack_and_unpack('x', bounds[i] - 1, bounds[i]), 0);
		assert_int_equal(pack_and_unpack('x', bounds[i], bounds[i]), 0);
		assert_int_equal(pack_and_unpack('x', bounds[i] + 1, bounds[i]), -ENOSPC);
	}
}

static void test_pprof_gzip__bombs_are_not_unpacked(void **state)
{
	(void)state;
	/* 64 MiB in 64 KiB. */
	assert_int_equal(pack_and_unpack(0, 64 * MIB, MIB), -ENOSPC);
}

static void test_pprof_gzip__trailing_bytes_are_an_error(void **state)
{
	unsigned char buf[256], *packed;
	const char *what = NULL;
	void *out;
	size_t len;

	(void)state;
	assert_int_equal(pprof_gzip_pack("hello", 5, (void **)&packed, &len), 0);
	memcpy(buf, packed, len);
	memcpy(buf + len, "rest", 4);
	assert_int_equal(pprof_gzip_unpack(buf, len + 4, MIB, &out, &len, &what), -EBADMSG);
	assert_string_equal(what, "incorrect header check");
	free(packed);
}

static void test_pprof_gzip__is_told_by_its_first_bytes(void **state)
{
	(void)state;
	assert_true(pprof_is_gzip("\x1f\x8b", 2));
	assert_false(pprof_is_gzip("\x1f\x8b", 1));
	assert_false(pprof_is_gzip("\x0a\x04", 2));
	assert_false(pprof_is_gzip("", 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pprof_gzip__round_trip),
		cmocka_unit_test(test_pprof_gzip__bound_is_exact),
		cmocka_unit_test(test_pprof_gzip__bombs_are_not_unpacked),
		cmocka_unit_test(test_pprof_gzip__trailing_bytes_are_an_error),
		cmocka_unit_test(test_pprof_gzip__is_told_by_its_first_bytes),
	};

	return cmocka_run_group_tests_name("pprof_gzip", tests, NULL, NULL);
}
