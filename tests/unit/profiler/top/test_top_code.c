/* Tests of loaded_frames.h, the frames that are shown of a stack, and top_code.h, the lines of code that wait. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "profiler/loaded/loaded_wakers.h"
#include "profiler/top/top_processes.h"
#include "tests/unit/profiler/top/code_recording.h"

/* --- frames ----------------------------------------------------------------------------------------------- */

static void test_top_code__own_frame(void **state)
{
	struct recording *r = *state;
	static const struct {
		size_t (*make)(struct profile *p, int64_t *ids);
		const char *own, *kernel;
		bool python;
	} rows[] = {
		{ python_read, "Samples.__getitem__ /home/me/train.py:35",
		  "read(): folio_wait_bit_common < filemap_read", true },
		{ python_poll, "train /home/me/train.py:80", "poll(): do_sys_poll", true },
		{ c_fsync, "write_shard /src/train.c:138", "fsync(): folio_wait_writeback", false },
	};
	struct loaded_stack *stack = malloc(sizeof(*stack));
	char text[LOADED_FRAME_TEXT_MAX];
	int64_t ids[32];

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct profile_sample_view view = { .location_ids = ids,
			                            .n_locations = rows[i].make(r->profile, ids) };

		loaded_stack_get(stack, r->profile, &view);
		assert_int_equal(stack->n, view.n_locations);
		assert_int_equal(stack->has_python, rows[i].python);
		loaded_frame_text(text, sizeof(text), r->profile, &stack->frames[loaded_stack_own(stack)]);
		assert_string_equal(text, rows[i].own);
		loaded_stack_kernel_text(text, sizeof(text), stack);
		assert_string_equal(text, rows[i].kernel);
	}
	free(stack);
}

/* Without a line of its own the innermost of a library stands for it; without user frames the leaf. */
static void test_top_code__no_own_frame(void **state)
{
	struct recording *r = *state;
	struct loaded_stack *stack = malloc(sizeof(*stack));
	struct profile_sample_view view = { .n_locations = 3 };
	int64_t ids[3] = { frame(r->profile, KERNEL, "asm_exc_page_fault", NULL, 0),
		           frame(r->profile, LIBC, "memcpy", NULL, 0),
		           frame(r->profile, PYTHON, "json", LOADER, 3) };
	char text[LOADED_FRAME_TEXT_MAX];

	view.location_ids = ids;
	loaded_stack_get(stack, r->profile, &view);
	assert_int_equal(loaded_stack_own(stack), 2);
	assert_true(loaded_stack_folds(stack, 1));
	loaded_frame_text(text, sizeof(text), r->profile, &stack->frames[2]);
	assert_string_equal(text, "json …/data/dataloader.py:3");
	loaded_stack_kernel_text(text, sizeof(text), stack);
	assert_string_equal(text, "page fault: ");
	view.n_locations = 2;
	loaded_stack_get(stack, r->profile, &view);
	assert_int_equal(loaded_stack_own(stack), 1);
	assert_false(loaded_stack_folds(stack, 1));
	view.n_locations = 1;
	loaded_stack_get(stack, r->profile, &view);
	assert_int_equal(loaded_stack_own(stack), 0);
	view.n_locations = 0;
	loaded_stack_get(stack, r->profile, &view);
	assert_int_equal(stack->n, 0);
	free(stack);
}

/* A library's line is not the program's: what registers tell of a stack that was not copied ends in the library. */
static void test_top_code__not_copied(void **state)
{
	struct recording *r = *state;
	struct loaded_stack *stack = malloc(sizeof(*stack));
	struct profile_frame none = { .function = "[user stack not copied]" };
	int64_t ids[3] = { frame(r->profile, KERNEL, "filemap_read", NULL, 0),
		           frame(r->profile, LIBC, "__GI___libc_read", "read.c", 26),
		           profile_location(r->profile, 0, 0, &none, 1) };
	struct profile_sample_view view = { .location_ids = ids, .n_locations = 3 };
	char text[LOADED_FRAME_TEXT_MAX];

	loaded_stack_get(stack, r->profile, &view);
	loaded_frame_text(text, sizeof(text), r->profile, &stack->frames[loaded_stack_own(stack)]);
	assert_string_equal(text, "[user stack not copied]");
	assert_true(loaded_stack_not_copied(r->profile, &view));
	ids[1] = frame(r->profile, PROGRAM, "write_shard", "/src/train.c", 138);
	loaded_stack_get(stack, r->profile, &view);
	assert_int_equal(loaded_stack_own(stack), 1);
	view.n_locations = 2;
	assert_false(loaded_stack_not_copied(r->profile, &view));
	free(stack);
}

/* --- sections --------------------------------------------------------------------------------------------- */

static void test_top_code__sections(void **state)
{
	struct recording *r = *state;
	struct top_sections sections;

	assert_int_equal(top_sections_build(&sections, &r->input, r->tags, &all, DELAY, CONTENTIONS), 0);
	assert_int_equal(sections.count, 3);
	assert_string_equal(sections.sections[0].stall, "block_io");
	assert_string_equal(sections.sections[0].device, "vda");
	assert_int_equal(sections.sections[0].ns, 50 * MS);
	assert_int_equal(sections.sections[0].waits, 4);
	assert_int_equal(sections.sections[0].count, 2);
	assert_string_equal(sections.sections[0].code[0].line, "Samples.__getitem__ /home/me/train.py:35");
	assert_string_equal(sections.sections[0].code[0].class, "data_load");
	assert_string_equal(sections.sections[1].stall, "writeback");
	assert_true(sections.sections[2].blocked);
	assert_string_equal(sections.sections[2].stall, "blocked");
	assert_int_equal(sections.sections[2].ns, 1050 * MS);
	/* The loop's wait comes before threads that idle longer. */
	assert_string_equal(sections.sections[2].code[0].line, "train /home/me/train.py:80");
	assert_string_equal(sections.sections[2].code[0].stall, "poll");
	assert_true(sections.sections[2].code[1].base);
	top_sections_free(&sections);
}

/* Whatever a file says: the least number has no opposite. */
static void test_top_code__all_is_taken_back(void **state)
{
	struct recording *r = *state;
	struct top_sections sections;
	int64_t ids[32];

	sample(r->profile, ids, python_poll(r->profile, ids), INT64_MIN, "data_load", "block_io", "vda");
	assert_int_equal(top_sections_build(&sections, &r->input, r->tags, &all, DELAY, CONTENTIONS), 0);
	for (size_t i = 0; i < sections.count; i++)
		assert_string_not_equal(sections.sections[i].stall, "block_io");
	top_sections_free(&sections);
}

static void test_top_code__sections_of_a_filter(void **state)
{
	static const struct {
		struct loaded_filter filter;
		size_t sections;
		int64_t ns;
	} rows[] = {
		{ { .tag = "ckpt", .waits = true }, 1, 30 * MS },
		{ { .stall = "block_io" }, 1, 50 * MS },
		{ { .stall = "poll" }, 1, 150 * MS },
		{ { .stall = "blocked" }, 1, 1050 * MS },
		{ { .waits = false }, 2, 50 * MS },
		{ { .stall = "journal" }, 0, 0 },
	};
	struct recording *r = *state;

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct top_sections sections;

		assert_int_equal(
		        top_sections_build(&sections, &r->input, r->tags, &rows[i].filter, DELAY, -1), 0);
		assert_int_equal(sections.count, rows[i].sections);
		if (sections.count)
			assert_int_equal(sections.sections[0].ns, rows[i].ns);
		top_sections_free(&sections);
	}
}

static void test_top_code__focus_and_ignore(void **state)
{
	static const struct {
		const char *focus, *ignore;
		int64_t ns;
	} rows[] = {
		{ "getitem", NULL, 49 * MS },
		{ NULL, "getitem", (1 + 30 + 150 + 900) * MS },
		{ "train\\.c$", NULL, 31 * MS },
		{ "train", "dataloader", 31 * MS },
		{ "^write_(a|shard)$", NULL, 31 * MS },
		{ "nowhere", NULL, 0 },
		{ "train.py:35", NULL, 49 * MS },
		{ "write_shard /src/train.c:138$", NULL, 31 * MS },
		{ "train.py:36", NULL, 0 },
		{ NULL, "train.c:138", (49 + 150 + 900) * MS },
	};
	struct recording *r = *state;

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct loaded_filter filter = { .waits = true };
		struct top_sections sections;
		regex_t focus, ignore;
		int64_t sum = 0;

		if (rows[i].focus && !regcomp(&focus, rows[i].focus, REG_EXTENDED | REG_NOSUB))
			filter.focus = &focus;
		if (rows[i].ignore && !regcomp(&ignore, rows[i].ignore, REG_EXTENDED | REG_NOSUB))
			filter.ignore = &ignore;
		assert_int_equal(top_sections_build(&sections, &r->input, r->tags, &filter, DELAY, -1), 0);
		for (size_t s = 0; s < sections.count; s++)
			sum += sections.sections[s].ns;
		assert_int_equal(sum, rows[i].ns);
		top_sections_free(&sections);
		if (filter.focus)
			regfree(&focus);
		if (filter.ignore)
			regfree(&ignore);
	}
}

/* --- text ------------------------------------------------------------------------------------------------- */

static void test_top_code__text(void **state)
{
	static const char *const want =
	        "\n"
	        "block_io on vda, 50.0 ms in 4 waits: 50.0 ms in data_load\n"
	        " 49.0 ms   24.5 % of data_load  Samples.__getitem__ /home/me/train.py:35\n"
	        "            in load …/torch/serialization.py:789\n"
	        "            in read(): folio_wait_bit_common < filemap_read\n"
	        "            from train /home/me/train.py:88\n"
	        " 1.00 ms    0.5 % of data_load  write_shard /src/train.c:138\n"
	        "            in __GI_fsync fsync.c:27\n"
	        "            in fsync(): folio_wait_writeback\n"
	        "            from main /src/train.c:171\n"
	        "\n"
	        "writeback on vdb, 30.0 ms in 2 waits: 30.0 ms in ckpt\n"
	        " 30.0 ms   75.0 % of ckpt  write_shard /src/train.c:138\n"
	        "            in __GI_fsync fsync.c:27\n"
	        "            in fsync(): folio_wait_writeback\n"
	        "            from main /src/train.c:171\n"
	        "\n"
	        "blocked (no stall: waits for other threads, timers, peers), 1.05 s in 4 waits: 150 ms in "
	        "data_load, "
	        "900 ms in train.py\n"
	        "  150 ms   75.0 % of data_load  poll  train /home/me/train.py:80\n"
	        "            in _try_get_data …/data/dataloader.py:1132\n"
	        "            in poll(): do_sys_poll\n"
	        "          and 900 ms of threads that idle under no tag of their own\n";
	struct recording *r = *state;
	size_t lines;
	char *text = text_of(r, (struct top_code_text){ .limit = 0 }, 0, &lines);

	assert_string_equal(text, want);
	assert_int_equal(lines, count_lines(text));
	free(text);
	text = text_of(r, (struct top_code_text){ .native = true }, 0, &lines);
	assert_non_null(strstr(
	        text, "            __libc_read read.c:26\n            getRecord\n            load …/torch"));
	free(text);
	text = text_of(r, (struct top_code_text){ .limit = 1 }, 0, &lines);
	assert_non_null(strstr(text, "          and 1.00 ms from 1 more line of code\n"));
	free(text);
}

/* However few lines there are, what is blocked is among them, and each section is told of. */
static void test_top_code__fits(void **state)
{
	struct recording *r = *state;

	for (size_t room = 8; room < 60; room++) {
		size_t lines;
		char *text = text_of(r, (struct top_code_text){ .limit = 0 }, room, &lines);

		assert_in_range(lines, 1, room);
		assert_int_equal(lines, count_lines(text));
		assert_non_null(strstr(text, "block_io on vda"));
		assert_non_null(strstr(text, "writeback on vdb"));
		assert_non_null(strstr(text, "\nblocked"));
		free(text);
	}
}

static void check_first(struct recording *r, const struct top_processes *processes, bool loop)
{
	struct top_code_text what = { .processes = processes, .limit = 1 };
	size_t lines;
	char *text = text_of(r, what, 30, &lines);

	assert_int_equal(strstr(text, " of data_load  poll") != NULL, loop);
	assert_int_equal(strstr(text, " of worker  poll") != NULL, !loop);
	free(text);
}

/* Where there is little room, what a thread has in turn comes before workers that idle, however much more of that there is. */
static void test_top_code__the_loop_first(void **state)
{
	struct recording *r = *state;
	struct top_processes processes;
	int64_t ids[32];

	sample(r->profile, ids, python_poll(r->profile, ids), 600 * MS, "worker", "poll", "");
	put_row(r->input.ledger, "worker", (struct ledger_row){ .pid = 9 }, LEDGER_BLOCKED, "poll", 600 * MS);
	assert_int_equal(stamp_add_window(r->input.stamp, 1000, 1000 + 1000 * MS), 0);
	assert_int_equal(top_processes_build(&processes, &r->input), 0);
	assert_int_equal(processes.count, 1);
	check_first(r, &processes, true);
	check_first(r, NULL, false);
	top_processes_free(&processes);
}

/* A whole stack may take all the lines that there are: what is not shown is told all the same. */
static void test_top_code__fits_whole_stacks(void **state)
{
	struct recording *r = *state;
	size_t lines;
	char *text = text_of(r, (struct top_code_text){ .native = true }, 30, &lines);

	assert_non_null(strstr(text, "            getRecord\n"));
	assert_null(strstr(text, " of data_load  write_shard"));
	assert_non_null(strstr(text, "          and 1.00 ms from 1 more line of code\n"));
	assert_int_equal(lines, count_lines(text));
	free(text);
}

/* Other programs' samples have no stall. */
static void test_top_code__no_stall(void **state)
{
	struct recording *r = *state;
	int64_t ids[32];
	size_t lines;
	char *text;

	sample(r->profile, ids, c_fsync(r->profile, ids), 70 * MS, "ckpt", "", "");
	text = text_of(r, (struct top_code_text){ .limit = 0 }, 0, &lines);
	assert_non_null(strstr(text, "\n[no stall], 70.0 ms"));
	free(text);
	text = text_of(r, (struct top_code_text){ .on_cpu = true }, 0, &lines);
	assert_non_null(strstr(text, "\non the CPU, 70.0 ms"));
	free(text);
}

/* Samples of CPUs are no waits. */
static void test_top_code__on_the_cpu(void **state)
{
	struct recording *r = *state;
	size_t lines;
	char *text = text_of(r, (struct top_code_text){ .on_cpu = true }, 0, &lines);

	assert_true(strstr(text, "\non the CPU during block_io on vda, 50.0 ms") &&
	            !strstr(text, "\nblock_io"));
	free(text);
}

/* Waits are counted as such: numbers, and no shares of the classes' times. */
static void test_top_code__counted(void **state)
{
	static const char *const want = "\n"
	                                "block_io on vda, 4 waits: 4 in data_load\n"
	                                "       2  in data_load  Samples.__getitem__ /home/me/train.py:35\n";
	struct recording *r = *state;
	struct top_sections sections;
	struct loaded_classes classes;
	struct top_code_text what = {
		.input = &r->input, .filter = &all, .classes = &classes, .limit = 1, .counted = "waits"
	};
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	add(r->input.ledger, "data_load", false, LEDGER_BLOCKED, "pipe", 50 * MS);
	assert_int_equal(loaded_classes_build(&classes, &r->input, &all, LOADED_LEVEL_CLASS), 0);
	assert_int_equal(top_sections_build(&sections, &r->input, r->tags, &all, CONTENTIONS, CONTENTIONS),
	                 0);
	top_text_sections(out, &what, &sections, 0);
	fclose(out);
	assert_int_equal(strncmp(text, want, strlen(want)), 0);
	assert_non_null(strstr(text, "          and 2 from 1 more line of code\n"));
	assert_null(strstr(text, " ns"));
	assert_null(strstr(text, "%"));
	assert_null(strstr(text, "without a stack"));
	free(text);
	top_sections_free(&sections);
	loaded_classes_free(&classes);
}

/* A wait that an earlier window took for another, and for which it had another stack: what was told is taken back. */
static void test_top_code__taken_back(void **state)
{
	struct recording *r = *state;
	struct top_sections sections;
	int64_t ids[32];

	sample(r->profile, ids, python_poll(r->profile, ids), -40 * MS, "data_load", "block_io", "vda");
	sample(r->profile, ids, python_poll(r->profile, ids), -30 * MS, "ckpt", "writeback", "vdb");
	assert_int_equal(top_sections_build(&sections, &r->input, r->tags, &all, DELAY, CONTENTIONS), 0);
	assert_int_equal(sections.count, 2); /* of writeback nothing is left */
	assert_string_equal(sections.sections[0].stall, "block_io");
	assert_int_equal(sections.sections[0].ns, 10 * MS);
	assert_int_equal(sections.sections[0].code[0].ns, 9 * MS);
	assert_int_equal(sections.sections[0].count, 2);
	top_sections_free(&sections);
}

/* Waits of one line for the GIL and for another lock are two lines; the frame that says so is not the program's own, also where there is no
 * other than one of a library. */
static void test_top_code__gil(void **state)
{
	struct recording *r = *state;
	int64_t ids[8] = { frame(r->profile, LIBC, "pthread_cond_timedwait", NULL, 0),
		           frame(r->profile, PYTHON, "[GIL]", NULL, 0),
		           frame(r->profile, PYTHON, "compute", "<string>", 7) };
	size_t lines;
	char *text;

	sample(r->profile, ids, 3, 70 * MS, "ckpt", "lock", "");
	ids[1] = ids[2];
	sample(r->profile, ids, 2, 60 * MS, "ckpt", "lock", "");
	text = text_of(r, (struct top_code_text){ .limit = 0 }, 0, &lines);
	assert_non_null(strstr(text, " of ckpt  lock (the GIL)  compute <string>:7\n"));
	assert_non_null(strstr(text, " of ckpt  lock  compute <string>:7\n"));
	free(text);
}

/* A wait of `ckpt` that `waker` (NULL: it is not known who) ended. */
static void ended(struct recording *r, int64_t tid, int64_t ns, const char *waker)
{
	const int64_t values[] = { 1, ns, 0 };
	const struct profile_label labels[] = { { .key = "ai_tag", .str = "ckpt" },
		                                { .key = "stall", .str = "lock" },
		                                { .key = "tid", .num = tid, .unit = "id" },
		                                { .key = "woken_by", .str = waker } };
	int64_t ids[32];
	size_t n = c_fsync(r->profile, ids);

	assert_int_equal(profile_add_sample(r->profile, ids, n, values, labels, waker ? 4 : 3), 0);
}

static void expect_ended(struct recording *r, const char *text)
{
	size_t lines;
	char *screen = text_of(r, (struct top_code_text){ .limit = 0 }, 0, &lines);

	if (!strstr(screen, text))
		fail_msg("no '%s' in:\n%s", text, screen);
	free(screen);
}

/* The longest sample's waker is not the line's. */
static void test_top_code__who_ended_most(void **state)
{
	struct recording *r = *state;

	for (int64_t tid = 1; tid <= 3; tid++)
		ended(r, tid, 30 * MS, "queue");
	expect_ended(r, " of ckpt  lock, ended by queue  write_shard ");
	ended(r, 4, 50 * MS, "flusher");
	expect_ended(r, " of ckpt  lock, mostly ended by queue  write_shard ");
	ended(r, 5, 45 * MS, "flusher");
	ended(r, 6, 20 * MS, "loader");
	expect_ended(r, " of ckpt  lock, ended by flusher and others  write_shard ");
	ended(r, 7, 96 * MS, NULL);
	expect_ended(r, " of ckpt  lock  write_shard ");
}

/* Which of the two a name is, the ledger tells. */
static void test_top_code__tag_or_program(void **state)
{
	struct loaded_wakers wakers;
	struct recording *r = *state;
	size_t lines;
	char *screen;

	ended(r, 1, 30 * MS, "ckpt");
	assert_int_equal(loaded_wakers_build(&wakers, r->input.ledger), 0);
	screen = text_of(r, (struct top_code_text){ .wakers = &wakers }, 0, &lines);
	assert_non_null(strstr(screen, " of ckpt  lock, ended by tag ckpt  write_shard "));
	free(screen);
	ended(r, 2, 90 * MS, "sshd");
	screen = text_of(r, (struct top_code_text){ .wakers = &wakers }, 0, &lines);
	assert_non_null(strstr(screen, " of ckpt  lock, mostly ended by program sshd  write_shard "));
	free(screen);
	loaded_wakers_free(&wakers);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_top_code__own_frame, record, forget),
		cmocka_unit_test_setup_teardown(test_top_code__no_own_frame, record, forget),
		cmocka_unit_test_setup_teardown(test_top_code__not_copied, record, forget),
		cmocka_unit_test_setup_teardown(test_top_code__sections, record, forget),
		cmocka_unit_test_setup_teardown(test_top_code__all_is_taken_back, record, forget),
		cmocka_unit_test_setup_teardown(test_top_code__sections_of_a_filter, record, forget),
		cmocka_unit_test_setup_teardown(test_top_code__focus_and_ignore, record, forget),
		cmocka_unit_test_setup_teardown(test_top_code__text, record, forget),
		cmocka_unit_test_setup_teardown(test_top_code__the_loop_first, record, forget),
		cmocka_unit_test_setup_teardown(test_top_code__fits, record, forget),
		cmocka_unit_test_setup_teardown(test_top_code__fits_whole_stacks, record, forget),
		cmocka_unit_test_setup_teardown(test_top_code__no_stall, record, forget),
		cmocka_unit_test_setup_teardown(test_top_code__on_the_cpu, record, forget),
		cmocka_unit_test_setup_teardown(test_top_code__counted, record, forget),
		cmocka_unit_test_setup_teardown(test_top_code__taken_back, record, forget),
		cmocka_unit_test_setup_teardown(test_top_code__gil, record, forget),
		cmocka_unit_test_setup_teardown(test_top_code__who_ended_most, record, forget),
		cmocka_unit_test_setup_teardown(test_top_code__tag_or_program, record, forget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
