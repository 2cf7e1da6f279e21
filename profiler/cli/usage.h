/*
 * Parses command lines with argp. An error is one line: what is wrong, and which --help explains more.
 *
 *     usage_parse(&argp, "stallprof record", argc, argv, ARGP_IN_ORDER, &options);
 *
 * An unknown option, or a fault that the parser reports by usage_error(), prints that line on stderr and exits with
 * USAGE_STATUS; --help prints the help and exits with 0. So usage_parse() returns only if the command line is
 * valid.
 */
#ifndef STALLPROF_PROFILER_USAGE_H
#define STALLPROF_PROFILER_USAGE_H

#include <argp.h>

#define USAGE_STATUS 64

/* `input` is what the parser finds in state->input. */
void usage_parse(const struct argp *argp, const char *command, int argc, char **argv, unsigned int flags,
                 void *input);

/* Use it in place of argp_error(), in a parser called by usage_parse(). */
void usage_error(const struct argp_state *state, const char *format, ...)
        __attribute__((format(printf, 2, 3), noreturn));

#endif
