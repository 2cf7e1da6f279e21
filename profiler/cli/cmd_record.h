/* stallprof record: see --help. argv[0] is the command's name. Returns the exit status: the recorded command's, 64
 * for wrong options, 1 when the recording failed. */
#ifndef STALLPROF_PROFILER_CMD_RECORD_H
#define STALLPROF_PROFILER_CMD_RECORD_H

int cmd_record(int argc, char **argv);

#endif
