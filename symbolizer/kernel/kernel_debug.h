/*
 * Files, lines and inlined frames of kernel code, from vmlinux and the modules' debug files.
 *
 * vmlinux is linked for one address and runs at another (KASLR). By how much comes from the KERNELOFFSET of
 * PROC/kcore's VMCOREINFO note, else from where _stext is and where it was linked to be. A module is placed at
 * the addresses that SYS/module/NAME/sections has for its sections, so its addresses are those it runs at.
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

/* What a lookup needs to know of where the pc is. */
struct kernel_place {
	const char *module;   /* "" for the core kernel */
	const char *build_id; /* "": not known */
	uint64_t start;       /* of the module; the run-time address of _stext for the core kernel */
};

/* False: no debug information, or none for that pc. */
bool kernel_debug_resolve(struct kernel_debug *d, const struct kernel_place *place, uint64_t pc,
                          struct object_answer *out);

/*
 * How far the core kernel runs from where it was linked to be. False: it can't be told, for want of both
 * VMCOREINFO and vmlinux.
 */
bool kernel_debug_offset(struct kernel_debug *d, const struct kernel_place *core, uint64_t *offset);

/* KERNELOFFSET in the text of a VMCOREINFO note. */
bool kernel_debug_parse_vmcoreinfo(const char *text, size_t len, uint64_t *offset);

/* object_save() for all of them. True: some index was written. */
bool kernel_debug_save(struct kernel_debug *d, bool last);

/* Files that were not to be found are looked for once more when they are needed next. */
void kernel_debug_look_again(struct kernel_debug *d);

/* Whether vmlinux was looked for in vain, and of how many modules the file was. */
bool kernel_debug_missing(const struct kernel_debug *d, size_t *modules);

size_t kernel_debug_memory(const struct kernel_debug *d);

#endif
