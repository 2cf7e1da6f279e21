/* Prints the first screen: classes, loop shares, requests, jobs of GPUs, lines of code, losses. */

#include "profiler/top/top_screen.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pprof/profile.h"
#include "profiler/format/ledger_row.h"
#include "profiler/format/stamp.h"
#include "profiler/format/text_cells.h"
#include "profiler/top/top.h"
#include "profiler/top/top_class_text.h"
#include "profiler/top/top_code_text.h"
#include "profiler/loaded/loaded_profiles.h"
#include "profiler/loaded/loaded_wakers.h"
#include "profiler/top/top_gpu_jobs.h"
#include "profiler/top/top_oncpu.h"
#include "profiler/top/top_processes.h"
#include "profiler/top/top_checkpoints.h"
#include "profiler/top/top_requests.h"
#include "profiler/top/top_seen.h"
#include "profiler/top/top_stamp.h"
#include "profiler/top/top_users.h"

/* For a screen that is to fit. */
#define CLASSES_FIT  8
#define REQUESTS_FIT 5
#define GPU_JOBS_FIT 4
#define FILES_FIT    5
#define LOSSES_FIT   6

/* What was not seen, rendered first, so that the rest knows how much room is left. */
struct losses {
	char *text;
	size_t size, lines;
};

static int render_losses(struct losses *losses, const struct top_screen *what)
{
	FILE *memory = open_memstream(&losses->text, &losses->size);

	if (!memory)
		return -ENOMEM;
	losses->lines = top_text_losses(memory, what->input,
	                                what->limit == TOP_FITS && !what->verbose ? LOSSES_FIT : 0);
	return fclose(memory) ? -ENOMEM : 0;
}

static size_t print_classes(FILE *out, const struct top_screen *what, struct loaded_classes *classes,
                            size_t columns)
{
	struct stamp_coverage coverage = stamp_coverage(what->input->stamp);

	if (!classes->count) {
		fputs(what->input->foreign_files == what->input->files
		              ? "There is no ledger: scraped profiles have none, nor those of other "
		                "programs.\n"
		              : "No thread was tagged.\n",
		      out);
		return 1;
	}
	return top_text_classes(out, classes, &coverage, what->limit == TOP_FITS ? CLASSES_FIT : what->limit,
	                        columns);
}

/* Whether the table has all classes, and no other level. */
static bool has_all_classes(const struct top_screen *what)
{
	return !what->filter->tag && what->level == LOADED_LEVEL_CLASS;
}

static int print_processes(FILE *out, const struct top_screen *what, size_t columns, size_t *lines)
{
	struct top_processes processes;
	int err;

	if (!has_all_classes(what))
		return 0;
	err = top_processes_build(&processes, what->input);
	if (err)
		return err;
	if (processes.count) {
		fputc('\n', out);
		*lines += 1 + top_text_processes(out, &processes, columns);
	}
	top_processes_free(&processes);
	return 0;
}

static int print_requests(FILE *out, const struct top_screen *what, size_t columns, size_t *lines)
{
	struct top_requests requests;
	int err;

	if (!has_all_classes(what))
		return 0;
	err = top_requests_build(&requests, what->input);
	if (err)
		return err;
	if (requests.count) {
		fputc('\n', out);
		*lines +=
		        1 + top_text_requests(out, &requests,
		                              what->limit == TOP_FITS ? REQUESTS_FIT : what->limit, columns);
	}
	top_requests_free(&requests);
	return 0;
}

static int print_gpu_jobs(FILE *out, const struct top_screen *what, size_t columns, size_t *lines)
{
	struct top_gpu_jobs jobs;
	int err;

	if (!has_all_classes(what))
		return 0;
	err = top_gpu_jobs_build(&jobs, what->input);
	if (err)
		return err;
	if (jobs.count) {
		fputc('\n', out);
		*lines +=
		        1 + top_text_gpu_jobs(out, &jobs,
		                              what->limit == TOP_FITS ? GPU_JOBS_FIT : what->limit, columns);
	}
	top_gpu_jobs_free(&jobs);
	return 0;
}

/* What is wrong with checkpoint files, or, if asked, all that is known of them. */
static size_t print_checkpoints(FILE *out, const struct top_screen *what, size_t columns)
{
	bool fits = what->limit == TOP_FITS && !what->verbose;
	char *text = NULL;
	size_t size, lines;
	FILE *memory = has_all_classes(what) ? open_memstream(&text, &size) : NULL;

	if (!memory)
		return 0;
	lines = top_text_checkpoints(memory, what->input, what->verbose, fits ? FILES_FIT : 0, columns);
	if (fclose(memory) || !lines)
		lines = 0;
	else
		fprintf(out, "\n%s", text);
	free(text);
	return lines ? lines + 1 : 0;
}

/* NULL: the type is a time. */
static const char *counted_by(struct profile_value_type type)
{
	if (!strcmp(type.unit, "nanoseconds"))
		return NULL;
	return !strcmp(type.type, "contentions") ? "waits" : type.unit;
}

static int print_code(FILE *out, const struct top_screen *what, const struct loaded_classes *classes,
                      size_t columns, size_t lines)
{
	const struct profile *profile = what->input->profile;
	struct top_code_text text = { .input = what->input,
		                      .tags = what->tags,
		                      .filter = what->filter,
		                      .classes = classes,
		                      .limit = what->limit == TOP_FITS ? 0 : what->limit,
		                      .columns = columns,
		                      .native = what->native,
		                      .on_cpu = !strcmp(profile_type(profile, what->type).type, "cpu"),
		                      .counted = counted_by(profile_type(profile, what->type)) };
	struct loaded_filter filter = *what->filter;
	struct top_processes processes;
	struct top_sections sections;
	struct loaded_wakers wakers;
	int err = loaded_wakers_build(&wakers, what->input->ledger);

	if (err)
		return err;
	err = top_processes_build(&processes, what->input);
	if (err) {
		loaded_wakers_free(&wakers);
		return err;
	}
	text.wakers = &wakers;
	text.processes = &processes;
	filter.waits = true;
	err = top_sections_build(&sections, what->input, what->tags, &filter, what->type,
	                         profile_find_type(profile, "contentions"));
	if (!err) {
		top_text_sections(out, &text, &sections, what->limit == TOP_FITS ? lines : 0);
		top_sections_free(&sections);
	}
	top_processes_free(&processes);
	loaded_wakers_free(&wakers);
	return err;
}

static bool has_unobserved(const struct loaded_classes *classes)
{
	return classes->column_count &&
	       !strcmp(classes->columns[classes->column_count - 1], ledger_state_name(LEDGER_UNOBSERVED));
}

/* Prints what needs explaining in the table above; returns the number of lines. */
static size_t print_remarks(FILE *out, const struct top_screen *what, const struct loaded_classes *classes)
{
	bool some_stacks = what->filter->focus || what->filter->ignore, unobserved = has_unobserved(classes);

	if (!some_stacks && !unobserved)
		return 0;
	fputc('\n', out);
	if (unobserved)
		fputs("unobserved: the thread held the tag while its switches were not watched.\n", out);
	if (some_stacks)
		fputs("The table is of all waits; what follows, of those that --focus and --ignore leave.\n",
		      out);
	return 1 + some_stacks + unobserved;
}

int top_screen_print(FILE *out, const struct top_screen *what)
{
	size_t columns = text_line_columns(out), used;
	struct losses losses = { .text = NULL };
	struct loaded_classes classes;
	int err = loaded_classes_build(&classes, what->input, what->filter, what->level);

	if (err)
		return err;
	err = render_losses(&losses, what);
	if (!err) {
		used = print_classes(out, what, &classes, columns) + 1;
		used += losses.lines < LOSSES_FIT ? losses.lines : LOSSES_FIT; /* -v may be longer */
		err = print_processes(out, what, columns, &used);
		if (!err)
			err = print_requests(out, what, columns, &used);
		if (!err)
			used += has_all_classes(what) ? top_text_users(out, what->input, columns) : 0;
		if (!err)
			err = print_gpu_jobs(out, what, columns, &used);
		if (!err)
			used += print_checkpoints(out, what, columns);
		if (!err)
			used += print_remarks(out, what, &classes) +
			        top_text_oncpu(out, what->input, what->tags, what->type, &classes);
		if (!err && what->code)
			err = print_code(out, what, &classes, columns,
			                 used + 2 < TOP_SCREEN_LINES ? TOP_SCREEN_LINES - used - 1 : 1);
		if (losses.lines)
			fprintf(out, "\n%s%s", what->filter->tag ? "Of all tags:\n" : "", losses.text);
		if (what->verbose)
			top_text_stamp(out, what->input, columns);
	}
	free(losses.text);
	loaded_classes_free(&classes);
	if (err)
		return err;
	return fflush(out) || ferror(out) ? -EIO : 0;
}
