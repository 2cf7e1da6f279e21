/* Runs argp so that a wrong option is one line on stderr and exit status 64. */

#include "profiler/cli/usage.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct argp_option help_option[] = {
	{ "help", '?', NULL, 0, "print this help", -1 },
	{ NULL, 'h', NULL, OPTION_HIDDEN, NULL, -1 },
	{ 0 },
};

/* Static, because argp has no place that both parsers can reach. */
static const char *command_name;

void usage_error(const struct argp_state *state, const char *format, ...)
{
	va_list args;

	(void)state;
	fprintf(stderr, "%s: ", command_name);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, ": see %s --help\n", command_name);
	exit(USAGE_STATUS);
}

/* Where a help ends at the right margin, argp begins another line, of blanks alone. */
static void print_without_blank_lines(const char *text)
{
	while (*text) {
		size_t blanks = strspn(text, " "), length = strcspn(text, "\n") + 1;

		if (!blanks || text[blanks] != '\n')
			fwrite(text, 1, length, stdout);
		text += length;
	}
}

static void print_help(const struct argp *outer)
{
	char name[64], *text = NULL;
	size_t size;
	FILE *memory = open_memstream(&text, &size);

	snprintf(name, sizeof(name), "%s", command_name);
	argp_help(outer, memory ? memory : stdout, ARGP_HELP_STD_HELP, name);
	if (memory && !fclose(memory) && size && text[size - 1] == '\n')
		print_without_blank_lines(text);
	free(text);
}

/* Whether the word is an option of the command's: then its value is missing. */
static bool is_option(const struct argp *argp, const char *word)
{
	for (const struct argp_option *option = argp->options;
	     option && (option->name || option->key || option->doc); option++)
		if ((option->name && !strncmp(word, "--", 2) && !strcmp(word + 2, option->name)) ||
		    (word[0] == '-' && word[1] == option->key && !word[2]))
			return true;
	return false;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	const char *word = state->argv[state->next > 1 ? state->next - 1 : 0];

	(void)arg;
	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = state->input;
		return 0;
	case '?':
	case 'h':
		print_help(state->root_argp);
		exit(0);
	case ARGP_KEY_ERROR:
		usage_error(state, "%s: %s", word,
		            is_option(state->root_argp->children[0].argp, word) ? "its value is missing"
		                                                                : "there is no such option");
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

void usage_parse(const struct argp *argp, const char *command, int argc, char **argv, unsigned int flags,
                 void *input)
{
	const struct argp_child children[] = { { .argp = argp }, { 0 } };
	const struct argp outer = {
		.options = help_option,
		.parser = parse,
		.children = children,
	};
	int err;

	command_name = command;
	err = argp_parse(&outer, argc, argv, flags | ARGP_NO_ERRS | ARGP_NO_HELP, NULL, input);
	if (!err)
		return;
	fprintf(stderr, "%s: %s: see %s --help\n", command, strerror(err), command);
	exit(USAGE_STATUS);
}
