/*
 * What this process may do of what the profiler would, by its capabilities. They count where BPF asks for them: in the
 * host's user namespace.
 *
 *     privileges_read(&privileges);
 *     if (!privileges_have(&privileges, PRIVILEGE_UPROBES))
 *             privileges_lack(&privileges, PRIVILEGE_UPROBES, line, sizeof(line));     one line: what is missing, and its cost
 */
#ifndef STALLPROF_PROFILER_PRIVILEGES_H
#define STALLPROF_PROFILER_PRIVILEGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum privilege {
	PRIVILEGE_LOAD,           /* programs and maps: nothing goes without */
	PRIVILEGE_PERF_EVENTS,    /* clocks, and the feed of executable mappings */
	PRIVILEGE_UPROBES,        /* the tag library's probes */
	PRIVILEGE_MODULE_HOOKS,   /* tracepoints of modules */
	PRIVILEGE_PROCESSES,      /* those of other users, and those that may more than we */
	PRIVILEGE_FILES,          /* that others may not read */
	PRIVILEGE_DELETED_FILES,  /* that run still */
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

/* By what name doctor shows it. */
const char *privilege_name(enum privilege privilege);

/* What is missing for it, and what goes without it, in one line; "" when nothing is missing. */
void privileges_lack(const struct privileges *privileges, enum privilege wanted, char *line, size_t size);

#endif
