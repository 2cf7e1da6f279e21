/* A small recorded profile for the tests of `top`. Static, since each test is one file. */
#ifndef STALLPROF_TESTS_LOADED_FIXTURE_H
#define STALLPROF_TESTS_LOADED_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pprof/profile.h"
#include "profiler/format/ledger_row.h"
#include "profiler/format/stamp.h"
#include "profiler/format/tag_hash.h"
#include "profiler/loaded/loaded_profiles.h"
#include "profiler/loaded/loaded_sample.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define MS 1000000

/* --- a recorded profile ----------------------------------------------------------------------------------- */

enum { CONTENTIONS, DELAY, CPU };

static const struct profile_value_type types[] = { { "contentions", "count" },
	                                           { "delay", "nanoseconds" },
	                                           { "cpu", "nanoseconds" } };

static inline int64_t place(struct profile *p, uint64_t address, const char *outer, const char *inlined)
{
	struct profile_frame frames[2] = { { .function = inlined, .file = "/src/in.c", .line = 7 },
		                           { .function = outer, .file = "/src/out.c", .line = 42 } };
	int64_t id = profile_location(p, 1, address, inlined ? frames : frames + 1, inlined ? 2 : 1);

	assert_true(id > 0);
	return id;
}

/* The number of lines in a text. */
static inline size_t count_lines(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

/* The class of a tag is the first part of its name. */
static const char *class_of(const char *tag, char class[64])
{
	snprintf(class, 64, "%.*s", (int)strcspn(tag, "/"), tag);
	return class;
}

static inline void add_sample(struct profile *p, const int64_t *stack, size_t depth, int64_t delay,
                              int64_t cpu, const char *tag, const char *id, const char *stall,
                              const char *device)
{
	const int64_t values[] = { delay ? 1 : 0, delay, cpu };
	char class[64];
	const struct profile_label labels[] = {
		{ .key = "ai_tag", .str = class_of(tag, class) },
		{ .key = "span_id", .str = id },
		{ .key = "stall", .str = stall },
		{ .key = "device", .str = device },
		{ .key = "tid", .num = 7, .unit = "id" },
		{ .key = TAG_HASH_LABEL, .num = tag_hash(tag), .unit = TAG_HASH_UNIT },
	};
	bool is_class = !strcmp(tag, class);

	assert_int_equal(profile_add_sample(p, stack, depth, values, labels, is_class ? 5 : 6), 0);
}

/* `fixed` has the row's other fields. */
static inline void put_row(struct ledger *ledger, const char *tag, struct ledger_row fixed,
                           enum ledger_state state, const char *cause, uint64_t ns)
{
	char class[64];

	fixed.tag = (char *)tag;
	fixed.class = (char *)class_of(tag, class);
	fixed.state = state;
	fixed.cause = (char *)cause;
	fixed.ns = ns;
	assert_int_equal(ledger_add(ledger, &fixed), 0);
}

static inline void add_row(struct ledger *ledger, const char *tag, uint64_t id, enum ledger_state state,
                           const char *cause, uint64_t ns)
{
	const struct ledger_row row = { .id = id,
		                        .pid = 12 + (uint32_t)id,
		                        .start_ns = 5,
		                        .comm = (char *)"python3",
		                        .device = (char *)(*cause ? "vda" : ""),
		                        .count = 1 };

	put_row(ledger, tag, row, state, cause, ns);
}

static inline void add_notes(struct profile *p, uint64_t first_ns)
{
	struct ledger *ledger = ledger_new(0);
	struct stamp *stamp = stamp_new();

	add_row(ledger, "checkpoint_write/run1", 1, LEDGER_ONCPU, "", 10 * MS);
	add_row(ledger, "checkpoint_write/run1", 1, LEDGER_RUNQUEUE, "", 10 * MS);
	add_row(ledger, "checkpoint_write/run1", 1, LEDGER_STALL, "block_io", 60 * MS);
	add_row(ledger, "checkpoint_write/run1", 1, LEDGER_BLOCKED, "", 20 * MS);
	add_row(ledger, "step/9", 2, LEDGER_ONCPU, "", 90 * MS);
	add_row(ledger, "step/9", 2, LEDGER_STALL, "throttle", 10 * MS);
	assert_int_equal(stamp_add_window(stamp, first_ns, first_ns + 100 * MS), 0);
	assert_int_equal(stamp_add_hook(stamp, "block_io", "tp_btf/x", HOOK_ATTACHED, ""), 0);
	assert_int_equal(stamp_add_hook(stamp, "tag_wait", "tp_btf/y", HOOK_MISSING, "too old"), 0);
	assert_int_equal(stamp_add_counter(stamp, "ring_drops", 2), 0);
	assert_int_equal(stamp_to_notes(stamp, p), 0);
	assert_int_equal(ledger_to_notes(ledger, p), 0);
	ledger_free(ledger);
	stamp_free(stamp);
}

static inline struct profile *recorded(uint64_t first_ns)
{
	struct profile *p = profile_new(types, 3, types[CPU], 10101010, 1 << 24);
	int64_t io, main_fn, write_fn, recursion[3];

	assert_non_null(p);
	profile_set_time(p, (int64_t)first_ns, 100 * MS);
	assert_int_equal(profile_mapping(p, 0x1000, 0x9000, 0, "/bin/train", "ab", true, true), 1);
	io = place(p, 0x1100, "io_schedule", NULL);
	write_fn = place(p, 0x1200, "write_shard", "flush");
	main_fn = place(p, 0x1300, "main", NULL);
	recursion[0] = recursion[1] = write_fn;
	recursion[2] = main_fn;
	add_sample(p, (int64_t[]){ io, write_fn, main_fn }, 3, 50 * MS, 0, "checkpoint_write/run1",
	           "0000000000000001", "block_io", "vda");
	add_sample(p, recursion, 3, 10 * MS, 0, "checkpoint_write/run1", "0000000000000001", "block_io",
	           "vda");
	add_sample(p, (int64_t[]){ io, main_fn }, 2, 10 * MS, 0, "step/9", "0000000000000002", "throttle",
	           "vdb");
	add_sample(p, (int64_t[]){ main_fn }, 1, 0, 5 * MS, "step/9", "0000000000000002", "block_io", "");
	add_notes(p, first_ns);
	return p;
}

struct fixture {
	struct profile *profile;
	struct loaded_profiles input;
	struct loaded_tags *tags;
};

static inline int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	char err[256] = "";

	fixture->profile = recorded(1000);
	assert_int_equal(loaded_profiles_borrow(&fixture->input, fixture->profile, err, sizeof(err)), 0);
	fixture->tags = loaded_tags_new(&fixture->input);
	assert_non_null(fixture->tags);
	*state = fixture;
	return 0;
}

static inline int tear_down(void **state)
{
	struct fixture *fixture = *state;

	loaded_tags_free(fixture->tags);
	loaded_profiles_release(&fixture->input);
	profile_free(fixture->profile);
	free(fixture);
	return 0;
}

#endif
