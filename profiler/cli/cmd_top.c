/* The subcommand `top`: loads profiles, filters them, and prints a screen, a table or JSON. */

#include "profiler/cli/cmd_top.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pprof/profile.h"
#include "profiler/format/ledger_row.h"
#include "profiler/format/text_cells.h"
#include "profiler/top/top.h"
#include "profiler/loaded/loaded_profiles.h"
#include "profiler/top/top_json.h"
#include "profiler/cli/top_options.h"
#include "profiler/top/top_screen.h"
#include "profiler/top/top_seen.h"
#include "profiler/top/top_stamp.h"
#include "profiler/top/top_text.h"

#define TABLE_ROWS    10 /* of one table, unless -n says otherwise */
#define MESSAGE_BYTES 1024
#define STALLS_LISTED 32

/* A loaded profile, and how to look at it. */
struct view {
	const struct top_options *options;
	const struct loaded_profiles *input;
	const struct loaded_tags *tags;
	size_t type;
};

static int say(const char *message)
{
	fputs("stallprof top: ", stderr);
	text_print_clean(stderr, message, 0);
	fputc('\n', stderr);
	return 1;
}

static int say_unreadable(const struct loaded_profiles *input)
{
	char message[MESSAGE_BYTES];

	snprintf(message, sizeof(message), "%zu file%s left out: %s%s", input->unreadable_files,
	         input->unreadable_files == 1 ? " is" : "s are", input->unreadable,
	         input->unreadable_files == 1 ? "" : "; ...");
	return say(message);
}

static void list_types(const struct profile *profile, const char *wanted)
{
	fputs("stallprof top: no sample type '", stderr);
	text_print_clean(stderr, wanted, 0);
	fputs("' in the profile; there are:", stderr);
	for (size_t i = 0; i < profile_n_types(profile); i++) {
		fputs(i ? ", " : " ", stderr);
		text_print_clean(stderr, profile_type(profile, i).type, 0);
	}
	fputc('\n', stderr);
}

/* --- what the filter leaves ------------------------------------------------------------------------------- */

static bool any_sample(const struct view *view, const struct loaded_filter *filter)
{
	struct loaded_sample sample;

	for (size_t i = 0; loaded_sample_get(view->input, view->tags, i, &sample); i++)
		if (loaded_filter_sample(filter, view->input, &sample))
			return true;
	return false;
}

static bool any_row(const struct view *view, const struct loaded_filter *filter)
{
	for (size_t i = 0; i < ledger_count(view->input->ledger); i++) {
		const struct ledger_row *row = ledger_at(view->input->ledger, i);

		if (row && loaded_filter_row(filter, row) && loaded_filter_cause(filter, row))
			return true;
	}
	return false;
}

static void list_stall(const char *stalls[STALLS_LISTED], const char *stall)
{
	for (size_t i = 0; *stall && i < STALLS_LISTED; i++) {
		if (!stalls[i])
			stalls[i] = stall;
		if (!strcmp(stalls[i], stall))
			return;
	}
}

/* The stall that was asked for is nowhere in the profile: says which are. */
static bool lacks_stall(const struct view *view)
{
	const struct loaded_filter only = { .stall = view->options->filter.stall };
	const char *stalls[STALLS_LISTED] = { NULL };
	struct loaded_sample sample;

	if (!only.stall || any_row(view, &only) || any_sample(view, &only))
		return false;
	for (size_t i = 0; i < ledger_count(view->input->ledger); i++) {
		const struct ledger_row *row = ledger_at(view->input->ledger, i);

		list_stall(stalls, row ? row->cause : "");
	}
	for (size_t i = 0; loaded_sample_get(view->input, view->tags, i, &sample); i++)
		list_stall(stalls, sample.stall);
	fputs("stallprof top: no stall '", stderr);
	text_print_clean(stderr, only.stall, 0);
	fputs("' in the profile; there are:", stderr);
	for (size_t i = 0; i < STALLS_LISTED && stalls[i]; i++) {
		fputs(i ? ", " : " ", stderr);
		text_print_clean(stderr, stalls[i], 0);
	}
	fputs(stalls[0] ? "\n" : " none\n", stderr);
	return true;
}

/* Something was asked for that is not there: says so. */
static bool finds_nothing(const struct view *view)
{
	struct loaded_filter filter = view->options->filter;
	char message[MESSAGE_BYTES];

	filter.waits = true;
	if (!filter.tag && !filter.stall && !filter.focus && !filter.ignore)
		return false;
	if (lacks_stall(view))
		return true;
	if (any_sample(view, &filter) || (!filter.focus && !filter.ignore && any_row(view, &filter)))
		return false;
	snprintf(message, sizeof(message), "the profile has nothing%s%s%s%s%s: see --by tag and --by stall",
	         filter.tag ? " of tag " : "", filter.tag ? filter.tag : "", filter.stall ? " of stall " : "",
	         filter.stall ? filter.stall : "",
	         filter.focus || filter.ignore ? " that --focus and --ignore leave" : "");
	say(message);
	return true;
}

/* --- printing --------------------------------------------------------------------------------------------- */

/* What a row of the first table is. */
static enum loaded_level level_of(const struct top_options *options)
{
	if (options->by_given && options->by == TOP_BY_TAG)
		return LOADED_LEVEL_TAG;
	return options->by_given && options->by == TOP_BY_PROCESS ? LOADED_LEVEL_PROCESS : LOADED_LEVEL_CLASS;
}

static int print_screen(FILE *out, const struct view *view)
{
	const struct top_options *options = view->options;
	struct top_screen screen = { .input = view->input,
		                     .tags = view->tags,
		                     .filter = &options->filter,
		                     .level = level_of(options),
		                     .code = !options->by_given,
		                     .native = options->native,
		                     .verbose = options->verbose,
		                     .type = view->type,
		                     .limit = options->limit };

	if (options->by_given && options->limit == TOP_FITS)
		screen.limit = TABLE_ROWS;
	return top_screen_print(out, &screen);
}

static int print_table(FILE *out, const struct view *view, const struct top_table *table)
{
	const struct top_options *options = view->options;

	top_text_table(out, table, options->by, profile_type(view->input->profile, view->type),
	               options->limit == TOP_FITS ? TABLE_ROWS : options->limit);
	fputc('\n', out);
	top_text_losses(out, view->input, options->verbose ? 0 : TABLE_ROWS);
	if (options->verbose)
		top_text_stamp(out, view->input, text_line_columns(out));
	return fflush(out) || ferror(out) ? -EIO : 0;
}

static int print_json(FILE *out, const struct view *view, const struct top_table *table)
{
	const struct top_options *options = view->options;
	struct top_json what = { .input = view->input,
		                 .tags = view->tags,
		                 .filter = options->filter,
		                 .table = table,
		                 .by = options->by,
		                 .level = level_of(options),
		                 .type = profile_type(view->input->profile, view->type),
		                 .limit = options->limit == TOP_FITS ? 0 : options->limit };

	return top_json_write(out, &what);
}

static bool is_screen(const struct top_options *options)
{
	return !options->by_given || options->by == TOP_BY_CLASS || level_of(options) != LOADED_LEVEL_CLASS;
}

/* Waits end in few functions of the kernel, so their callers say more. For CPU time the functions themselves do. */
static bool sorts_by_cum(const struct view *view)
{
	if (view->options->sort_given)
		return view->options->by_cum;
	return strcmp(profile_type(view->input->profile, view->type).type, "cpu") != 0 &&
	       view->options->by_given;
}

/* 0 or -errno. */
static int show(FILE *out, const struct view *view)
{
	struct top_table table;
	int err;

	if (is_screen(view->options) && !view->options->json)
		return print_screen(out, view);
	err = top_table_build(&table, view->input, view->tags, &view->options->filter, view->options->by,
	                      view->type, sorts_by_cum(view));
	if (err)
		return err;
	if (!view->options->json && !view->options->native)
		top_table_fold(&table);
	err = view->options->json ? print_json(out, view, &table) : print_table(out, view, &table);
	top_table_free(&table);
	return err;
}

/* --- the command ------------------------------------------------------------------------------------------ */

static int run(const struct top_options *options, const struct loaded_profiles *input)
{
	struct view view = { .options = options, .input = input };
	int type = loaded_pick_type(input, options->type), err = -ENOMEM;
	struct loaded_tags *tags;
	bool nothing = false;

	if (type < 0) {
		list_types(input->profile, options->type ? options->type : "");
		return 1;
	}
	view.type = (size_t)type;
	view.tags = tags = loaded_tags_new(input);
	if (tags) {
		nothing = finds_nothing(&view);
		err = nothing ? 0 : show(stdout, &view);
	}
	loaded_tags_free(tags);
	if (err)
		say(err == -EIO ? "the output could not be written" : strerror(-err));
	return err || nothing;
}

int cmd_top(int argc, char **argv)
{
	char message[MESSAGE_BYTES] = "";
	struct top_options options;
	struct loaded_profiles input;
	int status;

	top_options_parse(argc, argv, &options);
	if (loaded_profiles_load(&input, options.files, options.file_count, message, sizeof(message))) {
		status = say(message);
	} else {
		status = run(&options, &input);
		if (input.unreadable_files)
			status = say_unreadable(&input);
		if (*input.left_out)
			status = say(input.left_out);
		loaded_profiles_release(&input);
	}
	top_options_release(&options);
	return status;
}

void top_print_summary(FILE *out, const struct profile *p, const char *path, size_t n_top)
{
	const struct top_options options = { .limit = n_top };
	char message[MESSAGE_BYTES] = "";
	struct view view = { .options = &options };
	struct loaded_profiles input;
	struct loaded_tags *tags;
	int type, err;

	if (loaded_profiles_borrow(&input, p, message, sizeof(message))) {
		text_print_clean(out, message, 0);
		fputc('\n', out);
		return;
	}
	type = loaded_pick_type(&input, NULL);
	input.path = path;
	tags = loaded_tags_new(&input);
	view.input = &input;
	view.tags = tags;
	view.type = type < 0 ? 0 : (size_t)type;
	err = type < 0 ? type : tags ? print_screen(out, &view) : -ENOMEM;
	if (err)
		fprintf(out, "the summary is incomplete: %s\n", strerror(-err));
	loaded_tags_free(tags);
	loaded_profiles_release(&input);
}
