/* unwind/record PID FOLDER: records the registers, stack and mappings of a stopped process, for recording.h. */
#include <err.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#define RED_ZONE  128
#define MAX_BYTES ((size_t)8 << 20)

static FILE *create(const char *dir, const char *name)
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	file = fopen(path, "w");
	if (!file)
		err(1, "%s", path);
	return file;
}

static void write_maps(const char *dir, int pid)
{
	char path[64], buffer[65536];
	FILE *from, *to = create(dir, "maps");
	size_t len;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	from = fopen(path, "r");
	if (!from)
		err(1, "%s", path);
	while ((len = fread(buffer, 1, sizeof(buffer), from)))
		fwrite(buffer, 1, len, to);
	fclose(from);
	fclose(to);
}

static void write_regs(const char *dir, const struct user_regs_struct *r)
{
	const uint64_t regs[] = { r->rax, r->rdx, r->rcx, r->rbx, r->rsi, r->rdi, r->rbp, r->rsp, r->r8,
		                  r->r9,  r->r10, r->r11, r->r12, r->r13, r->r14, r->r15, r->rip };
	FILE *to = create(dir, "regs");
	size_t i;

	for (i = 0; i < sizeof(regs) / sizeof(*regs); i++)
		fprintf(to, "%" PRIx64 "\n", regs[i]);
	fclose(to);
}

/* Page by page, to the end of the stack's mapping. */
static void write_stack(const char *dir, int pid, uint64_t start)
{
	FILE *to = create(dir, "stack");
	size_t done = 0, step;
	char page[4096];

	fwrite(&start, 8, 1, to);
	for (; done < MAX_BYTES; done += step) {
		struct iovec local = { page, 0 }, remote = { (void *)(uintptr_t)(start + done), 0 };

		step = 4096 - (start + done) % 4096;
		local.iov_len = remote.iov_len = step;
		if (process_vm_readv(pid, &local, 1, &remote, 1, 0) != (ssize_t)step)
			break;
		fwrite(page, 1, step, to);
	}
	fclose(to);
}

int main(int argc, char **argv)
{
	struct user_regs_struct regs;
	int pid = argc == 3 ? (int)strtol(argv[1], NULL, 10) : 0;

	if (!pid)
		errx(2, "usage: record PID FOLDER");
	if (ptrace(PTRACE_SEIZE, pid, 0, 0) || ptrace(PTRACE_INTERRUPT, pid, 0, 0) ||
	    waitpid(pid, NULL, __WALL) != pid || ptrace(PTRACE_GETREGS, pid, 0, &regs))
		err(1, "stopping %d", pid);
	write_maps(argv[2], pid);
	write_regs(argv[2], &regs);
	write_stack(argv[2], pid, regs.rsp - RED_ZONE);
	return 0;
}
