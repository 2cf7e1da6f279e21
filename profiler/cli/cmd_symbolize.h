/* stallprof symbolize: see --help. argv[0] is the command's name. Returns the exit status. */
#ifndef STALLPROF_PROFILER_CMD_SYMBOLIZE_H
#define STALLPROF_PROFILER_CMD_SYMBOLIZE_H

int cmd_symbolize(int argc, char **argv);

#endif
