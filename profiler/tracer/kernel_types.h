/*
 * The types of the kernel and of its modules: which tracepoints and functions they have, and what of them BPF objects ask for. Some 10 MB,
 * needed only until the programs are loaded.
 */
#ifndef STALLPROF_PROFILER_KERNEL_TYPES_H
#define STALLPROF_PROFILER_KERNEL_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct btf;
struct btf_type;
struct kernel_types;

/* The kernel, and more modules than hosts have. */
#define KERNEL_TYPES_SOURCES 513

struct kernel_type {
	const struct btf *btf; /* NULL: none */
	uint32_t id;
	uint32_t source; /* 0: the kernel, else a module */
	uint32_t index;  /* among the source's own */
};

/* NULL with errno: ENOENT without BTF, or ENOMEM. A module whose BTF cannot be read has no hooks. */
struct kernel_types *kernel_types_load(void);
void kernel_types_free(struct kernel_types *types);

/* The kernel's own, without modules; valid until kernel_types_free(). */
const struct btf *kernel_types_btf(const struct kernel_types *types);

/* How many sources there are, and types in one. */
size_t kernel_types_sources(const struct kernel_types *types);
uint32_t kernel_types_count(const struct kernel_types *types, size_t source);

/* The type that is called `id` in a source, which may be a module that speaks of a type of the kernel. */
struct kernel_type kernel_types_at(const struct kernel_types *types, size_t source, uint32_t id);

/* Types that are found by name: functions, typedefs, structs, unions and enums. */
bool kernel_types_has_chain(const struct btf_type *type);

/* The next such type of that name, `len` bytes, behind *found; all zeros: the first. The kernel's come before the modules'. */
bool kernel_types_next(const struct kernel_types *types, const char *name, size_t len,
                       struct kernel_type *found);

/* Whether there is a tracepoint of that name, with at least `args` arguments if it is not a module's. Says where it was found. */
bool kernel_types_tracepoint(const struct kernel_types *types, const char *name, unsigned int args,
                             bool *in_module);

/*
 * Whether there is a function of that name that can be hooked. For one of the kernel a program is loaded for it; as not every kernel lets its
 * functions be hooked, that is tried until one is, and with `this_one` for this very function, which another tracer may hold. It is not tried
 * for each, as taking a hook off again waits for RCU, some 80 ms on Debian's kernels. Says where it was found.
 */
bool kernel_types_function(struct kernel_types *types, const char *name, bool this_one, bool *in_module);

#endif
