/* `stallprof top FILE...`: looks at recorded profiles. */
#ifndef STALLPROF_PROFILER_CMD_TOP_H
#define STALLPROF_PROFILER_CMD_TOP_H

/* argv[0] is the subcommand's name. Returns the exit status: 0; 1 when a file could not be read or the output not
 * written. For wrong usage argp prints an error and exits with 64. */
int cmd_top(int argc, char **argv);

#endif
