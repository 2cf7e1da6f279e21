/* The program: a table of subcommands. */
#include <stdio.h>
#include <string.h>

#include "profiler/cmd_agent.h"
#include "profiler/cmd_doctor.h"
#include "profiler/cmd_record.h"
#include "profiler/cmd_symbolize.h"
#include "profiler/cmd_tag.h"
#include "profiler/cmd_top.h"

struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *help;
};

static const struct command commands[] = {
	{ "record", cmd_record, "profile a command, a process or the host to local files" },
	{ "agent", cmd_agent, "the service: push and keep a profile each window, until SIGTERM" },
	{ "tag", cmd_tag, "run an unmodified command under a tag" },
	{ "top", cmd_top, "look at profiles: ledger, stacks, what was not seen" },
	{ "symbolize", cmd_symbolize, "function, file and line of addresses" },
	{ "doctor", cmd_doctor, "what this host can show, what it cannot, and what to install" },
};

#define N_COMMANDS (sizeof(commands) / sizeof(commands[0]))

static void print_usage(FILE *out)
{
	size_t i;

	fprintf(out, "Usage: stallprof COMMAND [OPTION...]\n"
	             "Profiles what tagged threads wait for. See stallprof COMMAND --help.\n\n");
	for (i = 0; i < N_COMMANDS; i++)
		fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].help);
}

int main(int argc, char **argv)
{
	size_t i;

	if (argc < 2) {
		print_usage(stderr);
		return 64;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "help") || !strcmp(argv[1], "-h")) {
		print_usage(stdout);
		return 0;
	}
	for (i = 0; i < N_COMMANDS; i++) {
		if (!strcmp(argv[1], commands[i].name))
			return commands[i].run(argc - 1, argv + 1);
	}
	fprintf(stderr, "stallprof: no command \"%s\": see stallprof --help\n", argv[1]);
	return 64;
}
