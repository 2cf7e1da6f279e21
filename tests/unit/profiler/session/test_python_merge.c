/* Tests of python_merge.h: Python frames in the place of evaluator frames. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "bpf/abi.h"
#include "profiler/session/python_merge.h"
#include "symbolizer/python/python.h"

#define MAX 64

struct merge_case {
	const char *what;
	/* Leaf first, a letter a frame. Native: E an evaluator, T one and the frame it called, P a part of one, C what has its name for perf, others
	 * what they are; "/" at the end: cut.
	 * Python: digits; '.' no code; a "*" after an entry; "/" at the end: cut. */
	const char *native, *python;
	const char *shown; /* as above, '/' for a native cut, '|' for one of Python's */
	size_t unmatched;
};

static const struct merge_case cases[] = {
	{ "nothing", "", "", "", 0 },
	{ "no Python", "abc", "", "abc", 0 },
	{ "each frame has an evaluator", "aEbEcE", "1*2*3*", "a1b2c3", 0 },
	{ "frames that share an evaluator", "wEcEm", "123*4*", "w123c4m", 0 },
	{ "an evaluator without a frame", "wEcEm", ".*1*", "wc1m", 0 },
	{ "an outermost frame that is no entry", "wEm", "12", "w12m", 0 },
	{ "the part is dropped with its evaluator", "wPEcPEm", "1*2*", "w1c2m", 0 },
	{ "what a copy of the evaluator called is a part", "whTchTm", "1*2*", "w1c2m", 0 },
	{ "a part that a copy was put into", "whTTTm", "1*2*3*", "w123m", 0 },
	{ "a part that is named", "wPTcPTm", "1*2*", "w1c2m", 0 },
	{ "named for perf", "wECcECm", "1*2*", "w1c2m", 0 },
	{ "named for perf, on its way out of one", "wECcECm", "2*", "wECc2m", 1 },
	{ "named for perf alone", "wECcECm", "", "wECcECm", 2 },
	{ "a copy and its part stay", "whTchTm", "2*", "whTc2m", 1 },
	{ "on its way into an evaluator", "aEbEm", "1*2*3*", "a12b3m", 1 },
	{ "on its way out of one", "aEbEm", "2*", "aEb2m", 1 },
	{ "a part stays with its evaluator", "aPEbPEm", "2*", "aPEb2m", 1 },
	{ "evaluators alone", "aEbEm", "", "aEbEm", 2 },
	{ "no evaluator was told by its name", "abm", "1*2*", "abm12", 2 },
	{ "the native stack is cut", "aEb/", "1*2*3*", "a1b/23", 0 },
	{ "cut before the first evaluator", "ab/", "12*3*", "ab/123", 0 },
	{ "cut, and still an evaluator too many", "aEbE/", "1*", "a1bE/", 1 },
	{ "too many Python frames", "aEbEcEm", "1*2*/", "a1b2|cEm", 0 },
	{ "cut within an evaluator's frames", "aEbEcEm", "1*23/", "a1b23|cEm", 0 },
	{ "both are cut", "aEb/", "1*2*/", "a1b/2|", 0 },
	{ "cut frames and an evaluator too few", "aEm", "1*2*/", "a1m", 1 },
};

static size_t parse_native(const char *text, uint8_t *kinds, bool *cut)
{
	size_t n = 0;

	*cut = false;
	for (; *text; text++) {
		if (*text == '/')
			*cut = true;
		else
			kinds[n++] = *text == 'E'   ? SYM_PYTHON_EVALUATOR
			             : *text == 'P' ? SYM_PYTHON_EVALUATOR_PART
			             : *text == 'T' ? SYM_PYTHON_EVALUATOR_AND_CALLED
			             : *text == 'C' ? SYM_PYTHON_EVALUATOR_CALLER
			                            : SYM_PYTHON_NOT_EVALUATOR;
	}
	return n;
}

static size_t parse_python(const char *text, struct abi_python_frame *frames, bool *cut)
{
	size_t n = 0;

	*cut = false;
	for (; *text; text++) {
		if (*text == '/')
			*cut = true;
		else if (*text == '*')
			frames[n - 1].flags = ABI_PYTHON_ENTRY;
		else
			frames[n++] = (struct abi_python_frame){ .code = *text == '.' ? 0 : *text };
	}
	return n;
}

static void print(const struct merge_case *c, const struct abi_python_frame *frames,
                  const struct python_shown_frame *shown, size_t n, char *out)
{
	size_t i;

	for (i = 0; i < n; i++) {
		switch (shown[i].what) {
		case PYTHON_SHOWN_NATIVE:
			out[i] = c->native[shown[i].index];
			break;
		case PYTHON_SHOWN_PYTHON:
			out[i] = (char)frames[shown[i].index].code;
			break;
		case PYTHON_SHOWN_NATIVE_CUT:
			out[i] = '/';
			break;
		case PYTHON_SHOWN_PYTHON_CUT:
			out[i] = '|';
			break;
		}
	}
	out[n] = '\0';
}

static void test_python_merge__cases(void **state)
{
	struct python_shown_frame shown[PYTHON_MERGED_MAX(MAX, MAX)];
	struct abi_python_frame frames[MAX];
	char text[PYTHON_MERGED_MAX(MAX, MAX) + 1];
	uint8_t kinds[MAX];
	size_t i, n, unmatched;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct python_stacks stacks = { .kinds = kinds, .frames = frames };

		stacks.n_native = parse_native(cases[i].native, kinds, &stacks.native_cut);
		stacks.n_frames = parse_python(cases[i].python, frames, &stacks.python_cut);
		n = python_merge(&stacks, shown, &unmatched);
		print(&cases[i], frames, shown, n, text);
		if (strcmp(text, cases[i].shown) || unmatched != cases[i].unmatched)
			fail_msg("%s: %s, %zu unmatched; expected %s, %zu", cases[i].what, text, unmatched,
			         cases[i].shown, cases[i].unmatched);
	}
}

/* The BPF programs tell code objects apart as the symbolizer does. */
static void test_python_merge__fingerprints_agree(void **state)
{
	uint64_t name = 0x7f1234567890, file = 0x7f00000000f0, lines = 0x55555555aaa0;
	uint32_t line;

	(void)state;
	for (line = 0; line < 100; line++)
		assert_true(abi_python_fingerprint(name + line, file, lines, line) ==
		            sym_python_fingerprint(name + line, file, lines, line));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_python_merge__cases),
		cmocka_unit_test(test_python_merge__fingerprints_agree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
