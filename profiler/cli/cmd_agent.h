/* stallprof agent: see --help. argv[0] is the command's name. Returns the exit status. */
#ifndef STALLPROF_PROFILER_CMD_AGENT_H
#define STALLPROF_PROFILER_CMD_AGENT_H

int cmd_agent(int argc, char **argv);

#endif
