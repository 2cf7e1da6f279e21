/*
 * The subcommand `flame`: profiles as a flame graph, in a page, an SVG picture or folded stacks.
 */
#ifndef STALLPROF_PROFILER_CMD_FLAME_H
#define STALLPROF_PROFILER_CMD_FLAME_H

/* argv[0] is the subcommand's name. Returns the exit status. */
int cmd_flame(int argc, char **argv);

#endif
