/* Tests of markdown_text.h: whatever a name has in it, it stays a name. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "profiler/format/markdown_text.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void test_markdown_print__escapes(void **state)
{
	static const struct {
		const char *text, *written;
	} rows[] = {
		{ "", "" },
		{ "block_io on vda", "block\\_io on vda" },
		{ "a|b", "a\\|b" },
		{ "<img src=x>", "&lt;img src=x\\>" },
		{ "a&lt;", "a&amp;lt;" },
		{ "[x](y)", "\\[x\\](y)" },
		{ "![x]", "\\!\\[x\\]" },
		{ "`**~~`", "\\`\\*\\*\\~\\~\\`" },
		{ "# head", "\\# head" },
		{ "C:\\x", "C:\\\\x" },
		{ "12. item", "12\\. item" },
		{ "12) item", "12\\) item" },
		{ "v12. no item", "v12. no item" },
		{ "1.5 s", "1\\.5 s" },
		{ "- item", "\\- item" },
		{ "+ item", "\\+ item" },
		{ "a-b", "a-b" },
		{ "  - item", "  \\- item" },
		{ " 1. item", " 1\\. item" },
		{ "$x$", "\\$x\\$" },
		{ "===", "\\===" },
		{ "https://x.y", "https&#58;//x.y" },
		{ "std::vector", "std::vector" },
		{ "@team", "&#64;team" },
		{ "two\nlines", "two\\\\x0alines" },
		{ "\xff", "\\\\xff" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		char *written = NULL;
		size_t size = 0;
		FILE *out = open_memstream(&written, &size);

		assert_non_null(out);
		markdown_print(out, rows[i].text);
		assert_int_equal(fclose(out), 0);
		assert_string_equal(written, rows[i].written);
		free(written);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_markdown_print__escapes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
