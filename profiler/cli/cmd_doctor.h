/* stallprof doctor: see --help. argv[0] is the command's name. Returns the exit status. */
#ifndef STALLPROF_PROFILER_CMD_DOCTOR_H
#define STALLPROF_PROFILER_CMD_DOCTOR_H

int cmd_doctor(int argc, char **argv);

#endif
