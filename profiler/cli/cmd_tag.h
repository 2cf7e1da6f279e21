/* stallprof tag: see --help. argv[0] is the command's name. Returns only if the command could not be run, with the
 * exit status. */
#ifndef STALLPROF_PROFILER_CMD_TAG_H
#define STALLPROF_PROFILER_CMD_TAG_H

int cmd_tag(int argc, char **argv);

#endif
