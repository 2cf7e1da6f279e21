/* Tests of report_output.h: forms by the ending of a name, and what is said where a report can't be written. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "profiler/cli/report_output.h"

static void test_report_output__by_its_ending(void **state)
{
	static const struct {
		const char *path;
		enum report_format format;
	} of[] = { { "x.txt", REPORT_TEXT },
		   { "/a.b/x.md", REPORT_MARKDOWN },
		   { "x.markdown", REPORT_MARKDOWN },
		   { "./x.y.json", REPORT_JSON },
		   { "x.html", REPORT_HTML } };

	(void)state;
	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		enum report_format format = REPORT_FORMATS;

		assert_true(report_output_format(of[i].path, &format));
		assert_int_equal(format, of[i].format);
	}
}

/* Text, or what --format says. */
static void test_report_output__without_an_ending(void **state)
{
	static const char *const paths[] = { "x", "/dev/stdout", "/a.docx/x", ".hidden", "../x", "-", "" };

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		enum report_format format = REPORT_FORMATS;

		if (!report_output_format(paths[i], &format))
			fail_msg("%s is refused", paths[i]);
		assert_int_equal(format, REPORT_FORMATS);
	}
}

static void test_report_output__an_ending_of_no_form(void **state)
{
	static const char *const paths[] = { "x.docx", "x.pdf", "x.html.gz", "x.MD", "x." };

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		enum report_format format = REPORT_FORMATS;

		if (report_output_format(paths[i], &format))
			fail_msg("%s is taken", paths[i]);
	}
	assert_string_equal(report_output_ending("a.b/x.docx"), ".docx");
}

static void test_report_output__no_folder(void **state)
{
	char message[512];

	(void)state;
	report_output_error(message, sizeof(message), "/nodir/x.md", ENOENT);
	assert_string_equal(
	        message,
	        "/nodir/x.md: there is no folder /nodir: make it (mkdir -p), or name another with -o");
	report_output_error(message, sizeof(message), "/tmp", EISDIR);
	assert_string_equal(message, "/tmp: that is a folder: name a file in it with -o");
	report_output_error(message, sizeof(message), "/tmp/x", ENOSPC);
	assert_string_equal(message, "/tmp/x: the output could not be written: No space left on device; name "
	                             "another place with -o");
	/* What a stream says that has lost it. */
	report_output_error(message, sizeof(message), "/dev/full", EIO);
	assert_string_equal(message,
	                    "/dev/full: the output could not be written; name another place with -o");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_report_output__by_its_ending),
		cmocka_unit_test(test_report_output__without_an_ending),
		cmocka_unit_test(test_report_output__an_ending_of_no_form),
		cmocka_unit_test(test_report_output__no_folder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
