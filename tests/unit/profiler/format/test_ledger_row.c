/* Tests of ledger_row.h: summing rows, limits, and writing them as notes. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "pprof/profile.h"
#include "profiler/format/ledger_row.h"

static struct profile *new_profile(int64_t time_ns)
{
	static const struct profile_value_type type = { "delay", "nanoseconds" };
	struct profile *profile = profile_new(&type, 1, type, 1, 1 << 24);

	assert_non_null(profile);
	profile_set_time(profile, time_ns, 1);
	return profile;
}

static struct ledger_row row(const char *tag, enum ledger_state state, const char *cause, uint64_t ns)
{
	return (struct ledger_row){ .tag = (char *)tag,
		                    .id = 255,
		                    .pid = 12,
		                    .start_ns = 5,
		                    .comm = (char *)"python3",
		                    .state = state,
		                    .cause = (char *)cause,
		                    .device = (char *)(*cause ? "vda" : ""),
		                    .ns = ns,
		                    .count = 1 };
}

static void add(struct ledger *ledger, struct ledger_row fresh)
{
	assert_int_equal(ledger_add(ledger, &fresh), 0);
}

static void test_ledger_row__equal_keys_are_summed(void **state)
{
	struct ledger *ledger = ledger_new(0);
	struct ledger_row same = row("t", LEDGER_STALL, "block_io", 10), other;
	char text[LEDGER_PROCESS_BYTES];

	(void)state;
	add(ledger, same);
	same.ns = 32;
	same.comm = (char *)"renamed";
	same.rank_and_1 = 4;
	add(ledger, same);
	same.rank_and_1 = 0;
	same.comm = NULL;
	same.ns = 0;
	add(ledger, same);
	assert_int_equal(ledger_count(ledger), 1);
	assert_int_equal(ledger_at(ledger, 0)->ns, 42);
	assert_int_equal(ledger_at(ledger, 0)->count, 3);
	assert_int_equal(ledger_at(ledger, 0)->rank_and_1, 4);
	assert_string_equal(ledger_row_process(ledger_at(ledger, 0), text), "rank 3 renamed[12]");
	assert_string_equal(ledger_at(ledger, 0)->comm, "renamed");
	/* Each part of the key makes another row. */
	other = same, other.tag = (char *)"u", add(ledger, other);
	other = same, other.id = 1, add(ledger, other);
	other = same, other.pid = 1, add(ledger, other);
	other = same, other.start_ns = 1, add(ledger, other);
	other = same, other.state = LEDGER_ONCPU, add(ledger, other);
	other = same, other.cause = (char *)"throttle", add(ledger, other);
	other = same, other.device = (char *)"vdb", add(ledger, other);
	assert_int_equal(ledger_count(ledger), 8);
	ledger_free(ledger);
	ledger_free(NULL);
}

static void test_ledger_row__texts_do_not_run_into_each_other(void **state)
{
	struct ledger *ledger = ledger_new(0);
	struct ledger_row a = row("t", LEDGER_STALL, "x", 1), b = a;

	(void)state;
	a.cause = (char *)"x device=y";
	a.device = (char *)"";
	b.cause = (char *)"x";
	b.device = (char *)"y device=\"\"";
	add(ledger, a);
	add(ledger, b);
	assert_int_equal(ledger_count(ledger), 2);
	ledger_free(ledger);
}

static void test_ledger_row__sorted(void **state)
{
	struct ledger *ledger = ledger_new(0);

	(void)state;
	add(ledger, row("b", LEDGER_ONCPU, "", 1));
	add(ledger, row("a", LEDGER_BLOCKED, "", 2));
	assert_string_equal(ledger_at(ledger, 0)->tag, "a");
	add(ledger, row("a", LEDGER_STALL, "throttle", 3));
	add(ledger, row("a", LEDGER_STALL, "block_io", 4));
	add(ledger, row("a", LEDGER_ONCPU, "", 5));
	assert_int_equal(ledger_at(ledger, 0)->state, LEDGER_ONCPU);
	assert_string_equal(ledger_at(ledger, 1)->cause, "block_io");
	assert_string_equal(ledger_at(ledger, 2)->cause, "throttle");
	assert_int_equal(ledger_at(ledger, 3)->state, LEDGER_BLOCKED);
	assert_string_equal(ledger_at(ledger, 4)->tag, "b");
	assert_null(ledger_at(ledger, 5));
	assert_int_equal(ledger_wall_ns(ledger, "a"), 14);
	assert_int_equal(ledger_wall_ns(ledger, "b"), 1);
	assert_int_equal(ledger_wall_ns(ledger, "c"), 0);
	assert_int_equal(ledger_wall_ns(ledger, NULL), 15);
	ledger_free(ledger);
}

static void test_ledger_row__limits(void **state)
{
	struct ledger *ledger = ledger_new(0);
	struct ledger_row fresh = row("t", LEDGER_STATES, "", 1);

	(void)state;
	assert_int_equal(ledger_add(ledger, &fresh), -EINVAL);
	fresh.state = LEDGER_ONCPU;
	fresh.ns = INT64_MAX - 1;
	add(ledger, fresh);
	add(ledger, fresh);
	assert_true(ledger_at(ledger, 0)->ns == INT64_MAX);
	ledger_free(ledger);
}

/* What a full ledger has no row for is summed by class; what it has one for goes on. */
static void test_ledger_row__full(void **state)
{
	struct ledger *ledger = ledger_new(2);
	struct ledger_row fresh = row("ckpt/run1", LEDGER_ONCPU, "", 10);
	const struct ledger_row *folded;

	(void)state;
	fresh.class = (char *)"ckpt";
	for (fresh.id = 1; fresh.id <= 5; fresh.id++)
		add(ledger, fresh);
	fresh.id = 2;
	add(ledger, fresh);
	assert_int_equal(ledger_count(ledger), 3);
	assert_int_equal(ledger_folded(ledger), 3);
	assert_int_equal(ledger_wall_ns(ledger, NULL), 60);
	assert_int_equal(ledger_wall_ns(ledger, "ckpt/run1"), 30);
	folded = ledger_at(ledger, 0);
	assert_true(folded->folded && folded->ns == 30 && folded->id == 0);
	assert_string_equal(folded->tag, "ckpt");
	assert_false(ledger_at(ledger, 1)->folded);
	ledger_free(ledger);
}

static void assert_same_rows(struct ledger *a, struct ledger *b)
{
	assert_int_equal(ledger_count(a), ledger_count(b));
	for (size_t i = 0; i < ledger_count(a); i++) {
		const struct ledger_row *x = ledger_at(a, i), *y = ledger_at(b, i);

		assert_string_equal(x->tag, y->tag);
		assert_true(x->id == y->id && x->pid == y->pid && x->start_ns == y->start_ns);
		assert_string_equal(x->comm, y->comm);
		assert_int_equal(x->state, y->state);
		assert_string_equal(x->cause, y->cause);
		assert_string_equal(x->device, y->device);
		assert_true(x->ns == y->ns && x->count == y->count);
	}
}

static void test_ledger_row__comments_round_trip(void **state)
{
	static const char *const odd[] = {
		"",          "plain",        "a b",         "\"q\"",
		"new\nline", "tab\t\\x41",   "caf\xc3\xa9", "\xff\xfe\x80",
		"x=1 y",     "\x01",         "a/b/c",       "\\",
		"\\\"",      "\xed\xa0\x80", "#",           " ",
	};
	struct ledger *ledger = ledger_new(0), *back = ledger_new(0);
	struct profile *profile = new_profile(77);
	size_t malformed = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		struct ledger_row fresh = row(odd[i], i % LEDGER_STATES, odd[(i + 1) % 16], UINT64_MAX - i);

		fresh.id = UINT64_MAX - i;
		fresh.pid = UINT32_MAX;
		fresh.comm = (char *)odd[(i + 2) % 16];
		fresh.device = (char *)odd[(i + 3) % 16];
		add(ledger, fresh);
	}
	assert_int_equal(ledger_to_notes(ledger, profile), 0);
	assert_int_equal(ledger_from_notes(back, profile, &malformed), 0);
	assert_int_equal(malformed, 0);
	assert_same_rows(ledger, back);
	profile_free(profile);
	ledger_free(ledger);
	ledger_free(back);
}

static void test_ledger_row__comment_form(void **state)
{
	struct ledger *ledger = ledger_new(0);
	struct profile *profile = new_profile(1700000000000000000);

	(void)state;
	add(ledger, row("checkpoint write", LEDGER_STALL, "block_io", 123));
	assert_int_equal(ledger_to_notes(ledger, profile), 0);
	assert_string_equal(profile_note(profile, 0),
	                    "stallprof.ledger tag=\"checkpoint write\" id=00000000000000ff pid=12 start=5 "
	                    "state=stall cause=block_io device=vda class=\"\" comm=python3 ns=123 count=1");
	profile_free(profile);
	ledger_free(ledger);
}

static void test_ledger_row__corrections_are_negative(void **state)
{
	struct ledger *windows[2] = { ledger_new(0), ledger_new(0) }, *sum = ledger_new(0);
	struct profile *profiles[2] = { new_profile(0), new_profile(1) };

	(void)state;
	add(windows[0], row("t", LEDGER_BLOCKED, "undecided", 700));
	add(windows[1], row("t", LEDGER_BLOCKED, "undecided", -700));
	add(windows[1], row("t", LEDGER_STALL, "journal", 900));
	for (int i = 0; i < 2; i++) {
		assert_int_equal(ledger_to_notes(windows[i], profiles[i]), 0);
		assert_int_equal(ledger_from_notes(sum, profiles[i], NULL), 0);
		profile_free(profiles[i]);
		ledger_free(windows[i]);
	}
	assert_int_equal(ledger_wall_ns(sum, "t"), 900);
	assert_int_equal(ledger_at(sum, 0)->ns, 900); /* the stall */
	assert_int_equal(ledger_at(sum, 1)->ns, 0);
	ledger_free(sum);
}

static void test_ledger_row__malformed_lines_are_counted(void **state)
{
	static const char *const lines[] = {
		"stallprof.ledger tag=a state=oncpu ns=1 unknown=\"x y\" count=2", /* good */
		"anything else",                                                   /* not ours */
		"stallprof.ledger",
		"stallprof.ledger state=oncpu ns=1",
		"stallprof.ledger tag=a state=asleep ns=1",
		"stallprof.ledger tag=a state=oncpu",
		"stallprof.ledger tag=a state=oncpu ns=--1",
		"stallprof.ledger tag=a state=oncpu ns=1 pid=4294967296",
		"stallprof.ledger tag=a state=oncpu ns=1 id=xyz",
		"stallprof.ledger tag=\"a state=oncpu ns=1",
	};
	struct ledger *ledger = ledger_new(0);
	struct profile *profile = new_profile(0);
	size_t malformed = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		assert_int_equal(profile_add_note(profile, lines[i]), 0);
	assert_int_equal(ledger_from_notes(ledger, profile, &malformed), 0);
	assert_int_equal(malformed, 8);
	assert_int_equal(ledger_count(ledger), 1);
	assert_int_equal(ledger_at(ledger, 0)->count, 2);
	assert_int_equal(ledger_from_notes(ledger, profile, NULL), 0);
	profile_free(profile);
	ledger_free(ledger);
}

/* Two windows with the same row, merged by a tool that drops equal comments: nothing is lost. */
static void test_ledger_row__windows_survive_a_merge(void **state)
{
	struct ledger *ledger = ledger_new(0), *back = ledger_new(0);
	struct profile *first = new_profile(1000), *second = new_profile(2000);
	char err[128] = "";

	(void)state;
	add(ledger, row("t", LEDGER_BLOCKED, "", 10));
	assert_int_equal(ledger_to_notes(ledger, first), 0);
	assert_int_equal(ledger_to_notes(ledger, second), 0);
	assert_int_equal(profile_merge(first, second, err, sizeof(err)), 0);
	assert_int_equal(ledger_from_notes(back, first, NULL), 0);
	assert_int_equal(ledger_wall_ns(back, "t"), 20);
	profile_free(first);
	profile_free(second);
	ledger_free(ledger);
	ledger_free(back);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ledger_row__equal_keys_are_summed),
		cmocka_unit_test(test_ledger_row__texts_do_not_run_into_each_other),
		cmocka_unit_test(test_ledger_row__sorted),
		cmocka_unit_test(test_ledger_row__limits),
		cmocka_unit_test(test_ledger_row__full),
		cmocka_unit_test(test_ledger_row__comments_round_trip),
		cmocka_unit_test(test_ledger_row__comment_form),
		cmocka_unit_test(test_ledger_row__corrections_are_negative),
		cmocka_unit_test(test_ledger_row__malformed_lines_are_counted),
		cmocka_unit_test(test_ledger_row__windows_survive_a_merge),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
