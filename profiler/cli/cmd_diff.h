/* The subcommand `diff`: compares two profiles, or two parts of one. */
#ifndef STALLPROF_PROFILER_CMD_DIFF_H
#define STALLPROF_PROFILER_CMD_DIFF_H

/* Returns the exit status: 0 fine, 1 a rule of --fail-on failed, 2 there is nothing sound to compare. */
int cmd_diff(int argc, char **argv);

#endif
