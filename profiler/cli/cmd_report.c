/* The subcommand `report`: options, loading, and where the report goes. */

#include "profiler/cli/cmd_report.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/cli/output_file.h"
#include "profiler/cli/report_output.h"
#include "profiler/cli/usage.h"
#include "profiler/format/text_cells.h"
#include "profiler/format/timeline.h"
#include "profiler/loaded/loaded_profiles.h"
#include "profiler/report/report.h"
#include "profiler/report/report_forms.h"

#define MESSAGE_BYTES 1024

struct report_options {
	enum report_format format;
	bool format_given;
	const char *output, *baseline, *step;
	char **files;
	size_t file_count;
};

enum { KEY_BASELINE = 256, KEY_STEP };

static const struct argp_option option_table[] = {
	{ "format", 'f', "FORMAT", 0,
	  "text (the default), markdown, json or html; by the name of -o if that says it", 0 },
	{ "output", 'o', "FILE", 0, "Write it there, - for standard output", 0 },
	{ "baseline", KEY_BASELINE, "FILE", 0,
	  "Compare with this profile of a run in which all was well, not with the quietest stretch of the "
	  "same run",
	  0 },
	{ "step", KEY_STEP, "CLASS", 0, "The class whose tags are the steps (the one with step in its name)",
	  0 },
	{ 0 },
};

/* - is standard output; without --format the name says the form. */
static void choose_output(struct report_options *options, struct argp_state *state)
{
	if (options->output && !strcmp(options->output, "-"))
		options->output = NULL;
	if (options->output && !options->format_given &&
	    !report_output_format(options->output, &options->format))
		usage_error(state,
		            "-o %s: %s is no format of a report: let the name end with .txt, .md, .json or "
		            ".html, or give --format",
		            options->output, report_output_ending(options->output));
}

static error_t parse_option(int key, char *value, struct argp_state *state)
{
	struct report_options *options = state->input;

	switch (key) {
	case 'f':
		options->format_given = true;
		if (!report_format_parse(value, &options->format))
			usage_error(state, "--format wants text, markdown, json or html, not '%s'", value);
		return 0;
	case 'o':
		options->output = value;
		return 0;
	case KEY_BASELINE:
		options->baseline = value;
		return 0;
	case KEY_STEP:
		options->step = value;
		return 0;
	case ARGP_KEY_ARGS:
		options->files = state->argv + state->next;
		options->file_count = (size_t)(state->argc - state->next);
		return 0;
	case ARGP_KEY_NO_ARGS:
		usage_error(state, "which FILE?");
		return 0;
	case ARGP_KEY_SUCCESS:
		choose_output(options, state);
		output_file_check(options->output, (const char *const *)options->files, options->file_count);
		output_file_check(options->output, &options->baseline, 1);
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp parser = {
	.options = option_table,
	.parser = parse_option,
	.args_doc = "FILE...",
	.doc = "Says what got slower and when, which cause on which device took the time, the way from the "
	       "tag to it, what "
	       "else was looked for, what to do next, and what could not be seen.\vFILEs are windows of one "
	       "run; a "
	       "directory stands for all *.pb.gz in it, - for standard input.",
};

static int say(const char *message)
{
	fputs("stallprof report: ", stderr);
	text_print_clean(stderr, message, 0);
	fputc('\n', stderr);
	return 1;
}

static int write_report(const struct report *report, const struct report_options *options)
{
	char message[MESSAGE_BYTES] = "the output could not be written";
	struct output_file file;
	int err = output_file_open(&file, options->output);

	if (!err)
		err = output_file_close(&file, report_write(file.out, report, options->format));
	if (err && options->output)
		report_output_error(message, sizeof(message), options->output, -err);
	else if (err && err != -EIO)
		snprintf(message, sizeof(message), "%s", strerror(-err));
	if (err)
		return say(message);
	if (options->output) {
		snprintf(message, sizeof(message), "wrote %s (%s)", options->output,
		         report_format_name(options->format));
		say(message);
	}
	return 0;
}

static int run(const struct report_options *options, const struct loaded_profiles *input,
               const struct loaded_profiles *baseline)
{
	char message[MESSAGE_BYTES];
	struct report report;
	int err = report_make(&report, input, baseline, options->step, NULL), status;

	if (err == -ENOENT)
		snprintf(message, sizeof(message),
		         "no tags of class %s in the profile: see stallprof top --by class", options->step);
	else if (err)
		snprintf(message, sizeof(message), "%s", strerror(-err));
	if (err)
		return say(message);
	status = write_report(&report, options);
	report_release(&report);
	return status;
}

/* Whether any thread's time is in it, not only signals of the host. */
static bool tells_threads(const struct timeline *timeline)
{
	for (size_t i = 0; i < timeline_count(timeline); i++)
		if (timeline_lane_at(timeline, i)->kind <= TIMELINE_RUNQUEUE)
			return true;
	return false;
}

/* A profile without a timeline says nothing of what is usual. */
static int load_baseline(struct loaded_profiles *baseline, const char *path)
{
	char message[MESSAGE_BYTES] = "", *paths[] = { (char *)path };

	if (loaded_profiles_load(baseline, paths, 1, message, sizeof(message)))
		return say(message);
	if (tells_threads(baseline->timeline))
		return 0;
	snprintf(message, sizeof(message), "%s: no timeline of tagged threads in it, so it is no baseline",
	         path);
	loaded_profiles_release(baseline);
	return say(message);
}

/* 0 if nothing was. */
static int say_left_out(const struct loaded_profiles *input, const char *whose)
{
	char message[MESSAGE_BYTES];

	if (*input->left_out) {
		snprintf(message, sizeof(message), "of the %s %s", whose, input->left_out);
		say(message);
	}
	if (!input->unreadable_files)
		return *input->left_out != '\0';
	snprintf(message, sizeof(message), "%zu of the %s's files left out: %.900s", input->unreadable_files,
	         whose, input->unreadable);
	return say(message);
}

static int run_with_baseline(const struct report_options *options, const struct loaded_profiles *input)
{
	struct loaded_profiles baseline;
	int status;

	if (!options->baseline)
		return run(options, input, NULL);
	if (load_baseline(&baseline, options->baseline))
		return 1;
	status = run(options, input, &baseline);
	if (say_left_out(&baseline, "baseline"))
		status = 1;
	loaded_profiles_release(&baseline);
	return status;
}

int cmd_report(int argc, char **argv)
{
	char message[MESSAGE_BYTES] = "";
	struct report_options options = { .format = REPORT_TEXT };
	struct loaded_profiles input;
	int status;

	usage_parse(&parser, "stallprof report", argc, argv, 0, &options);
	if (loaded_profiles_load(&input, options.files, options.file_count, message, sizeof(message)))
		return say(message);
	status = run_with_baseline(&options, &input);
	if (say_left_out(&input, "directory"))
		status = 1;
	loaded_profiles_release(&input);
	return status;
}
