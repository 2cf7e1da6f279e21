/* Tests of report_document.h: hostile texts in text, Markdown and HTML, tables, wrapping, want of memory. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/report/report_document.h"

#define HOSTILE "<script>|*a*|`b`_c_[d](e)\x1b[31m\n#f & \"g\" \xff"

static void fill(struct report_document *document)
{
	report_document_begin(document, "Title <b>");
	report_document_say(document, "said: %s", HOSTILE);
	report_document_section(document, "Section");
	report_document_point(document, "1. %s", "point");
	report_document_point(document, "two");
	report_document_table(document, (const char *[]){ "name", "n", NULL });
	report_document_row(document, (const char *[]){ HOSTILE, "1", NULL });
	report_document_row(document, (const char *[]){ "short", "22", NULL });
	report_document_say(document, "end");
	assert_int_equal(document->err, 0);
}

static char *written(int (*write)(FILE *out, const struct report_document *document))
{
	struct report_document document;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	fill(&document);
	assert_int_equal(write(out, &document), 0);
	fclose(out);
	report_document_end(&document);
	return text;
}

static void expect(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no '%s' in:\n%s", part, text);
}

static void test_report_document__text(void **state)
{
	char *text = written(report_write_text);

	(void)state;
	assert_string_equal(text, "Title <b>\n"
	                          "  said: <script>|*a*|`b`_c_[d](e)\\x1b[31m\\x0a#f & \"g\" \\xff\n"
	                          "\n"
	                          "Section\n"
	                          "  - 1. point\n"
	                          "  - two\n"
	                          "  name                                                n\n"
	                          "  <script>|*a*|`b`_c_[d](e)\\x1b[31m\\x0a#f & \"g\" \\xff  1\n"
	                          "  short                                               22\n"
	                          "  end\n");
	free(text);
}

static void test_report_document__markdown(void **state)
{
	char *text = written(report_write_markdown);

	(void)state;
	expect(text, "# Title &lt;b\\>\n");
	expect(text, "said: &lt;script\\>\\|\\*a\\*\\|\\`b\\`\\_c\\_\\[d\\](e)\\\\x1b\\[31m\\\\x0a\\#f &amp; "
	             "\"g\" \\\\xff\n");
	expect(text, "- 1\\. point\n- two\n");
	expect(text, "| name | n |\n| --- | --- |\n| &lt;script");
	expect(text, "| short | 22 |\n");
	assert_null(strchr(text, '<'));
	free(text);
}

static void test_report_document__html(void **state)
{
	char *text = written(report_write_html);

	(void)state;
	expect(text, "<title>Title &lt;b&gt;</title>");
	expect(text, "<p class=\"verdict\">said: &lt;script&gt;|*a*|`b`_c_[d](e)\\x1b[31m\\x0a#f &amp; "
	             "&quot;g&quot; \\xff</p>");
	expect(text, "<ul>\n<li>1. "
	             "point</li>\n<li>two</li>\n</ul>\n<table>\n<tr><th>name</th><th>n</th></tr>\n<tr><td>");
	expect(text, "<tr><td>short</td><td>22</td></tr>\n</table>\n<p>end</p>\n</body>");
	assert_null(strstr(text, "<script"));
	assert_null(strstr(text, "<b>"));
	free(text);
}

static void test_report_document__wraps(void **state)
{
	struct report_document document;
	char *text = NULL, *line, *rest;
	size_t size, lines = 0;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	report_document_begin(&document, "t");
	report_document_say(&document, "%0300d words %s", 1,
	                    "and many more of them that must be put on further lines, as one has a hundred "
	                    "columns at most");
	assert_int_equal(report_write_text(out, &document), 0);
	fclose(out);
	report_document_end(&document);
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest), lines++)
		assert_true(strlen(line) <= 100 ||
		            !strchr(line + 2, ' ')); /* a word that is too long stays whole */
	assert_int_equal(lines, 4);
	free(text);
}

static void test_report_document__unwritable(void **state)
{
	struct report_document document;
	FILE *full = fopen("/dev/full", "w");

	(void)state;
	assert_non_null(full);
	fill(&document);
	assert_int_equal(report_write_text(full, &document), -EIO);
	report_document_end(&document);
	fclose(full);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_report_document__text),
		cmocka_unit_test(test_report_document__markdown),
		cmocka_unit_test(test_report_document__html),
		cmocka_unit_test(test_report_document__wraps),
		cmocka_unit_test(test_report_document__unwritable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
