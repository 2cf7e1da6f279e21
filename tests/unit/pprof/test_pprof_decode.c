/* Tests of profile_decode(): which foreign profiles it accepts and refuses, with which errors and bounds. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <cmocka.h>

#include "pprof/profile.h"
#include "pprof/profile.pb-c.h"

typedef Perftools__Profiles__Profile message;

static const size_t MIB = 1 << 20;

/* A small valid profile as messages, each within reach of the changes below. */
struct base {
	message m;
	Perftools__Profiles__ValueType types[2], *type_ptrs[2], period;
	Perftools__Profiles__Mapping mappings[2], *mapping_ptrs[2];
	Perftools__Profiles__Function functions[2], *function_ptrs[2];
	Perftools__Profiles__Line line, *line_ptr;
	Perftools__Profiles__Location locations[2], *location_ptrs[2];
	Perftools__Profiles__Label label, *label_ptr;
	Perftools__Profiles__Sample sample, *sample_ptr;
	uint64_t location_ids[2];
	int64_t values[3], comment;
	char *strings[8];
};

enum { S_EMPTY, S_DELAY, S_NS, S_FILE, S_FUNCTION, S_KEY, S_VALUE, S_UNIT, N_STRINGS };

static void fill_records(struct base *b)
{
	for (int i = 0; i < 2; i++) {
		perftools__profiles__mapping__init(&b->mappings[i]);
		perftools__profiles__function__init(&b->functions[i]);
		perftools__profiles__location__init(&b->locations[i]);
		b->mappings[i].id = 11 + i;
		b->mappings[i].filename = S_FILE;
		b->functions[i].id = 21 + i;
		b->functions[i].name = S_FUNCTION;
		b->locations[i].id = 31 + i;
		b->locations[i].mapping_id = 11;
		b->locations[i].address = 0x1000 + i;
		b->mapping_ptrs[i] = &b->mappings[i];
		b->function_ptrs[i] = &b->functions[i];
		b->location_ptrs[i] = &b->locations[i];
		b->location_ids[i] = 31 + i;
	}
	perftools__profiles__line__init(&b->line);
	b->line.function_id = 22;
	b->line.line = 5;
	b->line_ptr = &b->line;
	b->locations[0].n_line = 1;
	b->locations[0].line = &b->line_ptr;
}

static void fill_sample(struct base *b)
{
	perftools__profiles__label__init(&b->label);
	b->label.key = S_KEY;
	b->label.num = 4;
	b->label.num_unit = S_UNIT;
	b->label_ptr = &b->label;
	perftools__profiles__sample__init(&b->sample);
	b->sample.n_location_id = 2;
	b->sample.location_id = b->location_ids;
	b->sample.n_value = 2;
	b->sample.value = b->values;
	b->sample.n_label = 1;
	b->sample.label = &b->label_ptr;
	b->sample_ptr = &b->sample;
	b->values[0] = 5;
	b->values[1] = 6;
}

static void fill_base(struct base *b)
{
	static char *const strings[N_STRINGS] = { "",      "delay", "nanoseconds", "/bin/app",
		                                  "start", "step",  "one",         "bytes" };

	memset(b, 0, sizeof(*b));
	perftools__profiles__profile__init(&b->m);
	for (int i = 0; i < 2; i++) {
		perftools__profiles__value_type__init(&b->types[i]);
		b->types[i].type = S_DELAY;
		b->types[i].unit = S_NS;
		b->type_ptrs[i] = &b->types[i];
	}
	b->period = b->types[0];
	memcpy(b->strings, strings, sizeof(strings));
	fill_records(b);
	fill_sample(b);
	b->comment = S_VALUE;
	b->m.n_sample_type = b->m.n_mapping = b->m.n_function = b->m.n_location = 2;
	b->m.sample_type = b->type_ptrs;
	b->m.mapping = b->mapping_ptrs;
	b->m.function = b->function_ptrs;
	b->m.location = b->location_ptrs;
	b->m.n_sample = b->m.n_comment = 1;
	b->m.sample = &b->sample_ptr;
	b->m.comment = &b->comment;
	b->m.period_type = &b->period;
	b->m.n_string_table = N_STRINGS;
	b->m.string_table = b->strings;
}

/* Malloc'd. */
static unsigned char *pack_message(const message *m, size_t *len)
{
	unsigned char *buf;

	*len = perftools__profiles__profile__get_packed_size(m);
	buf = malloc(*len + 1);
	perftools__profiles__profile__pack(m, buf);
	return buf;
}

static unsigned char *pack_base(size_t *len)
{
	struct base b;

	fill_base(&b);
	return pack_message(&b.m, len);
}

static int decode_message(const message *m, struct profile **out, char *err, size_t err_len)
{
	size_t len;
	unsigned char *buf = pack_message(m, &len);
	int ret = profile_decode(buf, len, MIB, out, err, err_len);

	free(buf);
	return ret;
}

static unsigned char *gzip_of(const void *in, size_t len, size_t *out_len)
{
	unsigned char *out = malloc(len + 100);
	z_stream z = {
		.next_in = (void *)in, .avail_in = (uInt)len, .next_out = out, .avail_out = (uInt)len + 100
	};

	assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	*out_len = z.total_out;
	deflateEnd(&z);
	return out;
}

static void test_pprof_decode__gzip_of_two_members(void **state)
{
	unsigned char joined[4096], *plain, *gzip;
	struct profile *p = NULL;
	char err[256] = "";
	size_t len, gzip_len, used = 0;

	(void)state;
	plain = pack_base(&len);
	for (int half = 0; half < 2; half++) {
		gzip = gzip_of(plain + (half ? len / 2 : 0), half ? len - len / 2 : len / 2, &gzip_len);
		memcpy(joined + used, gzip, gzip_len);
		used += gzip_len;
		free(gzip);
	}
	assert_int_equal(profile_decode(joined, used, MIB, &p, err, sizeof(err)), 0);
	assert_int_equal(profile_n_samples(p), 1);
	free(plain);
	profile_free(p);
}

static void test_pprof_decode__every_cut_is_an_error(void **state)
{
	struct profile *q;
	char err[256];

	(void)state;
	for (int gzip = 0; gzip < 2; gzip++) {
		size_t len, accepted = 0;
		unsigned char *buf = pack_base(&len);

		if (gzip) {
			unsigned char *plain = buf;

			buf = gzip_of(plain, len, &len);
			free(plain);
		}
		for (size_t cut = 0; cut < len; cut++) {
			/* A copy of just that size, so that reading past its end shows under ASan. */
			void *part = malloc(cut ? cut : 1);
			int ret;

			memcpy(part, buf, cut);
			*err = 0;
			ret = profile_decode(part, cut, MIB, &q, err, sizeof(err));
			assert_true(ret == 0 || (ret == -EBADMSG && *err && !strchr(err, '\n')));
			/* Plain messages have no end of their own: a cut between fields can leave a valid
			 * profile. */
			accepted += ret == 0;
			if (!ret)
				profile_free(q);
			else
				assert_null(q);
			free(part);
		}
		assert_in_range(accepted, 0, gzip ? 0 : 12);
		free(buf);
	}
}

/* A name, what is done to the valid profile, and what the decoder says of it. */
/* clang-format off */
#define OUTSIDE(index) "string " index " is outside the string table, which has 8"
#define CASES(X) \
	X(nothing, (void)b, NULL) \
	X(label_of_nothing, b->strings[S_UNIT] = ""; b->label.num = 0; b->label.str = S_UNIT, NULL) \
	X(first_string, b->strings[0] = "x", "string 0 is not empty") \
	X(no_strings, b->m.n_string_table = 0, "the string table is empty") \
	X(fewer_values, b->sample.n_value = 1, "sample 1 of 1: its values number 1, but the sample types 2") \
	X(more_values, b->sample.n_value = 3, "sample 1 of 1: its values number 3, but the sample types 2") \
	X(no_types, b->m.n_sample_type = 0; b->sample.n_value = 0, \
	  "sample 1 of 1: the profile has no sample types") \
	X(unknown_location, b->location_ids[1] = 33, "sample 1 of 1: location 33 is not in the profile") \
	X(zero_location, b->location_ids[0] = 0, "sample 1 of 1: location 0 is not in the profile") \
	X(unknown_function, b->line.function_id = 1, "location 1 of 2: function 1 is not in the profile") \
	X(no_function, b->line.function_id = 0, "location 1 of 2: function 0 is not in the profile") \
	X(unknown_mapping, b->locations[1].mapping_id = 13, "location 2 of 2: mapping 13 is not in the profile") \
	X(location_id_0, b->locations[1].id = 0, "location 2 of 2: its id is 0, which is reserved") \
	X(mapping_id_0, b->mappings[0].id = 0, "mapping 1 of 2: its id is 0, which is reserved") \
	X(function_id_0, b->functions[0].id = 0, "function 1 of 2: its id is 0, which is reserved") \
	X(location_twice, b->locations[1].id = 31, "location 2 of 2: its id 31 is also that of number 1") \
	X(mapping_twice, b->mappings[1].id = 11, "mapping 2 of 2: its id 11 is also that of number 1") \
	X(function_twice, b->functions[1].id = 21, "function 2 of 2: its id 21 is also that of number 1") \
	X(text_and_number, b->label.str = S_VALUE; b->label.num_unit = 0, \
	  "sample 1 of 1: a label has both a text and a number") \
	X(text_and_unit, b->label.str = S_VALUE; b->label.num = 0, \
	  "sample 1 of 1: a label has a unit beside a text") \
	X(unit_outside, b->label.num_unit = 8, "sample 1 of 1: " OUTSIDE("8")) \
	X(key_outside, b->label.key = 99, "sample 1 of 1: " OUTSIDE("99")) \
	X(key_negative, b->label.key = -1, "sample 1 of 1: " OUTSIDE("-1")) \
	X(name_outside, b->functions[1].name = 1LL << 31, "function 2 of 2: " OUTSIDE("2147483648")) \
	X(file_outside, b->mappings[1].filename = 8, "mapping 2 of 2: " OUTSIDE("8")) \
	X(type_outside, b->types[1].type = 8, "sample type 2 of 2: " OUTSIDE("8")) \
	X(period_outside, b->period.unit = -3, "period type 1 of 1: " OUTSIDE("-3")) \
	X(comment_outside, b->comment = 8, "comment 1 of 1: " OUTSIDE("8")) \
	X(default_outside, b->m.default_sample_type = 8, OUTSIDE("8"))
/* clang-format on */

#define CHANGE(name, change, said)                                                                           \
	static void name(struct base *b)                                                                     \
	{                                                                                                    \
		change;                                                                                      \
	}
CASES(CHANGE)

#define ROW(name, change, said) { name, said },
static const struct {
	void (*change)(struct base *b);
	const char *err;
} BROKEN[] = { CASES(ROW) };

static void test_pprof_decode__broken_messages_are_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(BROKEN) / sizeof(*BROKEN); i++) {
		struct profile *p = (void *)1;
		struct profile_sample_view s;
		char err[256] = "";
		struct base b;
		int ret;

		fill_base(&b);
		BROKEN[i].change(&b);
		ret = decode_message(&b.m, &p, err, sizeof(err));
		if (BROKEN[i].err) {
			assert_string_equal(err, BROKEN[i].err);
			assert_int_equal(ret, -EBADMSG);
			assert_null(p);
		} else {
			assert_int_equal(ret, 0);
			assert_true(profile_get_sample(p, 0, &s));
			assert_int_equal(s.n_labels, BROKEN[i].change == nothing);
			profile_free(p);
		}
	}
}

static void refuse(const void *buf, size_t len, int want, const char *want_err)
{
	struct profile *p;
	char err[256] = "", one[1];

	assert_int_equal(profile_decode(buf, len, MIB, &p, err, sizeof(err)), want);
	assert_string_equal(err, want_err);
	assert_null(p);
	/* And with less, or no, room for saying so. */
	assert_int_equal(profile_decode(buf, len, MIB, &p, one, 1), want);
	assert_int_equal(profile_decode(buf, len, MIB, &p, NULL, 0), want);
}

static void test_pprof_decode__broken_bytes_are_refused(void **state)
{
	unsigned char *plain, *buf;
	size_t plain_len, len;

	(void)state;
	refuse("", 0, -EBADMSG, "there is nothing in it");
	refuse("hello, world", 12, -EBADMSG, "not a pprof profile, or one cut short");
	refuse("\x1f\x8b", 2, -EBADMSG, "the gzip data is cut short");
	refuse("\x1f\x8b\x09\x00", 4, -EBADMSG, "unknown compression method");
	plain = pack_base(&plain_len);
	buf = gzip_of(plain, plain_len, &len);
	refuse(buf, len - 1, -EBADMSG, "the gzip data is cut short");
	refuse(buf, len / 2, -EBADMSG, "the gzip data is cut short");
	buf[len - 4] ^= 1;
	refuse(buf, len, -EBADMSG, "incorrect length check");
	buf[len - 8] ^= 1;
	refuse(buf, len, -EBADMSG, "incorrect data check");
	free(buf);
	refuse(plain, plain_len - 1, -EBADMSG, "not a pprof profile, or one cut short");
	free(plain);
}

static void test_pprof_decode__bombs_stay_within_the_bound(void **state)
{
	static const char too_big[] = "the profile needs more than the 1048576 bytes of memory allowed";
	unsigned char *many = malloc(MIB / 2), *plain, *bomb;
	char *text = malloc(600 << 10);
	struct base b;
	size_t len;

	(void)state;
	/* 600 KiB in 1 KiB: unpacked, and again as a message, it is above the bound. */
	memset(text, 'x', 600 << 10);
	text[(600 << 10) - 1] = 0;
	fill_base(&b);
	b.strings[S_VALUE] = text;
	plain = pack_message(&b.m, &len);
	bomb = gzip_of(plain, len, &len);
	refuse(bomb, len, -ENOSPC, too_big);
	free(bomb);
	free(plain);
	free(text);
	/* 256 Ki empty mappings, at 2 bytes each on the wire and some 70 in memory. */
	for (size_t i = 0; i < MIB / 2; i += 2)
		memcpy(many + i, "\x1a", 2);
	refuse(many, MIB / 2, -ENOSPC, too_big);
	free(many);
}

static void test_pprof_decode__bound_is_on_the_profile_too(void **state)
{
	struct profile_value_type type = { "delay", "nanoseconds" };
	struct profile *p = profile_new(&type, 1, type, 1, 16 * MIB), *q;
	int64_t one = 1;
	char err[256] = "";
	void *buf;
	size_t len;

	(void)state;
	for (uint64_t i = 1; i <= 3000; i++) {
		int64_t id = profile_location(p, 0, i, NULL, 0);

		assert_int_equal(profile_add_sample(p, &id, 1, &one, NULL, 0), 0);
	}
	assert_int_equal(profile_encode(p, 0, false, &buf, &len), 0);
	profile_free(p);
	assert_int_equal(profile_decode(buf, len, 3 * MIB, &q, err, sizeof(err)), 0);
	assert_int_equal(profile_n_samples(q), 3000);
	profile_free(q);
	assert_int_equal(profile_decode(buf, len, 700000, &q, err, sizeof(err)), -ENOSPC);
	assert_non_null(strstr(err, "more than the 700000 bytes"));
	free(buf);
}

/* What others write and we don't: any ids, fields without a place in the builder, odd labels. */
static void test_pprof_decode__keeps_what_it_does_not_build(void **state)
{
	message *again;
	struct profile *p;
	struct base b;
	char err[256];
	void *buf;
	size_t len;

	(void)state;
	fill_base(&b);
	b.line.column = 8;
	b.line.line = -1;
	b.functions[1].start_line = 77;
	b.locations[1].is_folded = 1;
	b.m.drop_frames = b.m.keep_frames = b.m.doc_url = S_VALUE;
	b.m.default_sample_type = S_VALUE; /* not a type: as if not set */
	b.label.num_unit = 0;
	b.sample.n_value = 2;
	assert_int_equal(decode_message(&b.m, &p, err, sizeof(err)), 0);
	assert_string_equal(profile_default_type(p), "delay");
	assert_int_equal(profile_encode(p, 0, false, &buf, &len), 0);
	profile_free(p);
	again = perftools__profiles__profile__unpack(NULL, len, buf);
	free(buf);
	assert_non_null(again);
	assert_int_equal(again->location[0]->line[0]->column, 8);
	assert_int_equal(again->location[0]->line[0]->line, 0);
	assert_int_equal(again->function[again->location[0]->line[0]->function_id - 1]->start_line, 77);
	assert_int_equal(again->location[1]->is_folded, 1);
	assert_string_equal(again->string_table[again->drop_frames], "one");
	assert_string_equal(again->string_table[again->keep_frames], "one");
	assert_string_equal(again->string_table[again->doc_url], "one");
	assert_string_equal(again->string_table[again->default_sample_type], "delay");
	assert_int_equal(again->sample[0]->label[0]->num, 4);
	assert_int_equal(again->sample[0]->label[0]->num_unit, 0);
	perftools__profiles__profile__free_unpacked(again, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pprof_decode__gzip_of_two_members),
		cmocka_unit_test(test_pprof_decode__every_cut_is_an_error),
		cmocka_unit_test(test_pprof_decode__broken_messages_are_refused),
		cmocka_unit_test(test_pprof_decode__broken_bytes_are_refused),
		cmocka_unit_test(test_pprof_decode__bombs_stay_within_the_bound),
		cmocka_unit_test(test_pprof_decode__bound_is_on_the_profile_too),
		cmocka_unit_test(test_pprof_decode__keeps_what_it_does_not_build),
	};

	return cmocka_run_group_tests_name("pprof_decode", tests, NULL, NULL);
}
