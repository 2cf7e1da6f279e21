/* Parses the options of `stallprof top`, with argp. */

#include "profiler/cli/top_options.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "profiler/top/top.h"
#include "profiler/cli/usage.h"

enum { KEY_CUM = 256, KEY_FLAT, KEY_FOCUS, KEY_IGNORE, KEY_NATIVE };

static const struct argp_option option_table[] = {
	{ "by", 'b', "WHAT", 0,
	  "One table, by class, tag (each name and id), process, function, line, stack, stall, device or "
	  "inherited (what waits for other threads were for), in place of the screen",
	  0 },
	{ "type", 't', "TYPE", 0, "Sum delay (time of waits, the default), cpu, contentions or recovery", 0 },
	{ "stall", 's', "CAUSE", 0,
	  "Only samples of this stall, for example block_io, or of this kind of wait: lock, pipe ...; "
	  "blocked: all of those",
	  0 },
	{ "tag", 'T', "TAG", 0,
	  "Only this tag, by the next level of its names: a class, a name or the beginning of its path, "
	  "id=N or id=0xN, or an id of 16 hex digits",
	  0 },
	{ "focus", KEY_FOCUS, "REGEX", 0,
	  "Only samples with a function, file or \"function file:line\" in their stack that matches", 0 },
	{ "ignore", KEY_IGNORE, "REGEX", 0, "No samples with one that matches", 0 },
	{ "cum", KEY_CUM, NULL, 0,
	  "A table of functions (or --by line, stack), sorted by what is in and below them (the default for "
	  "delay)",
	  0 },
	{ "flat", KEY_FLAT, NULL, 0, "The same table, sorted by what is in them alone (the default for cpu)",
	  0 },
	{ "native", KEY_NATIVE, NULL, 0, "Whole stacks, with the kernel's frames and the C code below Python",
	  0 },
	{ "number", 'n', "N", 0,
	  "N rows of each table and lines of code for each cause (as fit 60 lines; 10 of one table; 0: all; "
	  "with --json all)",
	  0 },
	{ "json", 'j', NULL, 0, "Print JSON", 0 },
	{ "verbose", 'v', NULL, 0, "Also all hooks and counters", 0 },
	{ 0 },
};

static size_t parse_limit(const char *text, struct argp_state *state)
{
	char *end;
	unsigned long number;

	errno = 0;
	number = strtoul(text, &end, 10);
	if (errno || end == text || *end || *text < '0' || *text > '9')
		usage_error(state, "-n wants a number, not '%s'", text);
	return number;
}

static const regex_t *parse_regex(const char *option, const char *text, regex_t *pattern,
                                  struct argp_state *state)
{
	int result = regcomp(pattern, text, REG_EXTENDED | REG_NOSUB);
	char why[256];

	if (!result)
		return pattern;
	regerror(result, pattern, why, sizeof(why));
	usage_error(state, "--%s '%s': %s", option, text, why);
	return NULL;
}

static void sort_by(struct top_options *options, bool by_cum)
{
	options->sort_given = true;
	options->by_cum = by_cum;
}

/* Options that only fill a field. False: it is none of those. */
static bool set_flag(int key, char *value, struct top_options *options)
{
	switch (key) {
	case 't':
		options->type = value;
		return true;
	case 's':
		options->filter.stall = value;
		return true;
	case 'T':
		options->filter.tag = value;
		return true;
	case 'j':
		options->json = true;
		return true;
	case 'v':
		options->verbose = true;
		return true;
	case KEY_NATIVE:
		options->native = true;
		return true;
	case KEY_CUM:
	case KEY_FLAT:
		sort_by(options, key == KEY_CUM);
		return true;
	}
	return false;
}

static error_t parse_option(int key, char *value, struct argp_state *state)
{
	struct top_options *options = state->input;

	if (set_flag(key, value, options))
		return 0;
	switch (key) {
	case 'b':
		options->by_given = true;
		if (!top_by_parse(value, &options->by))
			usage_error(state,
			            "--by wants class, tag, process, function, line, stack, stall, device or "
			            "inherited, not '%s'",
			            value);
		return 0;
	case KEY_FOCUS:
		options->filter.focus = parse_regex("focus", value, &options->focus, state);
		return 0;
	case KEY_IGNORE:
		options->filter.ignore = parse_regex("ignore", value, &options->ignore, state);
		return 0;
	case 'n':
		options->limit = parse_limit(value, state);
		return 0;
	case ARGP_KEY_ARGS:
		options->files = state->argv + state->next;
		options->file_count = (size_t)(state->argc - state->next);
		return 0;
	case ARGP_KEY_NO_ARGS:
		usage_error(state, "which FILE?");
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp parser = { .options = option_table,
	                            .parser = parse_option,
	                            .args_doc = "FILE...",
	                            .doc = "Prints where the time of tagged threads went by class of tags, "
	                                   "which lines of code waited for what, and what "
	                                   "was not seen.\vFILEs are summed; a directory stands for all "
	                                   "*.pb.gz in it, - for standard input." };

void top_options_parse(int argc, char **argv, struct top_options *options)
{
	*options = (struct top_options){ .limit = TOP_FITS };
	usage_parse(&parser, "stallprof top", argc, argv, 0, options);
	if (options->by_given && options->by == TOP_BY_INHERITED)
		options->filter.waits = true; /* only these are inherited */
	if (!options->sort_given)
		return;
	if (!options->by_given)
		options->by = TOP_BY_FUNCTION;
	else if (options->by == TOP_BY_CLASS || options->by == TOP_BY_TAG || options->by == TOP_BY_PROCESS)
		usage_error(
		        NULL,
		        "--cum and --flat sort functions, lines and stacks, not classes, tags and processes");
	options->by_given = true;
}

void top_options_release(struct top_options *options)
{
	if (options->filter.focus)
		regfree(&options->focus);
	if (options->filter.ignore)
		regfree(&options->ignore);
}
