/* Tests of profile_encode(): what is written, and that reading it gives the same profile. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "pprof/profile.h"
#include "pprof/profile.pb-c.h"
#include "pprof/utf8.h"
#include "tests/unit/pprof_listing.h"

typedef Perftools__Profiles__Profile message;

static const struct profile_value_type TYPES[] = { { "contentions", "count" },
	                                           { "delay", "nanoseconds" },
	                                           { "cpu", "nanoseconds" } };
static const size_t MIB = 1 << 20;

/* Everything the format holds, one sample each with delay alone, cpu alone and nothing but zeros. */
static struct profile *new_profile(void)
{
	struct profile *p = profile_new(TYPES, 3, TYPES[1], 1, MIB);
	struct profile_frame frames[] = { { "inlined", "_Z7inlined", "a.c", 3 }, { "outer", NULL, NULL, 9 } };
	struct profile_label labels[] = { { .key = "ai_tag", .str = "checkpoint" },
		                          { .key = "step", .num = 0, .unit = "steps" },
		                          { .key = "lost", .num = -5, .unit = "bytes" } };
	int64_t delay[] = { 2, 1500, 0 }, cpu[] = { 0, 0, 10 }, zero[] = { 0, 0, 0 };
	int64_t app = profile_mapping(p, 0x1000, 0x2000, 0x40, "/bin/app", "c0de", true, true);
	int64_t lib = profile_mapping(p, 0x7000, 0x9000, 0, "/lib/l.so", NULL, true, false);
	int64_t ids[3];

	ids[0] = profile_location(p, lib, 0x7010, frames, 2);
	ids[1] = profile_location(p, app, 0x1010, frames + 1, 1);
	ids[2] = profile_location(p, 0, UINT64_MAX, NULL, 0);
	assert_int_equal(profile_add_sample(p, ids, 3, delay, labels, 3), 0);
	assert_int_equal(profile_add_sample(p, ids + 1, 1, cpu, labels, 1), 0);
	assert_int_equal(profile_add_sample(p, ids + 2, 1, zero, NULL, 0), 0);
	profile_set_time(p, 1700000000000000000, 15000000000);
	profile_set_default_type(p, "delay");
	profile_add_comment(p, "ledger: a b c");
	profile_add_comment(p, "stamp: complete");
	profile_add_note(p, "a line \xff that only we read");
	profile_add_note(p, "");
	return p;
}

static struct profile *decode(const void *buf, size_t len)
{
	struct profile *p = NULL;
	char err[256] = "";
	int ret = profile_decode(buf, len, MIB, &p, err, sizeof(err));

	if (ret)
		fail_msg("decoding failed: %d, %s", ret, err);
	return p;
}

static void assert_same(const struct profile *a, const struct profile *b)
{
	char *left = pprof_listing(a), *right = pprof_listing(b);

	assert_string_equal(left, right);
	free(left);
	free(right);
}

/* The listing of p encoded with these types and decoded again. */
static char *listing_of_encoded(const struct profile *p, uint32_t types, bool gzip)
{
	struct profile *q;
	char *listing;
	void *buf;
	size_t len;

	assert_int_equal(profile_encode(p, types, gzip, &buf, &len), 0);
	assert_int_equal(len > 2 && ((unsigned char *)buf)[0] == 0x1f, gzip);
	q = decode(buf, len);
	free(buf);
	listing = pprof_listing(q);
	profile_free(q);
	return listing;
}

#define HEADER_END                                                                                           \
	"time\t1700000000000000000\t15000000000\n"                                                           \
	"comment\tledger: a b c\n"                                                                           \
	"comment\tstamp: complete\n"                                                                         \
	"note\ta line \xff that only we read\n"                                                              \
	"note\t\n"                                                                                           \
	"mapping\t0x1000/0x2000/0x40\t/bin/app\tc0de\t[FN][FL][LN][IN]\n"
#define DELAY_STACK                                                                                          \
	"0x7010@/lib/l.so inlined(_Z7inlined) a.c:3 outer() :9 < 0x1010@/bin/app outer() :9 < "              \
	"0xffffffffffffffff@"

static void test_pprof_encode__round_trip(void **state)
{
	static const char *const want =
	        "type\tcontentions/count\n"
	        "type\tdelay/nanoseconds\n"
	        "type\tcpu/nanoseconds\n"
	        "default\tdelay\n"
	        "period\tdelay/nanoseconds\t1\n" HEADER_END "mapping\t0x7000/0x9000/0x0\t/lib/l.so\t\t[FN]\n"
	        "sample\t0 0 10\t0x1010@/bin/app outer() :9\tai_tag=checkpoint\n"
	        "sample\t2 1500 0\t" DELAY_STACK "\tai_tag=checkpoint\tlost=-5 bytes\tstep=0 steps\n";
	struct profile *p = new_profile();

	(void)state;
	for (int gzip = 0; gzip < 2; gzip++) {
		char *got = listing_of_encoded(p, 0, gzip);

		assert_string_equal(got, want);
		free(got);
	}
	profile_free(p);
}

static void test_pprof_encode__types_go_apart(void **state)
{
	static const char *const cpu = "type\tcpu/nanoseconds\n"
	                               "default\tcpu\n"
	                               "period\tdelay/nanoseconds\t1\n" HEADER_END
	                               "sample\t10\t0x1010@/bin/app outer() :9\tai_tag=checkpoint\n";
	static const char *const block =
	        "type\tcontentions/count\n"
	        "type\tdelay/nanoseconds\n"
	        "default\tdelay\n"
	        "period\tdelay/nanoseconds\t1\n" HEADER_END "mapping\t0x7000/0x9000/0x0\t/lib/l.so\t\t[FN]\n"
	        "sample\t2 1500\t" DELAY_STACK "\tai_tag=checkpoint\tlost=-5 bytes\tstep=0 steps\n";
	struct profile *p = new_profile();
	char *got = listing_of_encoded(p, 4, true);
	void *buf;
	size_t len;

	(void)state;
	assert_string_equal(got, cpu);
	free(got);
	got = listing_of_encoded(p, 3, false);
	assert_string_equal(got, block);
	free(got);
	assert_int_equal(profile_encode(p, 8, false, &buf, &len), -EINVAL);
	profile_free(p);
	p = profile_new(TYPES, 3, TYPES[1], 1, MIB);
	assert_int_equal(profile_encode(p, 15, false, &buf, &len), -EINVAL);
	profile_free(p);
}

static void test_pprof_encode__same_profile_same_bytes(void **state)
{
	struct profile *p = new_profile(), *q = new_profile();
	void *a, *b;
	size_t a_len, b_len;

	(void)state;
	assert_int_equal(profile_encode(p, 0, true, &a, &a_len), 0);
	assert_int_equal(profile_encode(q, 0, true, &b, &b_len), 0);
	assert_int_equal(a_len, b_len);
	assert_memory_equal(a, b, a_len);
	free(a);
	free(b);
	profile_free(p);
	profile_free(q);
}

/* The string table begins with "" and each text is in it once; ids count from 1; no string is dangling. */
static void test_pprof_encode__writes_what_readers_expect(void **state)
{
	struct profile *p = new_profile();
	message *m;
	void *buf;
	size_t len;

	(void)state;
	assert_int_equal(profile_encode(p, 0, false, &buf, &len), 0);
	m = perftools__profiles__profile__unpack(NULL, len, buf);
	assert_non_null(m);
	assert_string_equal(m->string_table[0], "");
	for (size_t i = 0; i < m->n_string_table; i++)
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(m->string_table[i], m->string_table[k]);
	for (size_t i = 0; i < m->n_location; i++)
		assert_int_equal(m->location[i]->id, i + 1);
	for (size_t i = 0; i < m->n_function; i++)
		assert_int_equal(m->function[i]->id, i + 1);
	for (size_t i = 0; i < m->n_mapping; i++)
		assert_int_equal(m->mapping[i]->id, i + 1);
	assert_string_equal(m->string_table[m->mapping[0]->filename], "/bin/app");
	assert_string_equal(m->string_table[m->default_sample_type], "delay");
	perftools__profiles__profile__free_unpacked(m, NULL);
	free(buf);
	profile_free(p);
}

/* A path or a symbol may have any bytes; a server refuses the whole profile for one string that is no UTF-8. */
static void test_pprof_encode__strings_are_text(void **state)
{
	struct profile *p = profile_new(TYPES, 3, TYPES[1], 1, MIB);
	const struct profile_frame frame = { "caf\xe9", "_Zcaf\xe9", "/home/caf\xe9/a.c", 3 };
	const struct profile_label label = { .key = "k\xff", .str = "v\xff" };
	int64_t mapping = profile_mapping(p, 0x1000, 0x2000, 0, "/home/caf\xe9/app", "c0de", true, true);
	int64_t location = profile_location(p, mapping, 0x1010, &frame, 1);
	message *m;
	void *buf;
	size_t len;

	(void)state;
	assert_int_equal(profile_add_sample(p, &location, 1, (int64_t[]){ 1, 2, 3 }, &label, 1), 0);
	profile_add_comment(p, "a \xff b");
	assert_int_equal(profile_encode(p, 0, false, &buf, &len), 0);
	m = perftools__profiles__profile__unpack(NULL, len, buf);
	assert_non_null(m);
	for (size_t i = 0; i < m->n_string_table; i++)
		assert_true(utf8_is_text(m->string_table[i], strlen(m->string_table[i])));
	perftools__profiles__profile__free_unpacked(m, NULL);
	free(buf);
	profile_free(p);
}

static void test_pprof_encode__empty_profile(void **state)
{
	struct profile *p = profile_new(TYPES, 3, TYPES[1], 1, MIB), *q;
	void *buf;
	size_t len;

	(void)state;
	assert_int_equal(profile_encode(p, 0, true, &buf, &len), 0);
	q = decode(buf, len);
	assert_same(p, q);
	free(buf);
	profile_free(p);
	profile_free(q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pprof_encode__round_trip),
		cmocka_unit_test(test_pprof_encode__types_go_apart),
		cmocka_unit_test(test_pprof_encode__same_profile_same_bytes),
		cmocka_unit_test(test_pprof_encode__writes_what_readers_expect),
		cmocka_unit_test(test_pprof_encode__strings_are_text),
		cmocka_unit_test(test_pprof_encode__empty_profile),
	};

	return cmocka_run_group_tests_name("pprof_encode", tests, NULL, NULL);
}
