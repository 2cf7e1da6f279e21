/* The records of a perf ring that we ask for, as the kernel writes them (perf_event_open(2)); behind each is its time. */
#ifndef STALLPROF_PROFILER_PERF_RECORDS_H
#define STALLPROF_PROFILER_PERF_RECORDS_H

#include <linux/perf_event.h>
#include <stdint.h>

struct mmap2_record {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t start, bytes, pgoff;
	uint32_t dev_major, dev_minor;
	uint64_t inode, generation;
	uint32_t protection, flags;
	char path[];
};

struct comm_record {
	struct perf_event_header header;
	uint32_t pid, tid;
	char name[];
};

struct task_record {
	struct perf_event_header header;
	uint32_t pid, ppid, tid, ptid;
};

struct ksymbol_record {
	struct perf_event_header header;
	uint64_t start;
	uint32_t bytes;
	uint16_t type, flags;
	char name[];
};

#endif
