/* An executable mapping of a process, as the kernel reports it. */
#ifndef STALLPROF_PROFILER_EXEC_MAPPING_H
#define STALLPROF_PROFILER_EXEC_MAPPING_H

#include <stdint.h>

struct exec_mapping {
	uint64_t start, end, pgoff;
	uint64_t inode; /* 0: anonymous */
	uint32_t dev_major, dev_minor;
	const char *path; /* as the process sees it; "" for anonymous memory, "[vdso]" */
};

#endif
