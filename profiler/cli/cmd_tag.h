/* stallprof tag: see --help. argv[0] is the command's name. Does not return when the command could be run. */
#ifndef STALLPROF_PROFILER_CMD_TAG_H
#define STALLPROF_PROFILER_CMD_TAG_H

int cmd_tag(int argc, char **argv);

#endif
