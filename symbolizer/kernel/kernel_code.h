/*
 * Code that the kernel makes as it runs and tells of: BPF programs, their trampolines, those of ftrace and kprobes. /proc/kallsyms
 * lists it, too, but is a copy of the time when it was read. A zeroed `struct kernel_code` is empty.
 */
#ifndef SYMBOLIZER_KERNEL_CODE_H
#define SYMBOLIZER_KERNEL_CODE_H

#include <stddef.h>
#include <stdint.h>

#define KERNEL_CODE_MAX 65536 /* more than that are not taken, and are named as kallsyms says */

struct kernel_code {
	struct kernel_code_range *ranges; /* by address; none overlap */
	size_t n, room;
};

/* The code at `start` is there from now on. What it overlaps has gone. `name` is copied. 0 or -errno: without memory, or for code that
 * cannot be. */
int kernel_code_add(struct kernel_code *code, uint64_t start, uint64_t bytes, const char *name);

/* It has gone. Nothing is done if it is not known. */
void kernel_code_remove(struct kernel_code *code, uint64_t start, uint64_t bytes);

/* The name of the code that `address` lies in, which lives until the next change; NULL: none. */
const char *kernel_code_find(const struct kernel_code *code, uint64_t address);

void kernel_code_free(struct kernel_code *code);
size_t kernel_code_memory(const struct kernel_code *code);

#endif
