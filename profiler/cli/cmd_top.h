/* `stallprof top FILE...`: looks at recorded profiles. */
#ifndef STALLPROF_PROFILER_CMD_TOP_H
#define STALLPROF_PROFILER_CMD_TOP_H

/* argv[0] is the subcommand's name. The exit status: 0; 1 when a file could not be read or the output not
 * written; 64 for wrong usage (which argp says, and then exits itself). */
int cmd_top(int argc, char **argv);

#endif
