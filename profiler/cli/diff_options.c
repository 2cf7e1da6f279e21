/* Parses the options of `stallprof diff`, with argp. */

#include "profiler/cli/diff_options.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/abi.h"
#include "profiler/cli/output_file.h"
#include "profiler/cli/usage.h"
#include "profiler/session/window.h"

#define ROWS 20

enum {
	KEY_BASE = 256,
	KEY_NEW,
	KEY_ONLY,
	KEY_WAITS,
	KEY_FAIL_ON,
	KEY_FORCE,
	KEY_NATIVE,
	KEY_FORMAT,
	KEY_CONFIDENCE,
	KEY_MIN_CHANGE,
	KEY_TENANT,
	KEY_BASIC_USER,
	KEY_BASIC_PASSWORD_FILE,
	KEY_BEARER_TOKEN_FILE
};

static const struct argp_option option_table[] = {
	{ "base", KEY_BASE, "FILTER", 0,
	  "Of BASE only samples with these labels: LABEL=VALUE or LABEL!=VALUE, several with commas; ai_tag, "
	  "stall, device, process, any other",
	  0 },
	{ "new", KEY_NEW, "FILTER", 0, "The same of NEW", 0 },
	{ "only", KEY_ONLY, "FILTER", 0, "The same of both", 0 },
	{ "waits", KEY_WAITS, NULL, 0, "Also waits that are no stalls; implied by inherited", 0 },
	{ "by", 'b', "WHAT", 0,
	  "Compare by function (the default), line, stack, cause, device, class, tag, process or inherited",
	  0 },
	{ "native", KEY_NATIVE, NULL, 0, "Also functions, lines and frames of the C code below Python", 0 },
	{ "type", 't', "TYPE", 0, "Compare delay (time of waits, the default), cpu, contentions or recovery",
	  0 },
	{ "normalize", 'N', "HOW", 0,
	  "By wall time (the default), tag time (the default of two filters of one profile), step (each name "
	  "and "
	  "id of a tag), io (requests), bytes, or none",
	  0 },
	{ "fail-on", KEY_FAIL_ON, "RULE", 0,
	  "Exit with 1 if NEW is worse: SUBJECT:+LIMIT, it has grown by more than that, beyond noise, or "
	  "SUBJECT>LIMIT, it is above that, whatever BASE has; say total:+5%, use:save:+20%, "
	  "stall:nvme_reset>0, "
	  "function:write_shard:+10%, device:vda>2ms, any:+0%; may be repeated",
	  0 },
	{ "confidence", KEY_CONFIDENCE, "PERCENT", 0, "Of the bounds; 99 unless given", 0 },
	{ "min-change", KEY_MIN_CHANGE, "PERCENT", 0, "Smaller differences count as noise; 1 unless given",
	  0 },
	{ "force", KEY_FORCE, NULL, 0,
	  "Compare also what differs in hooks and losses, and judge rules where noise is not known", 0 },
	{ "format", KEY_FORMAT, "FORMAT", 0, "text (the default), markdown, json or junit", 0 },
	{ "output", 'o', "FILE", 0, "Write to this file, - for standard output", 0 },
	{ "number", 'n', "N", 0, "N rows; 20 unless given, 0 for all; json and junit have all unless given",
	  0 },
	{ "tenant", KEY_TENANT, "NAME", 0, "X-Scope-OrgID of queries to Pyroscope", 0 },
	{ "basic-user", KEY_BASIC_USER, "NAME", 0, "User for basic auth", 0 },
	{ "basic-password-file", KEY_BASIC_PASSWORD_FILE, "FILE", 0, "File with that user's password", 0 },
	{ "bearer-token-file", KEY_BEARER_TOKEN_FILE, "FILE", 0, "File with a bearer token", 0 },
	{ 0 },
};

/* A parse that is going on. */
struct parse {
	struct diff_options *options;
	bool limit_given;
};

static double parse_percent(const char *option, const char *text, double least, double most,
                            struct argp_state *state)
{
	char *end;
	double number = strtod(text, &end);

	if (end == text || *end || !(number >= least) || !(number <= most))
		usage_error(state, "--%s wants a number from %g to %g, not '%s'", option, least, most, text);
	return number;
}

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

static void add_filter(struct diff_options *options, bool base, bool new, const char *option,
                       const char *text, struct argp_state *state)
{
	char why[512];

	for (int side = 0; side < 2; side++)
		if ((side ? new : base) &&
		    diff_filter_add(&options->task.filter[side], text, why, sizeof(why)))
			usage_error(state, "--%s %s", option, why);
}

static enum diff_format parse_format(const char *text, struct argp_state *state)
{
	static const char *const names[] = { "text", "markdown", "json", "junit" };

	for (unsigned int i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(names[i], text))
			return i;
	usage_error(state, "--format wants text, markdown, json or junit, not '%s'", text);
	return DIFF_FORMAT_TEXT;
}

/* A name that no stall has would pass for ever. */
static void check_stall(const struct diff_rule *rule, struct argp_state *state)
{
	char known[1024] = "";
	size_t used = 0;

	if (rule->subject != DIFF_NAMED || rule->what != TOP_BY_STALL)
		return;
	for (unsigned int cause = 1; cause < ABI_WAIT_END; cause++) {
		const char *name = window_cause_name(cause);

		if (!strcmp(name, rule->name))
			return;
		if (cause < ABI_CAUSE_MAX && used < sizeof(known))
			used += (size_t)snprintf(known + used, sizeof(known) - used, "%s%s", used ? ", " : "",
			                         name);
	}
	usage_error(state, "--fail-on '%s': there is no stall '%s'; there are: %s", rule->text, rule->name,
	            known);
}

static void add_rule(struct diff_options *options, const char *text, struct argp_state *state)
{
	size_t count = options->task.rule_count;
	struct diff_rule *rules = realloc(options->rules, (count + 1) * sizeof(*rules));
	char why[512];

	if (!rules)
		usage_error(state, "no memory left");
	options->task.rules = options->rules = rules;
	if (diff_rule_parse(&rules[count], text, why, sizeof(why)))
		usage_error(state, "--fail-on %s", why);
	check_stall(&rules[count], state);
	options->task.rule_count++;
}

/* Only waits that are no stalls are inherited. */
static bool wants_inherited(const struct diff_options *options)
{
	bool wants = options->task.by == TOP_BY_INHERITED;

	for (size_t i = 0; i < options->task.rule_count; i++)
		wants |=
		        options->rules[i].subject == DIFF_NAMED && options->rules[i].what == TOP_BY_INHERITED;
	return wants;
}

static void set_place(struct diff_options *options, const char *text, struct argp_state *state)
{
	const char **place = options->task.place;

	if (place[1])
		usage_error(state, "BASE and NEW are two; what is '%s'?", text);
	place[place[0] ? 1 : 0] = text;
}

/* Options that only fill a field. False: it is none of those. */
static bool set_field(int key, char *value, struct diff_options *options)
{
	struct query_access *access = &options->task.access;
	const struct {
		int key;
		const char **field;
	} texts[] = {
		{ 't', &options->task.type },
		{ 'o', &options->output },
		{ KEY_TENANT, &access->tenant },
		{ KEY_BASIC_USER, &access->basic_user },
		{ KEY_BASIC_PASSWORD_FILE, &access->basic_password_file },
		{ KEY_BEARER_TOKEN_FILE, &access->bearer_token_file },
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (texts[i].key != key)
			continue;
		*texts[i].field = value;
		return true;
	}
	if (key == KEY_WAITS)
		options->task.filter[0].waits = options->task.filter[1].waits = true;
	else if (key == KEY_FORCE)
		options->task.force = true;
	else if (key == KEY_NATIVE)
		options->task.native = true;
	else
		return false;
	return true;
}

static error_t parse_option(int key, char *value, struct argp_state *state)
{
	struct parse *parse = state->input;
	struct diff_options *options = parse->options;
	struct diff_task *task = &options->task;

	if (set_field(key, value, options))
		return 0;
	switch (key) {
	case KEY_BASE:
	case KEY_NEW:
	case KEY_ONLY:
		add_filter(options, key != KEY_NEW, key != KEY_BASE,
		           key == KEY_BASE  ? "base"
		           : key == KEY_NEW ? "new"
		                            : "only",
		           value, state);
		return 0;
	case 'b':
		if (!diff_by_parse(value, &task->by))
			usage_error(state,
			            "--by wants function, line, stack, cause, device, class, tag, process or "
			            "inherited, not '%s'",
			            value);
		return 0;
	case 'N':
		task->per_given = true;
		if (!diff_per_parse(value, &task->per))
			usage_error(state, "--normalize wants wall, tag, step, io, bytes or none, not '%s'",
			            value);
		return 0;
	case KEY_FAIL_ON:
		add_rule(options, value, state);
		return 0;
	case KEY_CONFIDENCE:
		task->confidence = parse_percent("confidence", value, 50, 99.9, state);
		return 0;
	case KEY_MIN_CHANGE:
		task->min_change = parse_percent("min-change", value, 0, 1000, state);
		return 0;
	case KEY_FORMAT:
		options->format = parse_format(value, state);
		return 0;
	case 'n':
		options->limit = parse_limit(value, state);
		parse->limit_given = true;
		return 0;
	case ARGP_KEY_ARG:
		set_place(options, value, state);
		return 0;
	case ARGP_KEY_NO_ARGS:
		usage_error(state, "which BASE and NEW?");
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp parser = {
	.options = option_table,
	.parser = parse_option,
	.args_doc = "BASE NEW\nPROFILE --base FILTER --new FILTER",
	.doc = "Says what NEW waits longer for than BASE, and what of that is beyond noise.\v"
	       "BASE and NEW are files, folders of windows, - for standard input, or "
	       "pyroscope://HOST[:PORT]/SERVICE{LABELS}@FROM..TO, with times such as now-1h, now, Unix "
	       "seconds or 2026-11-23T10:00:00Z; pyroscopes:// for https.\n\n"
	       "A rule's SUBJECT is total, any (each row of the table), use:CLASS (how long a use of its "
	       "tags "
	       "took) or function:NAME, line:, stack:, "
	       "stall:, device:, class:, tag:, process:, inherited:. Its LIMIT is a number, with % (of BASE, "
	       "behind "
	       ":+), ns, us, ms or s, in the unit that is shown.\n\n"
	       "Exit status: 0 fine, 1 a rule of --fail-on failed, 2 it cannot be said (not comparable, "
	       "unreadable, a rule cannot be judged), 64 wrong usage."
};

void diff_options_parse(int argc, char **argv, struct diff_options *options)
{
	struct parse parse = { .options = options };

	*options = (struct diff_options){ .task = { .by = TOP_BY_FUNCTION,
		                                    .confidence = DIFF_CONFIDENCE,
		                                    .min_change = DIFF_MIN_CHANGE } };
	usage_parse(&parser, "stallprof diff", argc, argv, 0, &parse);
	if (wants_inherited(options))
		options->task.filter[0].waits = options->task.filter[1].waits = true;
	if (!options->task.place[1] && !(options->task.filter[0].count && options->task.filter[1].count))
		usage_error(NULL, "with one profile, --base FILTER and --new FILTER say what is compared");
	if (options->output && !strcmp(options->output, "-"))
		options->output = NULL;
	output_file_check(options->output, options->task.place, 2);
	if (!parse.limit_given &&
	    (options->format == DIFF_FORMAT_TEXT || options->format == DIFF_FORMAT_MARKDOWN))
		options->limit = ROWS;
}

void diff_options_release(struct diff_options *options)
{
	for (size_t i = 0; i < options->task.rule_count; i++)
		diff_rule_release(&options->rules[i]);
	free(options->rules);
	for (int side = 0; side < 2; side++)
		diff_filter_release(&options->task.filter[side]);
	*options = (struct diff_options){ .limit = 0 };
}
