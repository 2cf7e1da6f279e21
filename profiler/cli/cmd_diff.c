/* The subcommand `diff`: compares two profiles, or two parts of one, and prints what differs beyond noise. */

#include "profiler/cli/cmd_diff.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "profiler/cli/diff_options.h"
#include "profiler/cli/output_file.h"
#include "profiler/diff/diff.h"
#include "profiler/diff/diff_print.h"
#include "profiler/format/text_cells.h"

#define UNUSABLE      2
#define MESSAGE_BYTES 1024

/* Parts of it are from profiles and servers, so nothing in it may steer the terminal. */
static int say(const char *before, const char *message)
{
	fprintf(stderr, "stallprof diff: %s", before);
	text_print_clean(stderr, message, 0);
	fputc('\n', stderr);
	return UNUSABLE;
}

static void say_refused(const struct diff *diff)
{
	for (size_t i = 0; i < diff->against.count; i++)
		say("not comparable: ", diff->against.text[i]);
	if (diff->against.more)
		fprintf(stderr, "stallprof diff: ... and %zu more of this kind\n", diff->against.more);
	say("", "--force compares all the same");
}

/* Where the text that says it is not on the terminal. */
static void say_unjudged(const struct diff_options *options, const struct diff *diff)
{
	bool shown = options->format == DIFF_FORMAT_TEXT && !options->output;

	for (size_t i = 0; i < diff->finding_count && !shown; i++) {
		const struct diff_finding *finding = &diff->findings[i];
		char line[MESSAGE_BYTES + 512];

		if (finding->outcome != DIFF_UNJUDGED)
			continue;
		snprintf(line, sizeof(line), "%.400s: %s", finding->rule->text, finding->text);
		say("cannot be judged: ", line);
	}
}

/* The forms but text say in their places why the profiles were not compared. */
static int print_refused(FILE *out, struct diff *diff)
{
	for (size_t i = 0; i < diff->against.count; i++) {
		fputs("not comparable: ", out);
		text_print_clean(out, diff->against.text[i], 0);
		fputc('\n', out);
	}
	return ferror(out) ? -EIO : 0;
}

static int print(FILE *out, const struct diff_options *options, struct diff *diff)
{
	static int (*const printers[])(FILE *, struct diff *, size_t) = {
		[DIFF_FORMAT_TEXT] = diff_print_text,
		[DIFF_FORMAT_MARKDOWN] = diff_print_markdown,
		[DIFF_FORMAT_JSON] = diff_print_json,
		[DIFF_FORMAT_JUNIT] = diff_print_junit,
	};

	if (diff->refused && options->format == DIFF_FORMAT_TEXT)
		return print_refused(out, diff);
	return printers[options->format](out, diff, options->limit);
}

/* 0 or -errno, said. */
static int write_out(const struct diff_options *options, struct diff *diff)
{
	struct output_file file;
	int err = output_file_open(&file, options->output);

	if (!err)
		err = output_file_close(&file, print(file.out, options, diff));
	if (err)
		fprintf(stderr, "stallprof diff: %s could not be written: %s\n",
		        options->output ? options->output : "the output", strerror(-err));
	return err;
}

static int compare(struct diff_options *options)
{
	char message[MESSAGE_BYTES] = "";
	struct diff diff;
	int status;

	if (diff_build(&diff, &options->task, message, sizeof(message)))
		return say("", message);
	status = diff_status(&diff);
	if (diff.refused)
		say_refused(&diff);
	if ((!diff.refused || options->format != DIFF_FORMAT_TEXT || options->output) &&
	    write_out(options, &diff))
		status = UNUSABLE;
	say_unjudged(options, &diff);
	diff_free(&diff);
	return status;
}

int cmd_diff(int argc, char **argv)
{
	struct diff_options options;
	int status;

	diff_options_parse(argc, argv, &options);
	status = compare(&options);
	diff_options_release(&options);
	return status;
}
