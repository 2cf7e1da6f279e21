/* Tests of tag_names.h: when tags enter and leave the BPF side's map. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "profiler/tags/tag_names.h"
#include "profiler/tracer/tracer_state.h"

#define KEYS   100000
#define PINNED 8192 /* process tags that are kept, and as many that nobody has met */
#define ROOM   (65536 + 4096)

/* The BPF side's map, by key. */
static unsigned char in_map[KEYS];
static unsigned int n_in_map, walks;
static uint64_t tags_full;
static uint64_t first_of_process, end_of_process; /* keys of processes' tags; all others are threads' */

static int find_tag(struct tracer *tracer, uint64_t key, struct abi_tag *tag)
{
	(void)tracer;
	if (!in_map[key])
		return -ENOENT;
	snprintf(tag->name, sizeof(tag->name), "tag %llu", (unsigned long long)key);
	tag->source = key >= first_of_process && key < end_of_process ? ABI_TAG_PROCESS : ABI_TAG_STALLTAG;
	return 0;
}

static void drop_tag(struct tracer *tracer, uint64_t key)
{
	(void)tracer;
	n_in_map -= in_map[key];
	in_map[key] = 0;
}

static void each_tag(struct tracer *t, tracer_tag_fn on_tag, void *ctx)
{
	(void)t;
	walks++;
	for (uint64_t key = 0; key < KEYS; key++) {
		if (in_map[key])
			on_tag(ctx, key);
	}
}

static uint64_t counter(const struct tracer *tracer, enum abi_counter counter)
{
	(void)tracer;
	return counter == ABI_COUNT_tags_full ? tags_full : 0;
}

static const struct tracer_ops ops = {
	.find_tag = find_tag, .drop_tag = drop_tag, .each_tag = each_tag, .counter = counter
};
static struct tracer tracer = { .ops = &ops };

/* What a thread does that takes a tag. */
static void intern(uint64_t key)
{
	if (in_map[key])
		return;
	if (n_in_map == ROOM) {
		tags_full++;
		return;
	}
	n_in_map++;
	in_map[key] = 1;
}

static int empty_map(void **state)
{
	(void)state;
	memset(in_map, 0, sizeof(in_map));
	n_in_map = walks = 0;
	tags_full = 0;
	first_of_process = end_of_process = 0;
	return 0;
}

static void assert_name(struct tag_names *names, uint64_t key)
{
	char want[64];

	snprintf(want, sizeof(want), "tag %llu", (unsigned long long)key);
	assert_non_null(tag_names_copy(names, &tracer, key));
	assert_string_equal(tag_names_copy(names, &tracer, key)->name, want);
}

static void test_tag_names__one_long_window_does_not_fill_the_map(void **state)
{
	struct tag_names *names = tag_names_new();
	unsigned int most = 0;

	(void)state;
	for (uint64_t key = 0; key < KEYS; key++) {
		intern(key);
		most = n_in_map > most ? n_in_map : most;
		tag_names_copy(names, &tracer, key);
		if (key % 20000 == 19999)
			tag_names_after_take(names, &tracer);
	}
	assert_true(most <= 40000);
	for (uint64_t key = 0; key < KEYS; key++)
		assert_name(names, key);
	tag_names_free(names);
}

static void test_tag_names__a_tag_in_use_stays_in_the_map(void **state)
{
	struct tag_names *names = tag_names_new();

	(void)state;
	intern(7);
	intern(8);
	for (int take = 0; take < 10; take++) {
		tag_names_copy(names, &tracer, 7);
		if (!take)
			tag_names_copy(names, &tracer, 8);
		tag_names_after_take(names, &tracer);
	}
	assert_int_equal(in_map[7], 1);
	assert_int_equal(in_map[8], 0);
	assert_name(names, 8);
	tag_names_free(names);
}

/* A tag that comes back is put into the map again, and must leave it again. */
static void test_tag_names__comes_back_and_leaves_again(void **state)
{
	struct tag_names *names = tag_names_new();

	(void)state;
	for (int time = 0; time < 3; time++) {
		intern(7);
		tag_names_copy(names, &tracer, 7);
		tag_names_after_take(names, &tracer);
		assert_int_equal(in_map[7], 1);
		tag_names_after_take(names, &tracer);
		assert_int_equal(in_map[7], 0);
	}
	tag_names_free(names);
}

static void test_tag_names__is_forgotten_after_idle_windows(void **state)
{
	struct tag_names *names = tag_names_new();
	int windows = 0;

	(void)state;
	intern(7);
	intern(9);
	tag_names_pin(names, &tracer, 9);
	tag_names_copy(names, &tracer, 7);
	while (windows < 20) {
		tag_names_after_take(names, &tracer);
		tag_names_end_window(names, &tracer);
		windows++;
		if (windows < 3)
			assert_name(names, 7);
		tag_names_copy(names, &tracer, 9);
	}
	assert_null(tag_names_copy(names, &tracer, 7));
	assert_int_equal(in_map[9], 1);
	assert_name(names, 9);
	tag_names_free(names);
}

static void idle_windows(struct tag_names *names, int n)
{
	for (int i = 0; i < n; i++) {
		tag_names_after_take(names, &tracer);
		tag_names_end_window(names, &tracer);
	}
}

/* Tags that come one after the other, and have a row. */
static void meet(struct tag_names *names, uint64_t first, uint64_t n)
{
	for (uint64_t key = first; key < first + n; key++) {
		intern(key);
		tag_names_copy(names, &tracer, key);
	}
}

/* A job that has been under tags of its own for long, as the one after 8192 others. */
static void test_tag_names__of_the_last_processes_are_kept(void **state)
{
	struct tag_names *names = tag_names_new();

	(void)state;
	end_of_process = KEYS;
	meet(names, 0, PINNED + 1);
	idle_windows(names, 20);
	assert_int_equal(n_in_map, PINNED);
	assert_null(tag_names_copy(names, &tracer, 0));
	for (uint64_t key = 1; key <= PINNED; key++)
		assert_name(names, key);
	meet(names, PINNED + 1, 2 * PINNED);
	idle_windows(names, 20);
	assert_int_equal(n_in_map, PINNED);
	assert_null(tag_names_copy(names, &tracer, PINNED));
	assert_name(names, 3 * PINNED);
	tag_names_free(names);
}

static void test_tag_names__of_processes_that_are_met_or_held_outlive_others(void **state)
{
	enum { GIVEN, MET, HELD, LEFT };
	struct tag_names *names = tag_names_new();

	(void)state;
	end_of_process = KEYS;
	meet(names, GIVEN, 4);
	tag_names_pin(names, &tracer, GIVEN);
	for (uint64_t first = 100; first < 100 + 3 * PINNED; first += 1024) {
		meet(names, first, 1024);
		tag_names_copy(names, &tracer, MET);
		tag_names_held(names, &tracer, HELD);
		idle_windows(names, 10);
	}
	assert_name(names, GIVEN);
	assert_name(names, MET);
	assert_name(names, HELD);
	assert_null(tag_names_copy(names, &tracer, LEFT));
	tag_names_free(names);
}

/* Its process has had no time yet, but the map may be swept. */
static void test_tag_names__held_is_known_from_then_on(void **state)
{
	struct tag_names *names = tag_names_new();

	(void)state;
	end_of_process = KEYS;
	intern(7);
	tag_names_held(names, &tracer, 7);
	drop_tag(&tracer, 7);
	idle_windows(names, 20);
	assert_name(names, 7);
	tag_names_free(names);
}

/* Of a thread's tag it changes nothing. */
static void test_tag_names__held_is_of_process_tags(void **state)
{
	struct tag_names *names = tag_names_new();

	(void)state;
	intern(7);
	tag_names_held(names, &tracer, 7);
	tag_names_copy(names, &tracer, 7);
	tag_names_held(names, &tracer, 7);
	idle_windows(names, 20);
	assert_int_equal(in_map[7], 0);
	assert_null(tag_names_copy(names, &tracer, 7));
	tag_names_free(names);
}

/* One that came after others were kept, and has been left since: what was copied of it outlives the window. */
static void test_tag_names__copy_outlives_that_it_is_not_kept(void **state)
{
	struct tag_names *names = tag_names_new();
	const struct abi_tag *copy;

	(void)state;
	end_of_process = KEYS;
	intern(0);
	copy = tag_names_copy(names, &tracer, 0);
	meet(names, 1, PINNED);
	idle_windows(names, 2);
	assert_string_equal(copy->name, "tag 0");
	assert_ptr_equal(tag_names_copy(names, &tracer, 0), copy);
	idle_windows(names, 20);
	assert_name(names, 0);
	assert_null(tag_names_copy(names, &tracer, 1));
	tag_names_free(names);
}

static void test_tag_names__counts_a_tag_once(void **state)
{
	struct tag_names *names = tag_names_new();

	(void)state;
	intern(7);
	assert_true(tag_names_count(names, &tracer, 7));
	tag_names_end_window(names, &tracer);
	assert_false(tag_names_count(names, &tracer, 7));
	assert_false(tag_names_count(names, &tracer, 8)); /* nobody knows it */
	tag_names_free(names);
}

static void test_tag_names__of_a_refused_row_leaves_the_map(void **state)
{
	struct tag_names *names = tag_names_new();

	(void)state;
	intern(7);
	intern(8);
	tag_names_copy(names, &tracer, 8);
	tag_names_refused(names, &tracer, 7);
	tag_names_refused(names, &tracer, 8);
	assert_int_equal(in_map[7], 0);
	assert_int_equal(in_map[8], 1);
	assert_name(names, 8);
	tag_names_free(names);
}

/* It is told once, and the next window may have room. */
static void test_tag_names__of_a_refused_row_of_a_process_stays(void **state)
{
	struct tag_names *names = tag_names_new();

	(void)state;
	end_of_process = KEYS;
	intern(7);
	tag_names_refused(names, &tracer, 7);
	idle_windows(names, 20);
	assert_int_equal(in_map[7], 1);
	assert_name(names, 7);
	tag_names_free(names);
}

/* More tags than the ledger has rows for, of which nobody hears again. */
static void burst(uint64_t first, uint64_t n)
{
	for (uint64_t key = first; key < first + n; key++)
		intern(key);
}

static void test_tag_names__whose_row_never_came_leave_a_full_map(void **state)
{
	struct tag_names *names = tag_names_new();

	(void)state;
	meet(names, 0, 10);
	burst(100, ROOM);
	assert_int_equal(n_in_map, ROOM);
	assert_int_equal(tags_full, 10);
	tag_names_after_take(names, &tracer);
	assert_int_equal(n_in_map, 10);
	intern(KEYS - 1);
	assert_name(names, KEYS - 1);
	for (uint64_t key = 0; key < 10; key++)
		assert_name(names, key);
	tag_names_free(names);
}

/* A walk costs: no other take needs one. */
static void test_tag_names__are_swept_only_when_tags_did_not_fit(void **state)
{
	struct tag_names *names = tag_names_new();

	(void)state;
	burst(0, ROOM);
	tag_names_after_take(names, &tracer);
	assert_int_equal(walks, 0);
	assert_int_equal(n_in_map, ROOM);
	intern(KEYS - 1);
	for (int take = 0; take < 3; take++)
		tag_names_after_take(names, &tracer);
	assert_int_equal(walks, 1);
	assert_int_equal(n_in_map, 0);
	tag_names_free(names);
}

/* Their processes would not tell them again; nor may those fill the map. */
static void test_tag_names__of_processes_stay_in_a_full_map_while_few(void **state)
{
	struct tag_names *names = tag_names_new();

	(void)state;
	first_of_process = 1000;
	end_of_process = 1000 + PINNED;
	burst(0, ROOM + 1);
	tag_names_after_take(names, &tracer);
	assert_int_equal(n_in_map, PINNED);
	assert_name(names, 1000);
	assert_name(names, 999 + PINNED);
	end_of_process = KEYS;
	burst(0, ROOM + 1);
	tag_names_after_take(names, &tracer);
	assert_int_equal(n_in_map, PINNED + 2); /* those two are known */
	tag_names_free(names);
}

/* It is known here, has left the map, and was put back without a row. */
static void test_tag_names__put_back_without_a_row_leaves_a_full_map(void **state)
{
	struct tag_names *names = tag_names_new();

	(void)state;
	intern(7);
	assert_name(names, 7);
	for (int take = 0; take < 2; take++)
		tag_names_after_take(names, &tracer);
	assert_int_equal(n_in_map, 0);
	burst(0, ROOM + 1);
	for (int take = 0; take < 2; take++)
		tag_names_after_take(names, &tracer);
	assert_int_equal(n_in_map, 0);
	assert_name(names, 7);
	tag_names_free(names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_tag_names__one_long_window_does_not_fill_the_map, empty_map),
		cmocka_unit_test_setup(test_tag_names__a_tag_in_use_stays_in_the_map, empty_map),
		cmocka_unit_test_setup(test_tag_names__comes_back_and_leaves_again, empty_map),
		cmocka_unit_test_setup(test_tag_names__is_forgotten_after_idle_windows, empty_map),
		cmocka_unit_test_setup(test_tag_names__of_the_last_processes_are_kept, empty_map),
		cmocka_unit_test_setup(test_tag_names__of_processes_that_are_met_or_held_outlive_others,
		                       empty_map),
		cmocka_unit_test_setup(test_tag_names__held_is_known_from_then_on, empty_map),
		cmocka_unit_test_setup(test_tag_names__held_is_of_process_tags, empty_map),
		cmocka_unit_test_setup(test_tag_names__copy_outlives_that_it_is_not_kept, empty_map),
		cmocka_unit_test_setup(test_tag_names__counts_a_tag_once, empty_map),
		cmocka_unit_test_setup(test_tag_names__of_a_refused_row_leaves_the_map, empty_map),
		cmocka_unit_test_setup(test_tag_names__of_a_refused_row_of_a_process_stays, empty_map),
		cmocka_unit_test_setup(test_tag_names__whose_row_never_came_leave_a_full_map, empty_map),
		cmocka_unit_test_setup(test_tag_names__are_swept_only_when_tags_did_not_fit, empty_map),
		cmocka_unit_test_setup(test_tag_names__of_processes_stay_in_a_full_map_while_few, empty_map),
		cmocka_unit_test_setup(test_tag_names__put_back_without_a_row_leaves_a_full_map, empty_map),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
