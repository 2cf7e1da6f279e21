#include "profiler/host_check.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/capability.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "profiler/debug_package.h"
#include "symbolizer/kernel_files.h"

/* bpf/block.bpf.c knows by it that a request was held by blk-throttle. */
#define THROTTLE_WORK "blk_throtl_dispatch_work_fn"

#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#endif
#ifndef CAP_BPF
#define CAP_BPF 39
#endif

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

/* With kptr_restrict the addresses read as zeros; the names are always there. */
static void read_kallsyms(struct host_facts *facts)
{
	FILE *file = fopen("/proc/kallsyms", "re");
	char line[512];
	int i;

	for (i = 0; file && fgets(line, sizeof(line), file); i++) {
		if (i < 100 && strtoull(line, NULL, 16))
			facts->sees_kallsyms = true;
		if (strstr(line, " " THROTTLE_WORK "\n"))
			facts->knows_throttle = true;
	}
	if (file)
		fclose(file);
}

static bool has_vmlinux(const char *release)
{
	struct kernel_files_opts opts = {
		.debug_dir = "/usr/lib/debug", .root = "", .release = release, .max_bytes = (size_t)512 << 20
	};
	struct kernel_files *files = kernel_files_new(&opts);
	struct elf_file *f = NULL;
	const char *path;
	bool found = files && !kernel_files_vmlinux(files, "", &f, &path);

	elf_file_close(f);
	kernel_files_free(files);
	return found;
}

/* PROC_PID_INIT_INO of linux/proc_ns.h: the namespace that is made with the kernel. */
#define FIRST_PID_NAMESPACE 0xEFFFFFFCU

static bool in_first_pid_namespace(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) == 0 && st.st_ino == FIRST_PID_NAMESPACE;
}

void host_facts_read(struct host_facts *facts)
{
	uint64_t caps = effective_capabilities();
	bool admin = caps >> CAP_SYS_ADMIN & 1;
	struct utsname name;

	memset(facts, 0, sizeof(*facts));
	facts->privileged = admin || (caps >> CAP_BPF & 1 && caps >> CAP_PERFMON & 1);
	facts->can_read_others = caps >> CAP_SYS_PTRACE & 1;
	facts->can_uprobe = admin;
	facts->sees_host_pids = in_first_pid_namespace();
	facts->has_btf = access("/sys/kernel/btf/vmlinux", R_OK) == 0;
	facts->has_bpf =
	        facts->privileged && libbpf_probe_bpf_prog_type(BPF_PROG_TYPE_RAW_TRACEPOINT, NULL) == 1;
	if (uname(&name))
		return;
	snprintf(facts->release, sizeof(facts->release), "%s", name.release);
}

void host_facts_read_symbols(struct host_facts *facts)
{
	read_kallsyms(facts);
	facts->has_vmlinux_dwarf = has_vmlinux(facts->release);
	debug_package_advice("", facts->release, facts->debug_advice, sizeof(facts->debug_advice));
}

int host_check(char *err, size_t err_len)
{
	struct host_facts facts;

	host_facts_read(&facts);
	if (!facts.privileged) {
		snprintf(err, err_len,
		         "not allowed to load BPF programs: run as root, or with CAP_BPF, CAP_PERFMON and "
		         "CAP_SYS_PTRACE (and CAP_SYS_ADMIN to see tags that programs push)");
		return -EPERM;
	}
	if (!facts.sees_host_pids) {
		snprintf(err, err_len,
		         "this is a PID namespace of its own, whose process numbers are not the kernel's: "
		         "run in the "
		         "host's (docker run --pid=host, hostPID: true)");
		return -ENOTSUP;
	}
	if (!facts.has_btf) {
		snprintf(err, err_len,
		         "this kernel (%s) has no BTF at /sys/kernel/btf/vmlinux: boot one built with "
		         "CONFIG_DEBUG_INFO_BTF=y, as all of Debian's are",
		         facts.release);
		return -ENOTSUP;
	}
	if (!facts.has_bpf) {
		snprintf(
		        err, err_len,
		        "this kernel (%s) refuses BPF tracing programs: it needs CONFIG_BPF_SYSCALL=y, "
		        "CONFIG_BPF_EVENTS=y and Linux 5.18 or later, and kernel lockdown must not forbid it",
		        facts.release);
		return -ENOTSUP;
	}
	return 0;
}
