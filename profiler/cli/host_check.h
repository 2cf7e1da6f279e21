/* Checks whether this host and this user can run the BPF programs at all, and says what is missing. */
#ifndef STALLPROF_PROFILER_HOST_CHECK_H
#define STALLPROF_PROFILER_HOST_CHECK_H

#include <stdbool.h>
#include <stddef.h>

#include "profiler/format/say.h"
#include "profiler/tracer/privileges.h"

struct host_facts {
	struct privileges privileges;
	bool sees_host_pids; /* is in the host's PID namespace, whose numbers the kernel's hooks give */
	bool has_btf;
	char too_old[512]; /* what the kernel's BPF lacks; "": nothing, or it has no BTF and cannot tell */
	char refused
	        [160]; /* why no BPF program is taken from us, though we have the privilege; "": they are */
	char release[128];

	/* Filled in by host_facts_read_symbols(). */
	bool sees_kallsyms; /* kernel symbols have addresses */
	bool has_vmlinux_dwarf;
	char debug_advice[256]; /* what to do when it has not */
};

void host_facts_read(struct host_facts *facts);

/* Reads the rest. Call it after host_facts_read(). */
void host_facts_read_symbols(struct host_facts *facts);

/* 0, or -EPERM/-ENOTSUP with one line that says what is missing and what to do. */
int host_check(const struct host_facts *facts, char *err, size_t err_len);

/* For commands that record: reads the facts, then does the same. Passes to `say` a line for each missing privilege
 * that recording can do without, and what is lost without it. */
int host_check_and_warn(say_fn say, char *err, size_t err_len);

#endif
