/*
 * Files, lines and inlined frames of kernel code, from vmlinux and the modules' debug files.
 *
 * vmlinux is linked for one address and runs at another (KASLR). The difference is KERNELOFFSET in the VMCOREINFO
 * note of PROC/kcore, else that between _stext's run-time and linked addresses. A module's sections get the addresses
 * in SYS/module/NAME/sections, so its addresses are the run-time ones.
 */
#ifndef SYMBOLIZER_KERNEL_DEBUG_H
#define SYMBOLIZER_KERNEL_DEBUG_H

#include "symbolizer/kernel/kernel_files.h"
#include "symbolizer/object/object.h"

struct kernel_debug;

/* `env` must outlive it. NULL: no memory. Nothing is opened before it is needed. */
struct kernel_debug *kernel_debug_new(const struct object_environment *env,
                                      const struct kernel_files_opts *opts, const char *proc,
                                      const char *sys);
void kernel_debug_free(struct kernel_debug *d);

/* The module or core kernel that a pc is in. */
struct kernel_place {
	const char *module;   /* "" for the core kernel */
	const char *build_id; /* "": not known */
	uint64_t start;       /* of the module; the run-time address of _stext for the core kernel */
};

/* False: no debug information, or none for that pc. */
bool kernel_debug_resolve(struct kernel_debug *d, const struct kernel_place *place, uint64_t pc,
                          struct object_answer *out);

/*
 * *offset: the core kernel's run-time address less its linked one. False: not known, for want of both VMCOREINFO and
 * vmlinux.
 */
bool kernel_debug_offset(struct kernel_debug *d, const struct kernel_place *core, uint64_t *offset);

/* Parses KERNELOFFSET in the text of a VMCOREINFO note. False: it has none. */
bool kernel_debug_parse_vmcoreinfo(const char *text, size_t len, uint64_t *offset);

/* object_save() for all of them. True: some index was written. */
bool kernel_debug_save(struct kernel_debug *d, bool last);

/* Looks again for files that were missing, when they are needed next. */
void kernel_debug_look_again(struct kernel_debug *d);

/* Was vmlinux looked for and not found? *modules: how many modules' files were. */
bool kernel_debug_missing(const struct kernel_debug *d, size_t *modules);

size_t kernel_debug_memory(const struct kernel_debug *d);

#endif
