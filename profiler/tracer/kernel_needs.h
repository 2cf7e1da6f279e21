/* The kernel's BPF features that the programs cannot do without. */
#ifndef STALLPROF_PROFILER_KERNEL_NEEDS_H
#define STALLPROF_PROFILER_KERNEL_NEEDS_H

#include <stdbool.h>
#include <stddef.h>

struct btf;

/*
 * Looks for them in the kernel's BTF, which needs no privilege and finds what a distribution has ported back, and
 * writes a list of what is not there to `missing`, each with the version of Linux that first had it; "" when all is
 * there. 0, -ENOENT when the kernel has no BTF, or -EPROTO when it cannot be read. Takes some 10 ms.
 */
int kernel_needs_missing(char *missing, size_t size);

/* Whether the kernel whose types these are has the helper of that name, for example BPF_FUNC_loop. */
bool kernel_has_helper(const struct btf *btf, const char *enumerator);

#endif
