/* Checks kernel, BTF, PID namespace, privileges and kernel symbols, and says what is missing. */

#include "profiler/cli/host_check.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "profiler/symbols/debug_package.h"
#include "profiler/tracer/kernel_needs.h"
#include "symbolizer/kernel/kernel_files.h"

/* With kptr_restrict the addresses read as zeros. */
static void read_kallsyms(struct host_facts *facts)
{
	FILE *file = fopen("/proc/kallsyms", "re");
	char line[512];
	int i;

	for (i = 0; i < 100 && file && fgets(line, sizeof(line), file); i++)
		if (strtoull(line, NULL, 16))
			facts->sees_kallsyms = true;
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

static bool lockdown_hides_the_kernel(void)
{
	FILE *file = fopen("/sys/kernel/security/lockdown", "re");
	char line[128] = "";
	bool hides;

	if (!file)
		return false;
	hides = fgets(line, sizeof(line), file) && strstr(line, "[confidentiality]");
	fclose(file);
	return hides;
}

/* Offers the kernel a program that does nothing. */
static void try_program(struct host_facts *facts)
{
	static const struct bpf_insn return_0[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	int program = bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, NULL, "GPL", return_0, 2, NULL);
	int error = errno;

	if (program >= 0)
		close(program);
	if (lockdown_hides_the_kernel())
		snprintf(facts->refused, sizeof(facts->refused),
		         "kernel lockdown is on (confidentiality), which forbids BPF programs to read the "
		         "kernel");
	else if (program < 0)
		snprintf(facts->refused, sizeof(facts->refused),
		         "the kernel takes no BPF tracing program: %s%s", strerror(error),
		         error == EPERM
		                 ? ", though the capabilities are there: a seccomp filter or a security "
		                   "module forbids it"
		                 : "; it needs CONFIG_BPF_SYSCALL=y and CONFIG_BPF_EVENTS=y");
}

void host_facts_read(struct host_facts *facts)
{
	struct utsname name;

	memset(facts, 0, sizeof(*facts));
	privileges_read(&facts->privileges);
	facts->sees_host_pids = in_first_pid_namespace();
	facts->has_btf = kernel_needs_missing(facts->too_old, sizeof(facts->too_old)) == 0;
	if (privileges_have(&facts->privileges, PRIVILEGE_LOAD))
		try_program(facts);
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

int host_check(const struct host_facts *facts, char *err, size_t err_len)
{
	char lack[256];

	if (!facts->has_btf) {
		snprintf(err, err_len,
		         "this kernel (%s) has no BTF at /sys/kernel/btf/vmlinux: boot one built with "
		         "CONFIG_DEBUG_INFO_BTF=y, as all of Debian's are",
		         facts->release);
		return -ENOTSUP;
	}
	if (*facts->too_old) {
		snprintf(err, err_len, "this kernel (%s) is too old: it lacks %s", facts->release,
		         facts->too_old);
		return -ENOTSUP;
	}
	if (!privileges_have(&facts->privileges, PRIVILEGE_LOAD)) {
		privileges_lack(&facts->privileges, PRIVILEGE_LOAD, lack, sizeof(lack));
		snprintf(err, err_len, "not allowed to load BPF programs: %s", lack);
		return -EPERM;
	}
	if (!facts->sees_host_pids) {
		snprintf(err, err_len,
		         "this is a PID namespace of its own, whose process numbers are not the kernel's: "
		         "run in the host's (docker run --pid=host, hostPID: true)");
		return -ENOTSUP;
	}
	if (*facts->refused) {
		snprintf(err, err_len, "%s", facts->refused);
		return -ENOTSUP;
	}
	return 0;
}

int host_check_and_warn(say_fn say, char *err, size_t err_len)
{
	static const enum privilege wanted[] = { PRIVILEGE_PERF_EVENTS,   PRIVILEGE_UPROBES,
		                                 PRIVILEGE_PROCESSES,     PRIVILEGE_FILES,
		                                 PRIVILEGE_DELETED_FILES, PRIVILEGE_KERNEL_SYMBOLS };
	struct host_facts facts;
	char line[256];
	size_t i;
	int result;

	host_facts_read(&facts);
	result = host_check(&facts, err, err_len);
	for (i = 0; !result && i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		privileges_lack(&facts.privileges, wanted[i], line, sizeof(line));
		if (*line)
			say(line);
	}
	return result;
}
