/* Finds vmlinux and the kernel modules' debug files in the folders of the distributions. */

#include "symbolizer/kernel/kernel_files.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbolizer/elf/debug_file.h"
#include "symbolizer/elf/packed_file.h"
#include "symbolizer/base/growing_array.h"

#define MAX_MODULES 32768

struct module_path {
	char *path;
	size_t name_at, name_len; /* of "ext4" in ".../ext4.ko.xz" */
};

struct kernel_files {
	char *debug_dir, *fetched_dir, *root, *release;
	size_t max_bytes;
	char found[PATH_MAX]; /* the last one opened */
	struct module_path *modules;
	size_t n_modules, max_modules;
	bool searched;
};

struct kernel_files *kernel_files_new(const struct kernel_files_opts *opts)
{
	struct kernel_files *k = calloc(1, sizeof(*k));

	if (!k)
		return NULL;
	k->debug_dir = strdup(opts->debug_dir);
	k->fetched_dir = strdup(opts->fetched_dir ? opts->fetched_dir : "");
	k->root = strdup(opts->root);
	k->release = strdup(opts->release);
	k->max_bytes = opts->max_bytes;
	if (!k->debug_dir || !k->fetched_dir || !k->root || !k->release) {
		kernel_files_free(k);
		return NULL;
	}
	return k;
}

void kernel_files_free(struct kernel_files *k)
{
	size_t i;

	if (!k)
		return;
	for (i = 0; i < k->n_modules; i++)
		free(k->modules[i].path);
	free(k->modules);
	free(k->debug_dir);
	free(k->fetched_dir);
	free(k->root);
	free(k->release);
	free(k);
}

/* Keeps the file when it is the wanted one and has debug information. */
static int check(struct elf_file *f, const char *build_id)
{
	char have[BUILD_ID_HEX_SIZE];

	debug_file_build_id(f, have);
	if (*build_id && strcmp(have, build_id) != 0)
		return -ENOENT;
	return elf_file_has_section(f, ".debug_info") ? 0 : -ENOENT;
}

/* These folders are root's, so the file is mapped, not read, unless it is on another machine. */
static int open_path(struct kernel_files *k, const char *path, const char *build_id, struct elf_file **out)
{
	int err = packed_file_open(path, k->max_bytes, out);

	if (err)
		return err;
	err = check(*out, build_id);
	if (err) {
		elf_file_close(*out);
		*out = NULL;
	}
	return err;
}

__attribute__((format(printf, 5, 6))) static int try_path(struct kernel_files *k, const char *build_id,
                                                          struct elf_file **out, const char **path,
                                                          const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(k->found, sizeof(k->found), format, args);
	va_end(args);
	if (n < 0 || (size_t)n >= sizeof(k->found))
		return -ENAMETOOLONG;
	*path = k->found;
	return open_path(k, k->found, build_id, out);
}

static int open_by_build_id(struct kernel_files *k, const char *build_id, struct elf_file **out,
                            const char **path)
{
	const char *dirs[] = { k->debug_dir, k->fetched_dir };
	size_t i;

	for (i = 0; i < 2 && strlen(build_id) > 2; i++)
		if (*dirs[i] && !try_path(k, build_id, out, path, "%s/.build-id/%.2s/%s.debug", dirs[i],
		                          build_id, build_id + 2))
			return 0;
	return -ENOENT;
}

int kernel_files_vmlinux(struct kernel_files *k, const char *build_id, struct elf_file **out,
                         const char **path)
{
	static const char *const in_debug_dir[] = { "boot/vmlinux-%s",
		                                    "lib/modules/%s/vmlinux",
		                                    "vmlinux-%s",
		                                    "boot/vmlinux-%s.debug",
		                                    "lib/modules/%s/vmlinux.debug",
		                                    "usr/lib/modules/%s/vmlinux",
		                                    "usr/lib/modules/%s/vmlinux.debug" };
	static const char *const in_root[] = { "boot/vmlinux-%s", "lib/modules/%s/vmlinux",
		                               "lib/modules/%s/build/vmlinux", "usr/lib/modules/%s/vmlinux" };
	char relative[PATH_MAX];
	size_t i;

	if (!open_by_build_id(k, build_id, out, path))
		return 0;
	for (i = 0; i < sizeof(in_debug_dir) / sizeof(*in_debug_dir); i++) {
		snprintf(relative, sizeof(relative), in_debug_dir[i], k->release);
		if (!try_path(k, build_id, out, path, "%s/%s", k->debug_dir, relative))
			return 0;
	}
	for (i = 0; i < sizeof(in_root) / sizeof(*in_root); i++) {
		snprintf(relative, sizeof(relative), in_root[i], k->release);
		if (!try_path(k, build_id, out, path, "%s/%s", k->root, relative))
			return 0;
	}
	return -ENOENT;
}

/* --- modules ---------------------------------------------------------------------------------------- */

/* The length of "ext4" in "ext4.ko.xz"; 0: not a module's file. */
static size_t module_name_length(const char *file)
{
	static const char *const endings[] = { ".ko", ".ko.xz", ".ko.zst", ".ko.gz", ".ko.debug" };
	size_t len = strlen(file), i, ending;

	for (i = 0; i < sizeof(endings) / sizeof(*endings); i++) {
		ending = strlen(endings[i]);
		if (len > ending && strcmp(file + len - ending, endings[i]) == 0)
			return len - ending;
	}
	return 0;
}

static void add_module(struct kernel_files *k, const char *path, const char *file)
{
	size_t len = module_name_length(file);
	struct module_path *m;

	if (!len || growing_array_reserve((void **)&k->modules, k->n_modules + 1, &k->max_modules, sizeof(*m),
	                                  MAX_MODULES))
		return;
	m = &k->modules[k->n_modules];
	*m = (struct module_path){ .path = strdup(path),
		                   .name_at = strlen(path) - strlen(file),
		                   .name_len = len };
	k->n_modules += m->path != NULL;
}

static void search_dir(struct kernel_files *k, const char *top, const char *modules)
{
	char path[PATH_MAX];
	char *const tops[] = { path, NULL };
	FTSENT *entry;
	FTS *walk;

	if ((size_t)snprintf(path, sizeof(path), "%s/%s/%s", top, modules, k->release) >= sizeof(path))
		return;
	walk = fts_open(tops, FTS_PHYSICAL | FTS_NOCHDIR | FTS_NOSTAT, NULL);
	while (walk && (entry = fts_read(walk)))
		if (entry->fts_info == FTS_F || entry->fts_info == FTS_NSOK)
			add_module(k, entry->fts_path, entry->fts_name);
	if (walk)
		fts_close(walk);
}

/* File names may have '-' where the kernel says '_'. */
static bool same_name(const struct module_path *m, const char *name)
{
	const char *file = m->path + m->name_at;
	size_t i;

	if (strlen(name) != m->name_len)
		return false;
	for (i = 0; i < m->name_len; i++)
		if (file[i] != name[i] && !(file[i] == '-' && name[i] == '_') &&
		    !(file[i] == '_' && name[i] == '-'))
			return false;
	return true;
}

int kernel_files_module(struct kernel_files *k, const char *name, const char *build_id, struct elf_file **out,
                        const char **path)
{
	size_t i;

	if (!open_by_build_id(k, build_id, out, path))
		return 0;
	if (!k->searched) {
		k->searched = true;
		search_dir(k, k->debug_dir, "lib/modules");
		search_dir(k, k->debug_dir, "usr/lib/modules"); /* of SUSE */
		search_dir(k, k->root, "lib/modules");
	}
	for (i = 0; i < k->n_modules; i++)
		if (same_name(&k->modules[i], name) &&
		    !try_path(k, build_id, out, path, "%s", k->modules[i].path))
			return 0;
	return -ENOENT;
}
