/* Tests of top_seen.h: sentences about what was not seen. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "bpf/abi.h"
#include "profiler/top/top_seen.h"
#include "tests/unit/loaded_fixture.h"

static char *text_of(const struct loaded_profiles *input, size_t limit, size_t *lines)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	*lines = top_text_losses(out, input, limit);
	fclose(out);
	return text;
}

static struct loaded_profiles new_input(void)
{
	return (struct loaded_profiles){ .ledger = ledger_new(0), .stamp = stamp_new(), .files = 1 };
}

static void forget(struct loaded_profiles *input)
{
	ledger_free(input->ledger);
	stamp_free(input->stamp);
}

static void assert_says(const char *counter, uint64_t value, const char *want)
{
	struct loaded_profiles input = new_input();
	size_t lines;
	char *text;

	assert_int_equal(stamp_add_counter(input.stamp, counter, value), 0);
	text = text_of(&input, 0, &lines);
	assert_string_equal(text, want);
	assert_int_equal(lines, *want != 0);
	free(text);
	forget(&input);
}

static void test_top_seen__sentences(void **state)
{
	(void)state;
	assert_says(
	        "stacks_truncated", 12,
	        "12 stacks were cut, being longer than what is copied (--stack-bytes, 64 KiB at most).\n");
	assert_says("stacks_truncated", 1,
	            "1 stack was cut, being longer than what is copied (--stack-bytes, 64 KiB at most).\n");
	assert_says(
	        "ring_full_ns", 1500000000,
	        "1.50 s of stalls have no stack of their own, as the ring buffer was full: --ring-bytes.\n");
	assert_says("samples_lost_ns", 1500000000,
	            "1.50 s of stalls have no stack of their own, as the profile was full, or there was no "
	            "time to resolve them: lower --budget.\n");
	assert_says("stacks_without_user", 2,
	            "2 waits have no user stack: they were not expected to be stalls.\n");
	assert_says("stacks_not_copied", 2, "");
	assert_says("stacks_truncated", 0, "");
	assert_says("frames_dwarf", 7000, "");
	/* A loss that nobody has put into words is told all the same. */
	assert_says("a_loss_of_tomorrow", 3, "a_loss_of_tomorrow: 3.\n");
}

/* The time of waits whose stack ends so, of no others. */
static void test_top_seen__not_copied(void **state)
{
	struct fixture *fixture = *state;
	struct profile_frame none = { .function = "[user stack not copied]" };
	struct profile *p = fixture->profile;
	int64_t read_fn = place(p, 0x1400, "__libc_read", NULL), end = profile_location(p, 0, 0, &none, 1);
	size_t lines;
	char *text;

	add_sample(p, (int64_t[]){ read_fn, end }, 2, 120 * MS, 0, "step/9", "0000000000000002", "block_io",
	           "vda");
	add_sample(p, (int64_t[]){ end }, 1, 4 * MS, 0, "step/9", "0000000000000002", "block_io", "vda");
	assert_int_equal(stamp_add_counter(fixture->input.stamp, "stacks_without_user", 50), 0);
	text = text_of(&fixture->input, 0, &lines);
	assert_non_null(strstr(text,
	                       "50 waits have no user stack: they were not expected to be stalls; they stand "
	                       "for 124 ms.\n"));
	assert_int_equal(lines, count_lines(text));
	free(text);
}

/* Every counter of the BPF side, the braces of each sentence included. */
static void test_top_seen__all_counters(void **state)
{
	static const char *const names[] = {
#define NAME(name, help) #name,
		ABI_COUNTERS(NAME)
#undef NAME
	};

	(void)state;
	for (size_t i = 0; i < COUNT(names); i++) {
		for (uint64_t value = 1; value <= 2; value++) {
			struct loaded_profiles input = new_input();
			size_t lines;
			char *text;

			assert_int_equal(stamp_add_counter(input.stamp, names[i], value), 0);
			text = text_of(&input, 0, &lines);
			assert_null(strpbrk(text, "{|}%"));
			free(text);
			forget(&input);
		}
	}
}

/* What was switched off is not missing. */
static void test_top_seen__hooks(void **state)
{
	struct loaded_profiles input = new_input();
	size_t lines;
	char *text;

	(void)state;
	assert_int_equal(stamp_add_hook(input.stamp, "block_io", "a", HOOK_ATTACHED, ""), 0);
	assert_int_equal(stamp_add_hook(input.stamp, "on-CPU", "b", HOOK_UNUSED, "switched off"), 0);
	assert_int_equal(stamp_add_hook(input.stamp, "journal", "c", HOOK_MISSING, "not in this kernel"), 0);
	assert_int_equal(stamp_add_hook(input.stamp, "journal", "d", HOOK_MISSING, "not in this kernel"), 0);
	text = text_of(&input, 0, &lines);
	assert_string_equal(text, "For journal not all was seen: c: not in this kernel.\n");
	free(text);
	assert_int_equal(stamp_add_hook(input.stamp, "tag_wait", "e", HOOK_MISSING, "not allowed"), 0);
	assert_int_equal(stamp_add_hook(input.stamp, "dma_map", "f", HOOK_MISSING, "not in this kernel"), 0);
	assert_int_equal(stamp_add_hook(input.stamp, "gpu_ring", "g", HOOK_MISSING, "not in this kernel"), 0);
	text = text_of(&input, 0, &lines);
	assert_string_equal(
	        text,
	        "For journal, dma_map and gpu_ring not all was seen, for want of hooks (stallprof doctor): "
	        "not in this kernel.\nFor tag_wait not all was seen: e: not allowed.\n");
	assert_int_equal(lines, 2);
	free(text);
	forget(&input);
}

/* What is some on every host, up to a hundredth of what it may have changed. */
static void test_top_seen__shares(void **state)
{
	static const struct {
		const char *counter;
		uint64_t ns;
		const char *text;
	} rows[] = {
		{ "steal_ns", 0, "" },
		{ "steal_ns", 1000000, "" },           /* 1 % of what the threads waited for a CPU */
		{ "tag_probes_late_ns", 6000000, "" }, /* 1 % of all */
		{ "tag_probes_late_ns", 6010000,
		  "Programs had the tag library for 6.01 ms before it was listened to: what they tagged "
		  "then is not seen, or under another tag.\n" },
		{ "hooks_late_ns", 6000000, "" },
		{ "hooks_late_ns", 6010000,
		  "It took 6.01 ms to attach the hooks once something was tagged: that time of the tagged "
		  "threads is not seen.\n" },
		{ "steal_ns", 1010000,
		  "The host took 1.01 ms of CPU time from this machine (steal): what fell on tagged "
		  "threads is in "
		  "runqueue.\n" },
		{ "samples_skipped_ns", 3000000, "" }, /* 1 % of what ran */
		{ "samples_skipped_ns", 3010000,
		  "Threads ran for 3.01 ms without the samples that were due, as the kernel took them late "
		  "or not at all: the stacks of on-CPU time lack it.\n" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct loaded_profiles input = new_input();
		size_t lines;
		char *text;

		add_row(input.ledger, "t", 1, LEDGER_RUNQUEUE, "", 100 * MS);
		add_row(input.ledger, "t", 1, LEDGER_BLOCKED, "", 200 * MS);
		add_row(input.ledger, "t", 1, LEDGER_ONCPU, "", 300 * MS);
		assert_int_equal(stamp_add_counter(input.stamp, rows[i].counter, rows[i].ns), 0);
		text = text_of(&input, 0, &lines);
		assert_string_equal(text, rows[i].text);
		free(text);
		forget(&input);
	}
}

static void test_top_seen__kernel_and_files(void **state)
{
	const struct stamp_kernel kernel = { .state = KERNEL_SYMBOLS_KALLSYMS, .advice = "install it" };
	struct loaded_profiles input = new_input();
	size_t lines;
	char *text;

	(void)state;
	input.files = 5;
	input.foreign_files = 1;
	input.rewritten_files = 2;
	input.malformed_lines = 3;
	assert_int_equal(stamp_set_kernel(input.stamp, &kernel), 0);
	text = text_of(&input, 0, &lines);
	assert_string_equal(
	        text,
	        "3 lines of the ledger or the stamp could not be read and were left out.\n"
	        "Another program wrote 2 of 5 files anew: their exact tags and what was not seen are lost.\n"
	        "1 of 5 files have no ledger, as stallprof did not write them.\n"
	        "Kernel frames have no lines: install it.\n");
	free(text);
	text = text_of(&input, 3, &lines);
	assert_int_equal(lines, 3);
	assert_non_null(strstr(text, "\nAnd 2 more of this kind: stallprof top -v FILE.\n"));
	free(text);
	input.path = "run/a.pb.gz";
	text = text_of(&input, 3, &lines);
	assert_non_null(strstr(text, "\nAnd 2 more of this kind: stallprof top -v run/a.pb.gz.\n"));
	free(text);
	forget(&input);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_top_seen__sentences),
		cmocka_unit_test_setup_teardown(test_top_seen__not_copied, set_up, tear_down),
		cmocka_unit_test(test_top_seen__all_counters),
		cmocka_unit_test(test_top_seen__hooks),
		cmocka_unit_test(test_top_seen__shares),
		cmocka_unit_test(test_top_seen__kernel_and_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
