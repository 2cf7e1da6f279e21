/* The program: a table of subcommands. */
#include <stdio.h>
#include <string.h>

#include "profiler/cli/cmd_agent.h"
#include "profiler/cli/cmd_diff.h"
#include "profiler/cli/cmd_doctor.h"
#include "profiler/cli/cmd_flame.h"
#include "profiler/cli/cmd_record.h"
#include "profiler/cli/cmd_report.h"
#include "profiler/cli/cmd_symbolize.h"
#include "profiler/cli/cmd_tag.h"
#include "profiler/cli/cmd_top.h"
#include "profiler/cli/usage.h"
#include "profiler/format/version.h"
#include "profiler/process/given_environment.h"

struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *help;
};

static const struct command commands[] = {
	{ "record", cmd_record, "profile a command, a process or the host" },
	{ "agent", cmd_agent, "the service: push and keep a profile each window, until SIGTERM" },
	{ "tag", cmd_tag, "run an unmodified command under a tag" },
	{ "top", cmd_top, "look at profiles: ledger, stacks, what was not seen" },
	{ "flame", cmd_flame,
	  "a flame graph by stall and tag: a page for the browser, SVG or folded stacks" },
	{ "diff", cmd_diff, "compare profiles: what differs beyond noise, and rules for CI" },
	{ "report", cmd_report, "what got slower, why, and what to do about it" },
	{ "symbolize", cmd_symbolize, "function, file and line of addresses" },
	{ "doctor", cmd_doctor, "what this host can show, what it cannot, and what to install" },
};

#define N_COMMANDS (sizeof(commands) / sizeof(commands[0]))

static void print_usage(FILE *out)
{
	size_t i;

	fprintf(out, "Usage: stallprof COMMAND [OPTION...]\n"
	             "       stallprof help COMMAND | --version\n"
	             "Profiles what tagged threads wait for.\n\n");
	for (i = 0; i < N_COMMANDS; i++)
		fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].help);
}

static const struct command *find_command(const char *name)
{
	size_t i;

	for (i = 0; i < N_COMMANDS; i++) {
		if (!strcmp(commands[i].name, name))
			return &commands[i];
	}
	fprintf(stderr, "stallprof: no command \"%s\": see stallprof --help\n", name);
	return NULL;
}

static int help(const char *name)
{
	char command[32], option[] = "--help", *argv[] = { command, option, NULL };
	const struct command *found;

	if (!name) {
		print_usage(stdout);
		return 0;
	}
	found = find_command(name);
	if (!found)
		return USAGE_STATUS;
	snprintf(command, sizeof(command), "%s", name);
	return found->run(2, argv);
}

int main(int argc, char **argv)
{
	const struct command *found;

	given_environment_begin(argc, argv);
	if (argc < 2) {
		print_usage(stderr);
		return USAGE_STATUS;
	}
	if (!strcmp(argv[1], "help"))
		return help(argv[2]);
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "-?"))
		return help(NULL);
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		printf("stallprof %s\n", STALLPROF_VERSION);
		return 0;
	}
	found = find_command(argv[1]);
	return found ? found->run(argc - 1, argv + 1) : USAGE_STATUS;
}
