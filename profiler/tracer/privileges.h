/*
 * Which of the privileges that the profiler uses this process has, by its capabilities. Only those in the host's
 * user namespace count, as BPF checks them there.
 *
 *     privileges_read(&privileges);
 *     if (!privileges_have(&privileges, PRIVILEGE_UPROBES))
 *             privileges_lack(&privileges, PRIVILEGE_UPROBES, line, sizeof(line));
 */
#ifndef STALLPROF_PROFILER_PRIVILEGES_H
#define STALLPROF_PROFILER_PRIVILEGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum privilege {
	PRIVILEGE_LOAD,           /* BPF programs and maps: nothing works without them */
	PRIVILEGE_PERF_EVENTS,    /* clocks, and the feed of executable mappings */
	PRIVILEGE_UPROBES,        /* the tag library's probes */
	PRIVILEGE_MODULE_HOOKS,   /* tracepoints of modules */
	PRIVILEGE_PROCESSES,      /* of other users, and those with more privileges than we have */
	PRIVILEGE_FILES,          /* that only their owners may read */
	PRIVILEGE_DELETED_FILES,  /* that still run */
	PRIVILEGE_KERNEL_SYMBOLS, /* with their addresses */
	PRIVILEGE_MAX
};

struct privileges {
	uint64_t capabilities; /* in force */
	bool host_user_namespace;
	bool perf_events;                       /* perf_event_open() was tried and took a clock of a CPU */
	int kptr_restrict, perf_event_paranoid; /* sysctls; -1: they cannot be read */
};

void privileges_read(struct privileges *privileges);

bool privileges_have(const struct privileges *privileges, enum privilege wanted);

/* The name by which doctor shows it. */
const char *privilege_name(enum privilege privilege);

/* Says in one line what is missing for the privilege, and what is lost without it; "" when nothing is missing. */
void privileges_lack(const struct privileges *privileges, enum privilege wanted, char *line, size_t size);

#endif
