/* The running kernel: its symbols, and what pprof wants to know of it. */
#ifndef SYMBOLIZER_KERNEL_H
#define SYMBOLIZER_KERNEL_H

#include "symbolizer/intern.h"
#include "symbolizer/symbolizer.h"

struct kernel;

struct kernel_hit {
	const char *function; /* interned */
	const struct sym_module *module;
};

/* `proc` and `sys` are where those file systems are. Nothing is read before the first lookup. */
struct kernel *kernel_new(struct intern *strings, const char *proc, const char *sys);
void kernel_free(struct kernel *k);

/*
 * False: the address has no name; then out->module is the core kernel's. Modules and BPF programs come and
 * go, so an address without a name makes kallsyms be read again, at most once in ten seconds.
 */
bool kernel_find(struct kernel *k, uint64_t address, struct kernel_hit *out);

size_t kernel_symbols(const struct kernel *k);
size_t kernel_memory(const struct kernel *k);

#endif
