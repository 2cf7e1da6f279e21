/*
 * Recordings made up for the tests of `diff`: folders of windows of a second, of which it is known what differs. Static, since each test is
 * one file.
 *
 *     made_begin(&base);
 *     for (...) {
 *             window_begin(&base, &window);
 *             window_wait(&window, &(struct made_wait){ ... });     any number, any order
 *             window_end(&base, &window);
 *     }
 *     compare(&found, (const struct diff_task){ .place = { base.path, new.path } }, "total:+5%");
 *     ...
 *     compared_free(&found);
 *     made_remove(&base);
 */
#ifndef STALLPROF_TESTS_DIFF_FIXTURE_H
#define STALLPROF_TESTS_DIFF_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pprof/profile.h"
#include "profiler/diff/diff.h"
#include "profiler/diff/diff_print.h"
#include "profiler/diff/diff_result.h"
#include "profiler/format/ledger_row.h"
#include "profiler/format/request_rows.h"
#include "profiler/format/stamp.h"
#include "profiler/format/tag_hash.h"
#include "profiler/format/timeline.h"

#define MADE_MS     1000000ll
#define MADE_SECOND 1000000000ull
#define MADE_BEGIN  (1700000000 * MADE_SECOND)

struct made {
	char path[32]; /* a folder */
	unsigned int windows;
};

struct made_window {
	struct profile *profile;
	struct ledger *ledger;
	struct timeline *timeline;
	struct request_rows *requests;
	uint64_t begin_ns;
};

/* The stack is main, `outer`, `python` and `function`, and above that `kernel`. */
struct made_wait {
	const char *function, *outer, *kernel; /* NULL: it has none */
	const char *python;                    /* a function in Python; NULL: none */
	const char *file;                      /* of `function`; NULL: /src/train.c */
	const char *tag;                       /* its class is what is before a slash */
	const char *stall, *device;
	const char *rank; /* a label; NULL: none */
	uint64_t id;
	uint32_t pid;
	bool base, blocked; /* the tag of a process; a wait that is no stall */
	bool on_cpu;        /* CPU samples within the stall */
	int64_t ns;
};

static inline void made_begin(struct made *made)
{
	*made = (struct made){ .path = "/tmp/diff-made-XXXXXX" };
	assert_non_null(mkdtemp(made->path));
}

static inline const char *made_file(const struct made *made, unsigned int window, char path[64])
{
	snprintf(path, 64, "%s/%03u.pb.gz", made->path, window);
	return path;
}

static inline void made_remove(struct made *made)
{
	char path[64];

	for (unsigned int i = 0; i < made->windows; i++)
		assert_int_equal(unlink(made_file(made, i, path)), 0);
	assert_int_equal(rmdir(made->path), 0);
}

/* --- a window --------------------------------------------------------------------------------------------- */

static inline void window_begin(const struct made *made, struct made_window *window)
{
	static const struct profile_value_type kinds[] = { { "contentions", "count" },
		                                           { "delay", "nanoseconds" },
		                                           { "cpu", "nanoseconds" } };

	*window = (struct made_window){ .profile = profile_new(kinds, 3, kinds[1], 1, 1 << 24),
		                        .ledger = ledger_new(0),
		                        .timeline = timeline_new(0),
		                        .requests = request_rows_new(),
		                        .begin_ns = MADE_BEGIN + made->windows * MADE_SECOND };
	assert_true(window->profile && window->ledger && window->timeline && window->requests);
	assert_int_equal(profile_mapping(window->profile, 0x1000, 0x2000, 0, "/bin/train", "ab", true, true),
	                 1);
	assert_int_equal(profile_mapping(window->profile, 0x3000, 0x4000, 0, "[kernel.kallsyms]_stext", "cd",
	                                 true, true),
	                 2);
	assert_int_equal(profile_mapping(window->profile, 0x5000, 0x6000, 0, "[python]", "", true, true), 3);
	profile_set_time(window->profile, (int64_t)window->begin_ns, MADE_SECOND);
}

static inline const char *made_class(const char *tag, char class[64])
{
	snprintf(class, 64, "%.*s", (int)strcspn(tag, "/"), tag);
	return class;
}

/* A row of the ledger: `fixed` says what is not told here. */
static inline void window_row(struct made_window *window, const char *tag, enum ledger_state state,
                              int64_t ns, struct ledger_row fixed)
{
	char class[64];

	fixed.tag = (char *)tag;
	fixed.class = (char *)made_class(tag, class);
	fixed.comm = (char *)"train";
	fixed.start_ns = 5;
	fixed.state = state;
	fixed.ns = ns;
	fixed.count = 1;
	assert_int_equal(ledger_add(window->ledger, &fixed), 0);
}

static inline size_t add_place(struct profile *profile, int64_t *ids, size_t n, struct profile_frame frame,
                               int64_t mapping)
{
	frame.line = 7;
	if (!frame.file)
		frame.file = "/src/train.c";
	if (!frame.function)
		return n;
	ids[n] = profile_location(profile, mapping, 0x2000 * (uint64_t)mapping - 0xf00, &frame, 1);
	assert_true(ids[n] > 0);
	return n + 1;
}

static inline void window_wait(struct made_window *window, const struct made_wait *wait)
{
	const int64_t values[] = { !wait->on_cpu, wait->on_cpu ? 0 : wait->ns, wait->on_cpu ? wait->ns : 0 };
	char class[64], id[17] = "";
	const struct profile_label labels[] = {
		{ .key = "ai_tag", .str = made_class(wait->tag, class) },
		{ .key = "span_id", .str = id },
		{ .key = "stall", .str = wait->stall },
		{ .key = "device", .str = wait->device ? wait->device : "" },
		{ .key = "rank", .str = wait->rank ? wait->rank : "" },
		{ .key = "pid", .num = wait->pid, .unit = "id" },
		{ .key = TAG_HASH_LABEL, .num = tag_hash(wait->tag), .unit = TAG_HASH_UNIT },
	};
	int64_t ids[5];
	size_t n = 0;

	if (wait->id)
		snprintf(id, sizeof(id), "%016" PRIx64, wait->id);
	n = add_place(window->profile, ids, n, (struct profile_frame){ .function = wait->kernel }, 2);
	n = add_place(window->profile, ids, n,
	              (struct profile_frame){ .function = wait->function, .file = wait->file }, 1);
	n = add_place(window->profile, ids, n,
	              (struct profile_frame){ .function = wait->python, .file = "/src/train.py" }, 3);
	n = add_place(window->profile, ids, n, (struct profile_frame){ .function = wait->outer }, 1);
	n = add_place(window->profile, ids, n, (struct profile_frame){ .function = "main" }, 1);
	assert_int_equal(profile_add_sample(window->profile, ids, n, values, labels, 7), 0);
	if (wait->on_cpu) {
		window_row(window, wait->tag, LEDGER_ONCPU, wait->ns,
		           (struct ledger_row){ .id = wait->id, .pid = wait->pid, .base = wait->base });
		return;
	}
	window_row(window, wait->tag, wait->blocked ? LEDGER_BLOCKED : LEDGER_STALL, wait->ns,
	           (struct ledger_row){ .id = wait->id,
	                                .pid = wait->pid,
	                                .base = wait->base,
	                                .cause = (char *)wait->stall,
	                                .device = (char *)wait->device });
}

/* So many tags of a class are seen for the first time. */
static inline void window_steps(struct made_window *window, const char *class, int64_t steps)
{
	const struct timeline_lane lane = { .kind = TIMELINE_STEPS,
		                            .class = class,
		                            .bucket_ns = MADE_SECOND };

	assert_int_equal(timeline_add(window->timeline, &lane, window->begin_ns, window->begin_ns, steps), 0);
}

static inline void window_requests(struct made_window *window, const char *class, uint64_t requests)
{
	const struct request_row row = {
		.device = "vda", .class = class, .requests = requests, .bytes = requests << 20
	};

	assert_int_equal(request_rows_add(window->requests, &row), 0);
}

static inline void write_window(const struct made_window *window, const char *path)
{
	FILE *file = fopen(path, "w");
	size_t size;
	void *bytes;

	assert_non_null(file);
	assert_int_equal(profile_encode(window->profile, 0, false, &bytes, &size), 0);
	assert_int_equal(fwrite(bytes, 1, size, file), size);
	assert_int_equal(fclose(file), 0);
	free(bytes);
}

/* Writes it as the folder's next file. */
static inline void window_end(struct made *made, struct made_window *window)
{
	struct stamp *stamp = stamp_new();
	char path[64];

	assert_non_null(stamp);
	assert_int_equal(stamp_add_window(stamp, window->begin_ns, window->begin_ns + MADE_SECOND), 0);
	assert_int_equal(stamp_add_hook(stamp, "block_io", "tp_btf/x", HOOK_ATTACHED, ""), 0);
	assert_int_equal(stamp_to_notes(stamp, window->profile), 0);
	assert_int_equal(ledger_to_notes(window->ledger, window->profile), 0);
	assert_int_equal(timeline_to_notes(window->timeline, window->profile), 0);
	assert_int_equal(request_rows_to_notes(window->requests, window->profile), 0);
	write_window(window, made_file(made, made->windows++, path));
	stamp_free(stamp);
	ledger_free(window->ledger);
	timeline_free(window->timeline);
	request_rows_free(window->requests);
	profile_free(window->profile);
}

/* Adds what the `w`th window has besides. */
typedef void (*made_fill)(struct made_window *window, int w, const void *ctx);

#define MADE_WINDOWS 12

/* A folder of MADE_WINDOWS windows of a loop that reads for 20 ms in each, and does what `fill` says. */
static inline void made_loop(struct made *made, made_fill fill, const void *ctx)
{
	struct made_window window;

	made_begin(made);
	for (int w = 0; w < MADE_WINDOWS; w++) {
		window_begin(made, &window);
		window_wait(&window, &(struct made_wait){ .function = "read_batch",
		                                          .tag = "train_step",
		                                          .stall = "block_io",
		                                          .ns = 20 * MADE_MS });
		fill(&window, w, ctx);
		window_end(made, &window);
	}
}

/* --- a comparison ----------------------------------------------------------------------------------------- */

struct compared {
	struct diff_task task;
	struct diff diff;
	struct diff_rule rule;
	char err[512];
	int result; /* of diff_build() */
	char *text;
};

/* `rule`: of --fail-on; NULL: none. */
static inline void compare(struct compared *found, struct diff_task task, const char *rule)
{
	size_t size;
	FILE *out;

	*found = (struct compared){ .task = task };
	found->task.confidence = DIFF_CONFIDENCE;
	found->task.min_change = DIFF_MIN_CHANGE;
	if (rule) {
		assert_int_equal(diff_rule_parse(&found->rule, rule, found->err, sizeof(found->err)), 0);
		found->task.rules = &found->rule;
		found->task.rule_count = 1;
	}
	found->result = diff_build(&found->diff, &found->task, found->err, sizeof(found->err));
	if (found->result)
		return;
	out = open_memstream(&found->text, &size);
	assert_non_null(out);
	assert_int_equal(diff_print_text(out, &found->diff, 20), 0);
	fclose(out);
}

static inline void compared_free(struct compared *found)
{
	if (!found->result)
		diff_free(&found->diff);
	if (found->task.rule_count)
		diff_rule_release(&found->rule);
	free(found->text);
}

/* The row of the table that is shown; a test without it fails. */
static inline const struct diff_row *compared_row(struct compared *found, const char *name)
{
	const struct diff_row *row;

	if (found->result)
		fail_msg("%s", found->err);
	row = diff_table_find(diff_shown(&found->diff), name);
	if (!row)
		fail_msg("no row '%s' in:\n%s", name, found->text);
	return row;
}

static inline void assert_says(const struct compared *found, const char *words)
{
	if (!found->text || !strstr(found->text, words))
		fail_msg("'%s' is not in:\n%s", words, found->text ? found->text : found->err);
}

static inline void assert_says_not(const struct compared *found, const char *words)
{
	if (!found->text || strstr(found->text, words))
		fail_msg("'%s' is in:\n%s", words, found->text ? found->text : found->err);
}

/* A filter as the command line has it. */
static inline struct diff_filter made_filter(const char *text)
{
	struct diff_filter filter = { .count = 0 };
	char err[256] = "";

	if (diff_filter_add(&filter, text, err, sizeof(err)))
		fail_msg("%s: %s", text, err);
	return filter;
}

#endif
