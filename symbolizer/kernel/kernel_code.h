/*
 * Code that the kernel makes as it runs and tells of: BPF programs and their trampolines. /proc/kallsyms lists it, too, but is a copy of the
 * time when it was read. A zeroed `struct kernel_code` is empty.
 *
 * Trampolines are told with the size of a page, and lie side by side in less: code ends where the next begins.
 */
#ifndef SYMBOLIZER_KERNEL_CODE_H
#define SYMBOLIZER_KERNEL_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KERNEL_CODE_MAX 65536 /* more than that are not taken, and are named as kallsyms says */

struct kernel_code {
	struct kernel_code_range *ranges; /* by address; none overlap */
	size_t n, room;
};

struct kernel_code_hit {
	const char *name; /* lives until the next change */
	uint64_t start;
	bool is_rounded; /* its size is a page's: it may end before */
};

/* The code at `start` is there from now on. `name` is copied. 0 or -errno: without memory, or for code that cannot be. */
int kernel_code_add(struct kernel_code *code, uint64_t start, uint64_t bytes, const char *name);

/* What began at `start` has gone. Nothing is done if it is not known. */
void kernel_code_remove(struct kernel_code *code, uint64_t start);

/* The code that `address` lies in. */
bool kernel_code_find(const struct kernel_code *code, uint64_t address, struct kernel_code_hit *hit);

/* Forgets all. */
void kernel_code_free(struct kernel_code *code);
size_t kernel_code_memory(const struct kernel_code *code);

#endif
