/* The subcommand `tag`: tags its own process, then executes the command. */

#include "profiler/cli/cmd_tag.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profiler/cli/usage.h"
#include "profiler/process/given_environment.h"
#include "stalltag/process_tag.h"

struct tag_options {
	const char *name;
	uint64_t id;
	char **command;
};

static const struct argp_option options[] = {
	{ "name", 'n', "NAME", 0, "the tag, path-like: checkpoint_write/run42", 0 },
	{ "id", 'i', "N", 0, "its exact id, 64 bits (0: none)", 0 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct tag_options *o = state->input;
	char *end;

	switch (key) {
	case 'n':
		o->name = arg;
		return 0;
	case 'i':
		errno = 0;
		o->id = strtoull(arg, &end, 0);
		if (errno || *end || !*arg || *arg == '-')
			usage_error(state, "--id %s: a number from 0 to 18446744073709551615 is wanted", arg);
		return 0;
	case ARGP_KEY_ARGS:
		o->command = state->argv + state->next;
		return 0;
	case ARGP_KEY_END:
		if (!o->name || !o->name[0])
			usage_error(state, "--name is missing: the tag to run the command under");
		if (!o->command)
			usage_error(state, "the command is missing: stallprof tag --name NAME -- COMMAND");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "-- COMMAND [ARG...]",
	.doc = "Runs COMMAND, and all that it starts, under a tag. Nothing in it is changed; a profiler that "
	       "runs, or is started later, sees the tag. Tags that the command pushes itself refine it.",
};

int cmd_tag(int argc, char **argv)
{
	struct tag_options o = { 0 };
	int err;

	usage_parse(&argp, "stallprof tag", argc, argv, ARGP_IN_ORDER, &o);
	err = stalltag_process_set(o.id, o.name);
	if (err) {
		fprintf(stderr,
		        "stallprof tag: cannot set the tag: %s: a name has 1 to %d bytes and no control "
		        "characters\n",
		        strerror(-err), STALLTAG_NAME_MAX);
		return 125;
	}
	execvpe(o.command[0], o.command, given_environment());
	fprintf(stderr, "stallprof tag: cannot run %s: %s\n", o.command[0], strerror(errno));
	return errno == ENOENT ? 127 : 126;
}
