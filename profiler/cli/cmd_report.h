/* `stallprof report`: the root-cause narrative of recordings. */
#ifndef STALLPROF_PROFILER_CMD_REPORT_H
#define STALLPROF_PROFILER_CMD_REPORT_H

/* 0; 1: something went wrong, which was said. */
int cmd_report(int argc, char **argv);

#endif
