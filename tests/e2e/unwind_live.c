/*
 * unwind_live PID [COPY_BYTES]: stops a process, copies its registers and stack, lets it go, and prints what the
 * symbolizer makes of the copy, innermost frame first:
 *
 *	END complete|truncated|no_cfi|bad	N	microseconds to unwind and resolve, second time
 *	FRAME <tab> function <tab> file or ?? <tab> line <tab> inlined|real <tab> ELF file <tab> ELF address
 */
#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>

#include "symbolizer/symbolizer.h"

#define RED_ZONE 128
#define MAX_PCS  4096

static pid_t target;

static int read_target(void *context, uint64_t address, void *buffer, size_t len)
{
	struct iovec to = { buffer, len }, from = { (void *)(uintptr_t)address, len };

	(void)context;
	return process_vm_readv(target, &to, 1, &from, 1, 0) == (ssize_t)len ? 0 : -1;
}

static void copy_registers(struct sym_regs *to, const struct user_regs_struct *from)
{
	*to = (struct sym_regs){ .ip = from->rip,
		                 .sp = from->rsp,
		                 .bp = from->rbp,
		                 .bx = from->rbx,
		                 .r12 = from->r12,
		                 .r13 = from->r13,
		                 .r14 = from->r14,
		                 .r15 = from->r15,
		                 .ax = from->rax,
		                 .cx = from->rcx,
		                 .dx = from->rdx,
		                 .si = from->rsi,
		                 .di = from->rdi,
		                 .r8 = from->r8,
		                 .r9 = from->r9,
		                 .r10 = from->r10,
		                 .r11 = from->r11 };
}

/* As much as can be read of `max` bytes. */
static size_t copy_stack(uint64_t start, char *to, size_t max)
{
	size_t len = 0, step;

	while (len < max) {
		step = 4096 - (start + len) % 4096;
		step = step > max - len ? max - len : step;
		if (read_target(NULL, start + len, to + len, step))
			break;
		len += step;
	}
	return len;
}

static void stop_and_copy(struct sym_stack *stack, size_t max)
{
	struct user_regs_struct regs;
	char *copy = malloc(max);

	if (!copy || ptrace(PTRACE_SEIZE, target, 0, 0) || ptrace(PTRACE_INTERRUPT, target, 0, 0) ||
	    waitpid(target, NULL, __WALL) != target || ptrace(PTRACE_GETREGS, target, 0, &regs))
		err(1, "stopping %d", target);
	copy_registers(&stack->regs, &regs);
	stack->copy_start = regs.rsp - RED_ZONE;
	stack->copy = copy;
	stack->copy_len = copy_stack(stack->copy_start, copy, max);
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void print_frames(const struct sym_result *result)
{
	size_t i;

	for (i = 0; i < result->n_frames; i++)
		printf("FRAME\t%s\t%s\t%" PRIu32 "\t%s\t%s\t%" PRIx64 "\n", result->frames[i].function,
		       result->frames[i].file ? result->frames[i].file : "??", result->frames[i].line,
		       result->frames[i].inlined ? "inlined" : "real",
		       result->module ? result->module->path : "??", result->address);
}

static size_t walk(struct sym_process *p, const struct sym_stack *stack, bool print, enum sym_unwind_end *end)
{
	uint64_t pcs[MAX_PCS];
	struct sym_result result;
	size_t n, i;

	if (symbolizer_unwind(p, stack, pcs, MAX_PCS, &n, end))
		errx(1, "symbolizer_unwind failed");
	for (i = 0; i < n; i++) {
		symbolizer_user(p, pcs[i], stack->is_caller[i], &result);
		if (print)
			print_frames(&result);
	}
	return n;
}

int main(int argc, char **argv)
{
	static const char *const ends[] = { "complete", "truncated", "no_cfi", "bad" };
	static bool is_caller[MAX_PCS];
	struct symbolizer *s = symbolizer_new(NULL);
	struct sym_stack stack = { .is_caller = is_caller, .read = argc > 2 ? NULL : read_target };
	enum sym_unwind_end end;
	struct sym_process *p;
	uint64_t began, cold;
	size_t n;

	if (argc < 2 || !s)
		errx(2, "usage: unwind_live PID [COPY_BYTES]");
	target = (pid_t)strtol(argv[1], NULL, 10);
	p = symbolizer_process(s, (uint32_t)target, 0);
	stop_and_copy(&stack, argc > 2 ? strtoul(argv[2], NULL, 10) : 65536);
	if (symbolizer_process_refresh(p))
		errx(1, "no maps");
	began = now_ns();
	n = walk(p, &stack, true, &end);
	cold = now_ns() - began;
	began = now_ns();
	walk(p, &stack, false, &end);
	printf("END\t%s\t%zu\t%.1f\t%.1f\n", ends[end], n, (double)cold / 1e3,
	       (double)(now_ns() - began) / 1e3);
	ptrace(PTRACE_DETACH, target, 0, 0);
	free((void *)stack.copy);
	symbolizer_free(s);
	return 0;
}
