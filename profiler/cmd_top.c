#include "profiler/cmd_top.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pprof/profile.h"
#include "profiler/top.h"
#include "profiler/top_input.h"
#include "profiler/top_json.h"
#include "profiler/top_text.h"
#include "profiler/usage.h"

#define DEFAULT_LIMIT 10
#define MESSAGE_BYTES 1024

struct options {
	char **files;
	size_t file_count;
	enum top_by by;
	const char *type;
	struct top_filter filter;
	size_t limit;
	bool limit_given;
	bool json;
};

static const struct argp_option option_table[] = {
	{ "by", 'b', "WHAT", 0, "Sum by function (the default), line, stack, tag, stall or device", 0 },
	{ "type", 't', "TYPE", 0, "Sum delay (blocked time, the default), cpu or another sample type", 0 },
	{ "stall", 's', "CAUSE", 0, "Only samples of this stall, for example block_io", 0 },
	{ "tag", 'T', "TAG", 0,
	  "Only this tag: a class, a name or the beginning of its path, or a 16-digit id", 0 },
	{ "number", 'n', "N", 0,
	  "Show N rows of each table (10; 0: all; with --json all stacks unless given)", 0 },
	{ "json", 'j', NULL, 0, "Print JSON", 0 },
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

static error_t parse_option(int key, char *value, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case 'b':
		if (!top_by_parse(value, &options->by))
			usage_error(state, "--by wants function, line, stack, tag, stall or device, not '%s'",
			            value);
		return 0;
	case 't':
		options->type = value;
		return 0;
	case 's':
		options->filter.stall = value;
		return 0;
	case 'T':
		options->filter.tag = value;
		return 0;
	case 'n':
		options->limit = parse_limit(value, state);
		options->limit_given = true;
		return 0;
	case 'j':
		options->json = true;
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
	                            .doc = "Prints where the time of tagged threads went (the ledger), the "
	                                   "heaviest functions or stacks of "
	                                   "their stalls, and what was not seen.\vFILEs are summed; a "
	                                   "directory stands for all *.pb.gz in it." };

static int say(const char *message)
{
	fprintf(stderr, "stallprof top: %s\n", message);
	return 1;
}

static void list_types(const struct profile *profile, const char *wanted)
{
	fprintf(stderr, "stallprof top: no sample type '%s' in the profile; there are:", wanted);
	for (size_t i = 0; i < profile_n_types(profile); i++)
		fprintf(stderr, "%s %s", i ? "," : "", profile_type(profile, i).type);
	fputc('\n', stderr);
}

static int print_text(FILE *out, const struct top_json *what, size_t limit)
{
	if (top_text_ledger(out, what->input, what->tags, &what->filter, limit))
		return -ENOMEM;
	top_text_table(out, what->table, what->by, what->type, limit);
	top_text_stamp(out, what->input);
	return fflush(out) || ferror(out) ? -EIO : 0;
}

/* Builds the table and prints; 0 or -errno. */
static int show(FILE *out, const struct top_input *input, const struct options *options, int type)
{
	struct top_tags *tags = top_tags_new(input);
	struct top_table table = { .total = 0 };
	struct top_json what = { .input = input,
		                 .tags = tags,
		                 .filter = options->filter,
		                 .table = &table,
		                 .by = options->by,
		                 .type = profile_type(input->profile, (size_t)type) };
	int err = tags ? 0 : -ENOMEM;

	if (!err)
		err = top_table_build(&table, input, tags, &options->filter, options->by, (size_t)type);
	if (!err && options->json) {
		what.limit = options->limit_given ? options->limit : 0;
		err = top_json_write(out, &what);
	} else if (!err) {
		err = print_text(out, &what, options->limit);
	}
	top_table_free(&table);
	top_tags_free(tags);
	return err;
}

int cmd_top(int argc, char **argv)
{
	struct options options = { .limit = DEFAULT_LIMIT };
	char message[MESSAGE_BYTES] = "";
	struct top_input input;
	int type, err;

	usage_parse(&parser, "stallprof top", argc, argv, 0, &options);
	if (top_input_load(&input, options.files, options.file_count, message, sizeof(message)))
		return say(message);
	type = top_pick_type(&input, options.type);
	if (type < 0) {
		list_types(input.profile, options.type ? options.type : "");
		top_input_release(&input);
		return 1;
	}
	err = show(stdout, &input, &options, type);
	if (err)
		say(err == -EIO ? "the output could not be written" : strerror(-err));
	top_input_release(&input);
	return err ? 1 : 0;
}

void top_print_summary(FILE *out, const struct profile *p, size_t n_top)
{
	const struct options options = { .by = TOP_BY_STACK, .limit = n_top };
	char message[MESSAGE_BYTES] = "";
	struct top_input input;
	int type, err;

	if (top_input_borrow(&input, p, message, sizeof(message))) {
		fprintf(out, "%s\n", message);
		return;
	}
	type = top_pick_type(&input, NULL);
	err = type < 0 ? type : show(out, &input, &options, type);
	if (err)
		fprintf(out, "the summary is incomplete: %s\n", strerror(-err));
	top_input_release(&input);
}
