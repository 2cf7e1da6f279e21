/*
 * Of the kernel's types those that a BPF object asks for. libbpf walks through all of the kernel's for each name that the object has, which
 * takes longer than all else that it does.
 */
#ifndef STALLPROF_PROFILER_WANTED_TYPES_H
#define STALLPROF_PROFILER_WANTED_TYPES_H

struct btf;
struct kernel_types;

/*
 * Writes BTF to `fd`, which is an empty file: what `types` has by the names that `wanted`, an object's types, has, and all that these
 * are made of; a pointer leads nowhere. A type is looked for in modules when the kernel itself has none of that name, as libbpf does.
 * 0, -ENOMEM, or -errno of writing: -EFBIG if the file did not take all.
 */
int wanted_types_write(const struct kernel_types *types, const struct btf *wanted, int fd);

#endif
