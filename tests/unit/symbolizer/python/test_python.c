/* Tests of python.h over a few hundred bytes of made-up memory: walks, names, lines, and hostile objects. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "symbolizer/python/python.h"
#include "symbolizer/python/python_layout.h"

#define BASE      0x7f0000000000ull
#define THREAD_ID 0x7f1234567700ull
#define MAX_STEPS 16

/* Where the pretended objects lie. */
enum {
	RUNTIME = 0,
	INTERPRETER = 0x400,
	TSTATE = 0x800,
	OTHER_TSTATE = 0xa00,
	CFRAME = 0xc00,
	FRAMES = 0x1000, /* 0x100 each */
	CODES = 0x2000,  /* 0x400 each */
	TEXTS = 0x4000,  /* 0x400 each */
	LINES = 0x6000,  /* 0x100 each */
	MEMORY_BYTES = 0x8000
};

static uint8_t memory[MEMORY_BYTES];
static size_t texts, reads;
static bool is_endless; /* behind it come zeros */
static struct sym_python_layout layout;
static struct sym_python *py;

static int read_memory(void *context, uint64_t address, void *buffer, size_t len)
{
	uint64_t offset = address - BASE;

	(void)context;
	reads++;
	if (is_endless && len > MEMORY_BYTES) {
		memset(buffer, 0, len);
		return 0;
	}
	if (offset > MEMORY_BYTES || len > MEMORY_BYTES - offset)
		return -EFAULT;
	memcpy(buffer, memory + offset, len);
	return 0;
}

static void put(uint64_t at, uint64_t value, size_t len)
{
	memcpy(memory + at, &value, len);
}

static void put_field(uint64_t object, uint16_t field, uint64_t value)
{
	if (field != SYM_PYTHON_ABSENT)
		put(object + field, value, 8);
}

/* A string of characters of `width` bytes; returns its address. */
static uint64_t put_text(const void *characters, size_t n, unsigned int width, bool ascii)
{
	uint64_t at = TEXTS + 0x400 * texts++;

	put_field(at, layout.unicode_length, n);
	put(at + layout.unicode_state, width << 2 | 1 << 5 | (unsigned int)ascii << 6, 4);
	memcpy(memory + at + (ascii ? layout.unicode_ascii_size : layout.unicode_compact_size), characters,
	       n * width);
	return BASE + at;
}

/* Code object `i`, its line table `lines` of `n` bytes; returns its address. */
static uint64_t put_code(size_t i, const char *name, const void *lines, size_t n, int first_line)
{
	uint64_t at = CODES + 0x400 * i, table = LINES + 0x100 * i;
	uint64_t text = put_text(name, strlen(name), 1, true), file = put_text("/a/b.py", 7, 1, true);

	put_field(at, layout.ob_type, layout.code_type);
	put_field(at, layout.code_name, text);
	put_field(at, layout.code_qualname, text);
	put_field(at, layout.code_filename, file);
	put_field(at, layout.code_linetable, BASE + table);
	put(at + layout.code_firstlineno, (uint64_t)first_line, 4);
	if (layout.code_adaptive != SYM_PYTHON_ABSENT) {
		put_field(at, layout.bytes_size, 20);
		put(at + layout.code_firsttraceable, 1, 4);
	}
	put_field(table, layout.bytes_size, n);
	memcpy(memory + table + layout.bytes_value, lines, n);
	return BASE + at;
}

static uint64_t frame_address(size_t i)
{
	return BASE + FRAMES + 0x100 * i;
}

/* Frame `i`, called by frame `i + 1` unless it is the last; `unit` of its code is running. */
static void put_frame(size_t i, bool last, uint64_t code, int unit, unsigned int owner)
{
	uint64_t at = FRAMES + 0x100 * i;

	put_field(at, layout.frame_previous, last ? 0 : frame_address(i + 1));
	put_field(at, layout.frame_executable, code);
	if (layout.is_lasti)
		put(at + layout.frame_instr, (uint64_t)unit, 4);
	else
		put_field(at, layout.frame_instr, code + layout.code_adaptive + (uint64_t)unit * 2);
	if (layout.frame_owner != SYM_PYTHON_ABSENT)
		put(at + layout.frame_owner, owner, 1);
	if (layout.frame_entry != SYM_PYTHON_ABSENT)
		put(at + layout.frame_entry, owner, 1);
}

/* The runtime and two threads, the second of which is the one with frames. */
static void make_python(uint16_t version)
{
	memset(memory, 0, sizeof(memory));
	texts = reads = 0;
	assert_int_equal(python_layout_by_table(version, &layout), 0);
	layout.runtime = BASE + RUNTIME;
	layout.code_type = BASE + 0x77;
	put_field(RUNTIME, layout.interpreters_head, BASE + INTERPRETER);
	put_field(INTERPRETER, layout.interp_threads_head, BASE + OTHER_TSTATE);
	put_field(OTHER_TSTATE, layout.tstate_next, BASE + TSTATE);
	put_field(OTHER_TSTATE, layout.tstate_thread_id, 99);
	put_field(TSTATE, layout.tstate_thread_id, THREAD_ID);
	if (layout.cframe_current_frame == SYM_PYTHON_ABSENT) {
		put_field(TSTATE, layout.tstate_frame, frame_address(0));
	} else {
		put_field(TSTATE, layout.tstate_frame, BASE + CFRAME);
		put_field(CFRAME, layout.cframe_current_frame, frame_address(0));
	}
	sym_python_close(py);
	assert_int_equal(sym_python_open(&layout, read_memory, NULL, &py), 0);
}

static int walk(struct sym_python_step *steps, size_t max, size_t *n)
{
	return sym_python_walk(&layout, read_memory, NULL, THREAD_ID, steps, max, n);
}

static void expect_frame(const struct sym_python_step *step, const char *function, uint32_t line)
{
	struct sym_frame frame;

	assert_int_equal(sym_python_frame(py, step, &frame), 0);
	assert_string_equal(frame.function, function);
	assert_string_equal(frame.file, "/a/b.py");
	assert_int_equal(frame.line, line);
	assert_false(frame.inlined);
}

/* --- walks ---------------------------------------------------------------------------------------- */

static const uint8_t lnotab[] = { 0, 1, 4, 2 };  /* line 1 on from the start, 3 on from byte 4 */
static const uint8_t ranges[] = { 4, 1, 20, 2 }; /* the same by PEP 626 */
static const uint8_t locations[] = { 0x80 | 11 << 3 | 1, 0, 0, 0x80 | 12 << 3 | 7, 0, 0 };

static void test_python__each_frame_is_an_entry_before_3_11(void **state)
{
	const uint16_t versions[] = { 0x0308, 0x0309, 0x030a };
	struct sym_python_step steps[MAX_STEPS];
	size_t i, n;

	(void)state;
	for (i = 0; i < 3; i++) {
		bool is_ranges = versions[i] == 0x030a;
		uint64_t code;

		make_python(versions[i]);
		code = put_code(0, "f", is_ranges ? ranges : lnotab, 4, 10);
		put_frame(0, false, code, is_ranges ? 2 : 4, 0);
		put_frame(1, true, code, -1, 0);
		assert_int_equal(walk(steps, MAX_STEPS, &n), 0);
		assert_int_equal(n, 2);
		assert_true(steps[0].is_entry && steps[1].is_entry);
		expect_frame(&steps[0], "f", 13);
		expect_frame(&steps[1], "f", 10);
	}
}

static void test_python__entries_of_3_11_are_flagged(void **state)
{
	struct sym_python_step steps[MAX_STEPS];
	uint64_t f, g;
	size_t n;

	(void)state;
	make_python(0x030b);
	f = put_code(0, "f", locations, sizeof(locations), 10);
	g = put_code(1, "C.g", locations, sizeof(locations), 20);
	put_frame(0, false, f, 2, 0);
	put_frame(1, false, g, 1, 1);
	put_frame(2, true, g, 3, 1);
	assert_int_equal(walk(steps, MAX_STEPS, &n), 0);
	assert_int_equal(n, 3);
	assert_false(steps[0].is_entry);
	assert_true(steps[1].is_entry && steps[2].is_entry);
	expect_frame(&steps[0], "f", 13);
	expect_frame(&steps[1], "C.g", 21);
	expect_frame(&steps[2], "C.g", 23);
}

static void test_python__shims_of_3_12_end_an_evaluator(void **state)
{
	struct sym_python_step steps[MAX_STEPS];
	struct sym_frame frame = { .line = 5 };
	uint64_t f;
	size_t n;

	(void)state;
	make_python(0x030c);
	f = put_code(0, "f", locations, sizeof(locations), 10);
	put_frame(0, false, 0x10, 0, 3); /* nothing of this evaluator's is there */
	put_frame(1, false, f, 2, 0);
	put_frame(2, false, f, 1, 1);
	put_field(FRAMES + 0x200, layout.frame_executable, f | 1); /* a tagged pointer */
	put_frame(3, false, 0x10, 0, 3);
	put_frame(4, false, f, 1, 2);
	put_frame(5, true, 0x10, 0, 4);
	assert_int_equal(walk(steps, MAX_STEPS, &n), 0);
	assert_int_equal(n, 4);
	assert_true(!steps[0].code && steps[0].is_entry);
	assert_false(steps[1].is_entry);
	assert_true(steps[2].is_entry && steps[3].is_entry);
	assert_int_equal(sym_python_frame(py, &steps[0], &frame), -ENODATA);
	assert_int_equal(frame.line, 5);
	expect_frame(&steps[2], "f", 11);
}

static void test_python__frames_that_traceback_hides_are_not_shown(void **state)
{
	struct sym_python_step steps[MAX_STEPS];
	struct sym_frame frame;
	size_t n;

	(void)state;
	make_python(0x030c);
	put_frame(0, true, put_code(0, "f", locations, sizeof(locations), 10), 0, 0);
	assert_int_equal(walk(steps, MAX_STEPS, &n), 0);
	assert_int_equal(sym_python_frame(py, &steps[0], &frame), -ENODATA);
}

static void test_python__a_thread_without_python_is_not_found(void **state)
{
	struct sym_python_step steps[MAX_STEPS];
	size_t n = 7;

	(void)state;
	make_python(0x030c);
	assert_int_equal(sym_python_walk(&layout, read_memory, NULL, 12345, steps, MAX_STEPS, &n), -ESRCH);
	assert_int_equal(n, 0);
	put_field(CFRAME, layout.cframe_current_frame, 0);
	assert_int_equal(walk(steps, MAX_STEPS, &n), -ESRCH);
}

static void test_python__rings_and_wild_pointers_end(void **state)
{
	struct sym_python_step steps[MAX_STEPS];
	uint64_t f;
	size_t n;

	(void)state;
	make_python(0x030b);
	f = put_code(0, "f", locations, sizeof(locations), 10);
	put_frame(0, false, f, 2, 0);
	put_frame(1, false, f, 2, 0);
	put_field(FRAMES + 0x100, layout.frame_previous, frame_address(0));
	assert_int_equal(walk(steps, MAX_STEPS, &n), -ELOOP);
	assert_int_equal(n, MAX_STEPS);
	put_field(FRAMES + 0x100, layout.frame_previous, 0x123);
	assert_int_equal(walk(steps, MAX_STEPS, &n), -EFAULT);
	assert_int_equal(n, 2);
	put_field(OTHER_TSTATE, layout.tstate_next, BASE + OTHER_TSTATE);
	assert_int_equal(walk(steps, MAX_STEPS, &n), -ESRCH);
	put_field(INTERPRETER, layout.interp_next, BASE + INTERPRETER);
	reads = 0;
	assert_int_equal(walk(steps, MAX_STEPS, &n), -ESRCH);
	assert_true(reads < 200000);
}

static void test_python__shims_alone_end(void **state)
{
	struct sym_python_step steps[MAX_STEPS];
	size_t n;

	(void)state;
	make_python(0x030c);
	put_frame(0, false, 0x10, 0, 3);
	put_field(FRAMES, layout.frame_previous, frame_address(0));
	assert_int_equal(walk(steps, MAX_STEPS, &n), -ELOOP);
	assert_int_equal(n, MAX_STEPS);
}

/* --- code objects --------------------------------------------------------------------------------- */

static void walk_to_one(struct sym_python_step *step, uint64_t *code)
{
	size_t n;

	make_python(0x030c);
	*code = put_code(0, "f", locations, sizeof(locations), 10);
	put_frame(0, true, *code, 2, 0);
	assert_int_equal(walk(step, 1, &n), 0);
}

static void expect_gone(const struct sym_python_step *step)
{
	struct sym_frame frame;

	assert_int_equal(sym_python_frame(py, step, &frame), -ESTALE);
	assert_string_equal(frame.function, "[python code gone]");
	assert_null(frame.file);
	assert_int_equal(frame.line, 0);
}

static void test_python__another_code_object_at_the_address_is_no_name(void **state)
{
	const uint16_t fields[] = { layout.code_name, layout.code_filename, layout.code_linetable,
		                    layout.code_firstlineno, layout.ob_type };
	struct sym_python_step step;
	struct sym_python_stats stats;
	uint64_t code;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		walk_to_one(&step, &code);
		memory[code - BASE + fields[i]] ^= 4;
		expect_gone(&step);
		sym_python_stats(py, &stats);
		assert_int_equal(stats.frames_gone, 1);
		assert_int_equal(stats.code_read, 0);
	}
}

static void test_python__what_was_read_is_named_when_it_is_gone(void **state)
{
	struct sym_python_step step, unread;
	uint64_t code;

	(void)state;
	walk_to_one(&step, &code);
	expect_frame(&step, "f", 13);
	memset(memory + CODES, 0, 0x400);
	expect_frame(&step, "f", 13);
	reads = 0;
	sym_python_detach(py);
	expect_frame(&step, "f", 13);
	unread = step;
	unread.fingerprint++;
	expect_gone(&unread);
	assert_int_equal(reads, 0);
}

static void test_python__an_empty_name_is_told_so(void **state)
{
	struct sym_python_step step;
	uint64_t code;
	size_t n;

	(void)state;
	make_python(0x030c);
	code = put_code(0, "", locations, sizeof(locations), 10);
	put_frame(0, true, code, 2, 0);
	assert_int_equal(walk(&step, 1, &n), 0);
	expect_frame(&step, "[no name]", 13);
}

static void test_python__memory_is_bounded(void **state)
{
	struct sym_python_step step;
	struct sym_python_stats stats;
	uint64_t code;
	uint32_t line;

	(void)state;
	walk_to_one(&step, &code);
	put(LINES + layout.bytes_size, 1 << 20, 8);
	is_endless = true;
	for (line = 0; line < 40; line++) {
		put(code - BASE + layout.code_firstlineno, line, 4);
		step.fingerprint =
		        sym_python_fingerprint(BASE + TEXTS, BASE + TEXTS + 0x400, BASE + LINES, line);
		expect_frame(&step, "f", 0);
		sym_python_stats(py, &stats);
		assert_true(stats.memory_bytes <= 16 << 20);
	}
	is_endless = false;
	assert_int_equal(stats.code_read, 40);
	assert_int_equal(stats.code_evicted, 30);
}

/* Names are kept with their code objects, and forgotten with them. */
static void test_python__names_count_as_memory(void **state)
{
	struct sym_python_step step;
	struct sym_python_stats stats;
	char name[901];
	uint64_t code;
	uint32_t line;
	size_t n;

	(void)state;
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;
	make_python(0x030c);
	code = put_code(0, name, locations, sizeof(locations), 10);
	put_frame(0, true, code, 2, 0);
	assert_int_equal(walk(&step, 1, &n), 0);
	for (line = 0; line < 40000; line++) {
		put(code - BASE + layout.code_firstlineno, line, 4);
		step.fingerprint =
		        sym_python_fingerprint(BASE + TEXTS, BASE + TEXTS + 0x400, BASE + LINES, line);
		expect_frame(&step, name, line + 3);
		sym_python_stats(py, &stats);
		assert_in_range(stats.memory_bytes, sizeof(name), 16 << 20);
	}
	assert_true(stats.code_evicted > 15000);
}

static void test_python__an_instruction_outside_the_code_has_no_line(void **state)
{
	struct sym_python_step step;
	struct sym_python_stats stats;
	uint64_t code;

	(void)state;
	walk_to_one(&step, &code);
	step.instr = code + layout.code_adaptive + 40; /* it has 20 units */
	expect_frame(&step, "f", 0);
	step.instr = code;
	expect_frame(&step, "f", 0);
	sym_python_stats(py, &stats);
	assert_int_equal(stats.lines_unknown, 2);
}

static void test_python__instructions_may_be_a_copy_of_the_threads(void **state)
{
	struct sym_python_step step;
	uint64_t code, array = 0x7000, copy = BASE + 0x7100;

	(void)state;
	walk_to_one(&step, &code);
	layout.code_tlbc = 200;
	sym_python_close(py);
	assert_int_equal(sym_python_open(&layout, read_memory, NULL, &py), 0);
	put_field(code - BASE, layout.code_tlbc, BASE + array);
	put(array, 3, 8);
	put(array + 8, code + layout.code_adaptive, 8);
	put(array + 24, copy, 8);
	step.instr = copy + 4;
	expect_frame(&step, "f", 13);
	sym_python_detach(py);
	expect_frame(&step, "f", 13);
	step.instr = copy + 2;
	expect_frame(&step, "f", 11);
}

static void test_python__evaluators_are_told_by_name_or_place(void **state)
{
	(void)state;
	make_python(0x030c);
	layout.evaluator[1] = (struct sym_python_range){ 100, 200 };
	assert_int_equal(sym_python_native_kind(&layout, 99, "f"), SYM_PYTHON_NOT_EVALUATOR);
	assert_int_equal(sym_python_native_kind(&layout, 100, "f"), SYM_PYTHON_EVALUATOR);
	assert_int_equal(sym_python_native_kind(&layout, 200, "f"), SYM_PYTHON_NOT_EVALUATOR);
	assert_int_equal(sym_python_native_kind(&layout, 0, "_PyEval_EvalFrameDefault"),
	                 SYM_PYTHON_EVALUATOR);
	assert_int_equal(sym_python_native_kind(&layout, 0, "_PyEval_EvalFrameDefault.cold"),
	                 SYM_PYTHON_EVALUATOR);
	assert_int_equal(sym_python_native_kind(&layout, 0, "py::train:/home/me/train.py"),
	                 SYM_PYTHON_EVALUATOR_CALLER);
	assert_int_equal(sym_python_native_kind(&layout, 0, "_PyEval_EvalFrameDefaultX"),
	                 SYM_PYTHON_NOT_EVALUATOR);
	assert_int_equal(sym_python_native_kind(&layout, 0, "_TAIL_CALL_CALL"), SYM_PYTHON_EVALUATOR_PART);
	assert_int_equal(sym_python_native_kind(&layout, 0, "_PyEval_Vector"), SYM_PYTHON_NOT_EVALUATOR);
	layout.evaluator_calls[0] = 108;
	layout.evaluator_calls[1] = 300;
	assert_int_equal(sym_python_native_kind(&layout, 107, "f"), SYM_PYTHON_EVALUATOR_AND_CALLED);
	assert_int_equal(sym_python_native_kind(&layout, 299, "f"), SYM_PYTHON_EVALUATOR_AND_CALLED);
	assert_int_equal(sym_python_native_kind(&layout, 300, "f"), SYM_PYTHON_NOT_EVALUATOR);
}

static void test_python__fingerprints_differ_by_each_part(void **state)
{
	(void)state;
	assert_int_equal(sym_python_fingerprint(1, 2, 3, 4), sym_python_fingerprint(1, 2, 3, 4));
	assert_int_not_equal(sym_python_fingerprint(1, 2, 3, 4), sym_python_fingerprint(9, 2, 3, 4));
	assert_int_not_equal(sym_python_fingerprint(1, 2, 3, 4), sym_python_fingerprint(1, 9, 3, 4));
	assert_int_not_equal(sym_python_fingerprint(1, 2, 3, 4), sym_python_fingerprint(1, 2, 9, 4));
	assert_int_not_equal(sym_python_fingerprint(1, 2, 3, 4), sym_python_fingerprint(1, 2, 3, 9));
}

static int close_python(void **state)
{
	(void)state;
	sym_python_close(py);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_python__each_frame_is_an_entry_before_3_11),
		cmocka_unit_test(test_python__entries_of_3_11_are_flagged),
		cmocka_unit_test(test_python__shims_of_3_12_end_an_evaluator),
		cmocka_unit_test(test_python__frames_that_traceback_hides_are_not_shown),
		cmocka_unit_test(test_python__a_thread_without_python_is_not_found),
		cmocka_unit_test(test_python__rings_and_wild_pointers_end),
		cmocka_unit_test(test_python__shims_alone_end),
		cmocka_unit_test(test_python__another_code_object_at_the_address_is_no_name),
		cmocka_unit_test(test_python__what_was_read_is_named_when_it_is_gone),
		cmocka_unit_test(test_python__an_empty_name_is_told_so),
		cmocka_unit_test(test_python__memory_is_bounded),
		cmocka_unit_test(test_python__names_count_as_memory),
		cmocka_unit_test(test_python__an_instruction_outside_the_code_has_no_line),
		cmocka_unit_test(test_python__instructions_may_be_a_copy_of_the_threads),
		cmocka_unit_test(test_python__evaluators_are_told_by_name_or_place),
		cmocka_unit_test(test_python__fingerprints_differ_by_each_part),
	};

	return cmocka_run_group_tests(tests, NULL, close_python);
}
