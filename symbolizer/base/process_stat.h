/* The fields of /proc/PID/stat that we use. */
#ifndef SYMBOLIZER_PROCESS_STAT_H
#define SYMBOLIZER_PROCESS_STAT_H

#include <stdint.h>

struct process_stat {
	char state;
	uint64_t parent;
	uint64_t threads;
	uint64_t start_ticks; /* since boot, 100 a second: identifies a process together with its pid */
	uint64_t code_address;
};

/* Parses the line, whatever the process is called. -EINVAL: it has fewer fields. */
int process_stat_parse(const char *line, struct process_stat *out);

/* `proc`: where /proc is. 0, or -ESRCH: no such process, or it may not be looked at. */
int process_stat_read(const char *proc, uint32_t pid, struct process_stat *out);

#endif
