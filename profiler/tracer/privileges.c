/* Reads our capabilities and sysctls, and says what each missing privilege costs. */

#include "profiler/tracer/privileges.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#endif
#ifndef CAP_BPF
#define CAP_BPF 39
#endif
#ifndef CAP_CHECKPOINT_RESTORE
#define CAP_CHECKPOINT_RESTORE 40
#endif

/* Either capability of a pair will do (0: none); both pairs are needed. The first of a pair is the lesser one,
 * which is the one we ask for. */
#define CHOICES 2

struct need {
	const char *name; /* in doctor's report */
	int one_of[CHOICES][2];
	const char *cost; /* what is lost without it, or what to do */
};

/* tests/e2e/test_capabilities takes each away in turn. */
static const struct need needs[PRIVILEGE_MAX] = {
	[PRIVILEGE_LOAD] = { "privilege",
	                     { { CAP_BPF, CAP_SYS_ADMIN }, { CAP_PERFMON, CAP_SYS_ADMIN } },
	                     "run as root" },
	[PRIVILEGE_PERF_EVENTS] = { "perf_events",
	                            { { CAP_PERFMON, CAP_SYS_ADMIN } },
	                            "without it on-CPU time inside stalls is not sampled, and programs that "
	                            "start "
	                            "while it records may show neither tags nor symbols" },
	[PRIVILEGE_UPROBES] = { "pushed_tags",
	                        { { CAP_SYS_ADMIN, 0 } },
	                        "without it the tag library's probes cannot be attached, and what tag a "
	                        "thread "
	                        "holds is seen only when it is switched off its CPU" },
	[PRIVILEGE_MODULE_HOOKS] = { "module_hooks",
	                             { { CAP_SYS_ADMIN, 0 } },
	                             "without it tracepoints of kernel modules cannot be attached" },
	[PRIVILEGE_PROCESSES] = { "other_processes",
	                          { { CAP_SYS_PTRACE, 0 } },
	                          "without it processes of other users, or with more capabilities, show "
	                          "neither "
	                          "the tags they push nor all of their symbols" },
	[PRIVILEGE_FILES] = { "private_files",
	                      { { CAP_DAC_READ_SEARCH, CAP_DAC_OVERRIDE } },
	                      "without it programs and debug files that only others may read have no "
	                      "symbols" },
	[PRIVILEGE_DELETED_FILES] = { "deleted_files",
	                              { { CAP_CHECKPOINT_RESTORE, CAP_SYS_ADMIN } },
	                              "without it programs and libraries that were deleted or replaced while "
	                              "they "
	                              "run have no symbols" },
	[PRIVILEGE_KERNEL_SYMBOLS] = { "kernel_symbols",
	                               { { CAP_SYSLOG, 0 } },
	                               "without it the kernel hides its addresses, and its frames have no "
	                               "names" },
};

static const struct {
	int number;
	const char *name;
} names[] = {
	{ CAP_BPF, "CAP_BPF" },
	{ CAP_PERFMON, "CAP_PERFMON" },
	{ CAP_SYS_ADMIN, "CAP_SYS_ADMIN" },
	{ CAP_SYS_PTRACE, "CAP_SYS_PTRACE" },
	{ CAP_DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH" },
	{ CAP_CHECKPOINT_RESTORE, "CAP_CHECKPOINT_RESTORE" },
	{ CAP_SYSLOG, "CAP_SYSLOG" },
};

static uint64_t effective_capabilities(void)
{
	char line[256];
	uint64_t mask = 0;
	FILE *file = fopen("/proc/self/status", "re");

	while (file && fgets(line, sizeof(line), file)) {
		if (!strncmp(line, "CapEff:", 7))
			mask = strtoull(line + 7, NULL, 16);
	}
	if (file)
		fclose(file);
	return mask;
}

static int sysctl_number(const char *path)
{
	FILE *file = fopen(path, "re");
	int value = -1;

	if (!file)
		return -1;
	if (fscanf(file, "%d", &value) != 1)
		value = -1;
	fclose(file);
	return value;
}

/* PROC_USER_INIT_INO of linux/proc_ns.h: the namespace that is made with the kernel. */
#define FIRST_USER_NAMESPACE 0xEFFFFFFDU

/* Which capability this asks for is up to the distribution's kernel and its sysctl, so it is tried. */
static bool opens_perf_events(void)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
		                        .size = sizeof(attr),
		                        .config = PERF_COUNT_SW_CPU_CLOCK };
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return errno == ENODEV; /* that CPU is offline */
	close(fd);
	return true;
}

void privileges_read(struct privileges *privileges)
{
	struct stat st;

	privileges->capabilities = effective_capabilities();
	/* A kernel without user namespaces has only the one. */
	privileges->host_user_namespace =
	        stat("/proc/self/ns/user", &st) != 0 || st.st_ino == FIRST_USER_NAMESPACE;
	privileges->perf_events = opens_perf_events();
	privileges->kptr_restrict = sysctl_number("/proc/sys/kernel/kptr_restrict");
	privileges->perf_event_paranoid = sysctl_number("/proc/sys/kernel/perf_event_paranoid");
}

static bool has(const struct privileges *privileges, int capability)
{
	return privileges->host_user_namespace && privileges->capabilities >> capability & 1;
}

static bool has_one_of(const struct privileges *privileges, const int pair[2])
{
	return !pair[0] || has(privileges, pair[0]) || (pair[1] && has(privileges, pair[1]));
}

/* kallsyms_show_value() of the kernel: some settings show addresses to everybody, others to nobody. */
static bool sees_kernel_symbols(const struct privileges *privileges)
{
	if (privileges->kptr_restrict > 1)
		return false;
	if (privileges->kptr_restrict == 0 && privileges->perf_event_paranoid >= -1 &&
	    privileges->perf_event_paranoid <= 1)
		return true;
	return has_one_of(privileges, needs[PRIVILEGE_KERNEL_SYMBOLS].one_of[0]);
}

bool privileges_have(const struct privileges *privileges, enum privilege wanted)
{
	if (wanted == PRIVILEGE_KERNEL_SYMBOLS)
		return sees_kernel_symbols(privileges);
	if (wanted == PRIVILEGE_PERF_EVENTS)
		return privileges->perf_events;
	return has_one_of(privileges, needs[wanted].one_of[0]) &&
	       has_one_of(privileges, needs[wanted].one_of[1]);
}

const char *privilege_name(enum privilege privilege)
{
	return needs[privilege].name;
}

static const char *capability_name(int capability)
{
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (names[i].number == capability)
			return names[i].name;
	}
	return "a capability";
}

void privileges_lack(const struct privileges *privileges, enum privilege wanted, char *line, size_t size)
{
	const struct need *need = &needs[wanted];
	bool first = !has_one_of(privileges, need->one_of[0]),
	     second = !has_one_of(privileges, need->one_of[1]);

	line[0] = 0;
	if (privileges_have(privileges, wanted))
		return;
	if (wanted == PRIVILEGE_KERNEL_SYMBOLS && privileges->kptr_restrict > 1)
		snprintf(line, size, "sysctl kernel.kptr_restrict is %d: %s; set it to 1",
		         privileges->kptr_restrict,
		         "the kernel hides its addresses from everybody, and its frames have no names");
	else if (wanted == PRIVILEGE_PERF_EVENTS && !first)
		snprintf(line, size, "%s (sysctl kernel.perf_event_paranoid is %d): %s",
		         has(privileges, CAP_SYS_ADMIN)
		                 ? "perf_event_open() is refused"
		                 : "CAP_SYS_ADMIN is missing, which perf_event_open() asks for here",
		         privileges->perf_event_paranoid, need->cost);
	else if (!privileges->host_user_namespace && wanted == PRIVILEGE_LOAD)
		snprintf(line, size,
		         "this is a user namespace of its own (unshare -r, a rootless container), whose root "
		         "has no "
		         "capabilities of the host; run in the host's, as root");
	else
		snprintf(line, size, "%s%s%s %s missing: %s",
		         first ? capability_name(need->one_of[0][0]) : "", first && second ? " and " : "",
		         second ? capability_name(need->one_of[1][0]) : "", first && second ? "are" : "is",
		         need->cost);
}
