/* The running kernel: its symbols, and what pprof wants to know of it. */
#ifndef SYMBOLIZER_KERNEL_H
#define SYMBOLIZER_KERNEL_H

#include "symbolizer/kernel/kernel_debug.h"

struct kernel;

/* An answer; `frames` live until the next call. */
struct kernel_hit {
	const struct sym_module *module;
	uint64_t address; /* as it was linked; the pc itself when that can't be told */
	const struct sym_frame *frames;
	size_t n_frames;        /* 0: the address has no name */
	enum sym_source source; /* DWARF or KALLSYMS */
};

struct kernel_opts {
	const char *proc, *sys; /* where those file systems are */
	struct kernel_files_opts files;
};

/* Nothing is read before the first lookup, or kernel_prepare(). `env` must outlive it. */
struct kernel *kernel_new(const struct object_environment *env, const struct kernel_opts *opts);
void kernel_free(struct kernel *k);

/*
 * Always fills out->module. Modules and BPF programs come and go: kallsyms is read again when /proc/modules has changed, at
 * most once a second, and for an address without a name, at most once in ten.
 */
void kernel_find(struct kernel *k, uint64_t pc, struct kernel_hit *out);

/* As symbolizer_kernel_code() and symbolizer_kernel_code_lost(). */
void kernel_has_code(struct kernel *k, uint64_t start, uint64_t bytes, const char *name);
void kernel_code_lost(struct kernel *k);

/* Reads kallsyms, unless that was tried before. */
void kernel_prepare(struct kernel *k);

/* object_save() for vmlinux and the modules. True: some index was written. */
bool kernel_save(struct kernel *k, bool last);

/* Looks again for debug files that were missing, when they are needed next. */
void kernel_look_again(struct kernel *k);

/* What kernel frames can show; *modules_missing: how many modules' debug files were looked for and not found. */
enum sym_kernel kernel_state(const struct kernel *k, size_t *modules_missing);

/*
 * Is it a function of arch/x86/entry at which the processor enters an interrupt or exception? Judged by its name, as
 * the kernel passes on addresses without what its unwinder knows about the frames.
 */
bool kernel_is_entry(const char *function);

size_t kernel_symbols(const struct kernel *k);
size_t kernel_memory(const struct kernel *k);

/* How many names and build-ids of modules came out as INTERN_FULL. */
uint64_t kernel_names_refused(const struct kernel *k);

#endif
