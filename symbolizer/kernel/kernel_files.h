/*
 * Finds the kernel's own files: vmlinux with debug information, modules, their debug files. Knows the layouts of
 * Debian, Ubuntu and Fedora, and of kernels people build themselves.
 */
#ifndef SYMBOLIZER_KERNEL_FILES_H
#define SYMBOLIZER_KERNEL_FILES_H

#include "symbolizer/elf/elf_file.h"

struct kernel_files;

struct kernel_files_opts {
	const char *debug_dir;   /* /usr/lib/debug */
	const char *fetched_dir; /* another one, of .build-id alone; NULL: none */
	const char *root;        /* put before /boot and /lib/modules; "" */
	const char *release;     /* as uname -r has it */
	size_t max_bytes;
};

/* Copies the strings. NULL: no memory. */
struct kernel_files *kernel_files_new(const struct kernel_files_opts *opts);
void kernel_files_free(struct kernel_files *k);

/*
 * Opens the vmlinux of that build-id ("": any of the release) that has .debug_info. *path is where it was
 * found, and lives as long as `k`. -ENOENT: none.
 */
int kernel_files_vmlinux(struct kernel_files *k, const char *build_id, struct elf_file **out,
                         const char **path);

/*
 * Opens the file of module `name` (with '_' or '-') that has .debug_info, decompressed where it ends in .gz, .xz
 * or .zst. The folders are searched once. -ENOENT: none.
 */
int kernel_files_module(struct kernel_files *k, const char *name, const char *build_id, struct elf_file **out,
                        const char **path);

#endif
