/* Whether this host and this user can run the BPF side at all, said in words. */
#ifndef STALLPROF_PROFILER_HOST_CHECK_H
#define STALLPROF_PROFILER_HOST_CHECK_H

#include <stdbool.h>
#include <stddef.h>

struct host_facts {
	bool privileged;      /* CAP_SYS_ADMIN, or CAP_BPF and CAP_PERFMON */
	bool can_read_others; /* CAP_SYS_PTRACE: the memory and maps of other users' processes */
	bool can_uprobe;      /* CAP_SYS_ADMIN: the tag library's probes */
	bool sees_host_pids;  /* is in the host's PID namespace, whose numbers the kernel's hooks give */
	bool has_btf;
	bool has_bpf; /* the kernel takes tracing programs from us */
	char release[128];

	/* By host_facts_read_symbols(). */
	bool sees_kallsyms; /* kernel symbols have addresses */
	bool has_vmlinux_dwarf;
	char debug_advice[256]; /* what to do when it has not */
	bool knows_throttle;    /* the kernel has the worker that sends throttled requests on, by name */
};

void host_facts_read(struct host_facts *facts);

/* What takes longer, some 50 ms: after the other one. */
void host_facts_read_symbols(struct host_facts *facts);

/* 0, or -EPERM/-ENOTSUP with one line that says what is missing and what to do. */
int host_check(char *err, size_t err_len);

#endif
