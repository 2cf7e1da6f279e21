/* Resolves kernel addresses by the DWARF of vmlinux and modules, with KASLR taken off. */

#include "symbolizer/kernel/kernel_debug.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbolizer/elf/elf_relocate.h"
#include "symbolizer/elf/symtab.h"

#define MAX_MODULES    1024
#define MAX_VMCOREINFO 65536
#define KERNELOFFSET   "KERNELOFFSET="

/* One loaded module; NULL object: there is no debug information for it. */
struct module_debug {
	char *name;
	const char *build_id; /* interned */
	uint64_t start;
	struct object *object;
};

struct kernel_debug {
	const struct object_environment *env;
	struct kernel_files *files;
	char *proc, *sys;
	bool core_tried;
	struct object *core;
	uint64_t linked_stext; /* 0: not known */
	bool vmcoreinfo_tried, has_vmcoreinfo;
	uint64_t vmcoreinfo_offset;
	struct module_debug modules[MAX_MODULES];
	size_t n_modules;
};

struct kernel_debug *kernel_debug_new(const struct object_environment *env,
                                      const struct kernel_files_opts *opts, const char *proc, const char *sys)
{
	struct kernel_debug *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->env = env;
	d->files = kernel_files_new(opts);
	d->proc = strdup(proc);
	d->sys = strdup(sys);
	if (!d->files || !d->proc || !d->sys) {
		kernel_debug_free(d);
		return NULL;
	}
	return d;
}

void kernel_debug_free(struct kernel_debug *d)
{
	size_t i;

	if (!d)
		return;
	for (i = 0; i < d->n_modules; i++) {
		object_free(d->modules[i].object);
		free(d->modules[i].name);
	}
	object_free(d->core);
	kernel_files_free(d->files);
	free(d->proc);
	free(d->sys);
	free(d);
}

/* --- KASLR ------------------------------------------------------------------------------------------ */

bool kernel_debug_parse_vmcoreinfo(const char *text, size_t len, uint64_t *offset)
{
	const char *line = text, *end = text + len, *newline;
	char digits[32];
	size_t n;

	for (; line < end; line = newline + 1) {
		newline = memchr(line, '\n', (size_t)(end - line));
		newline = newline ? newline : end;
		n = strlen(KERNELOFFSET);
		if ((size_t)(newline - line) <= n || memcmp(line, KERNELOFFSET, n) != 0)
			continue;
		if ((size_t)(newline - line) - n >= sizeof(digits))
			return false;
		memcpy(digits, line + n, (size_t)(newline - line) - n);
		digits[(size_t)(newline - line) - n] = 0;
		*offset = strtoull(digits, NULL, 16);
		return true;
	}
	return false;
}

static size_t align4(size_t n)
{
	return (n + 3) & ~(size_t)3;
}

/* Goes through a row of ELF notes for the one called VMCOREINFO. */
static bool find_vmcoreinfo(const uint8_t *notes, size_t len, uint64_t *offset)
{
	Elf64_Nhdr nhdr;
	size_t pos = 0, description;

	while (len - pos >= sizeof(nhdr)) {
		memcpy(&nhdr, notes + pos, sizeof(nhdr));
		pos += sizeof(nhdr);
		if (nhdr.n_namesz > len - pos || align4(nhdr.n_namesz) > len - pos)
			return false;
		description = pos + align4(nhdr.n_namesz);
		if (nhdr.n_descsz > len - description)
			return false;
		if (nhdr.n_namesz == 11 && memcmp(notes + pos, "VMCOREINFO", 11) == 0)
			return kernel_debug_parse_vmcoreinfo((const char *)notes + description, nhdr.n_descsz,
			                                     offset);
		if (align4(nhdr.n_descsz) > len - description)
			return false;
		pos = description + align4(nhdr.n_descsz);
	}
	return false;
}

static bool read_kcore(struct kernel_debug *d, uint64_t *offset)
{
	struct elf_file *kcore;
	uint64_t at, len;
	char path[PATH_MAX];
	uint8_t *notes;
	bool found = false;
	size_t next = 0;
	int fd;

	snprintf(path, sizeof(path), "%s/kcore", d->proc);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || elf_file_open(fd, false, d->env->max_bytes, &kcore))
		return false;
	while (!found && elf_file_notes(kcore, &next, &at, &len)) {
		notes = len <= MAX_VMCOREINFO ? malloc(len + 1) : NULL;
		if (notes && !elf_file_read(kcore, at, notes, len))
			found = find_vmcoreinfo(notes, len, offset);
		free(notes);
	}
	elf_file_close(kcore);
	return found;
}

/* --- the core kernel -------------------------------------------------------------------------------- */

static struct object *open_core(struct kernel_debug *d, const char *build_id)
{
	struct elf_file *f;
	const char *path;

	if (d->core_tried)
		return d->core;
	d->core_tried = true;
	if (kernel_files_vmlinux(d->files, build_id, &f, &path)) {
		object_report_missing(d->env, build_id);
		return NULL;
	}
	if (symtab_address(f, "_stext", &d->linked_stext))
		d->linked_stext = 0;
	d->core = object_new(d->env, f, "", path);
	if (d->core)
		d->env->stats->debug_files_opened++;
	return d->core;
}

bool kernel_debug_offset(struct kernel_debug *d, const struct kernel_place *core, uint64_t *offset)
{
	if (!d->vmcoreinfo_tried) {
		d->vmcoreinfo_tried = true;
		d->has_vmcoreinfo = read_kcore(d, &d->vmcoreinfo_offset);
	}
	*offset = d->vmcoreinfo_offset;
	if (d->has_vmcoreinfo)
		return true;
	if (!open_core(d, core->build_id) || !d->linked_stext || !core->start)
		return false;
	*offset = core->start - d->linked_stext;
	return true;
}

/* --- modules ---------------------------------------------------------------------------------------- */

struct sections {
	const struct kernel_debug *debug;
	const char *module;
};

/* Content of SYS/module/NAME/sections/SECTION, "0xffffffffc0123000". */
static uint64_t section_address(const char *section, void *context)
{
	const struct sections *s = context;
	char path[PATH_MAX], text[64];
	ssize_t len;
	int fd;

	if (!*section || strchr(section, '/') ||
	    (size_t)snprintf(path, sizeof(path), "%s/module/%s/sections/%s", s->debug->sys, s->module,
	                     section) >= sizeof(path))
		return 0;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	len = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[len > 0 ? len : 0] = 0;
	return strtoull(text, NULL, 16);
}

static struct object *open_module(struct kernel_debug *d, const struct kernel_place *place)
{
	struct sections sections = { .debug = d, .module = place->module };
	struct elf_file *f;
	const char *path;
	struct object *o;

	if (!section_address(".text", &sections))
		return NULL;
	if (kernel_files_module(d->files, place->module, place->build_id, &f, &path)) {
		object_report_missing(d->env, place->build_id);
		return NULL;
	}
	/* Looking for .debug_info has loaded it, as if every section were at 0. */
	elf_file_release_all(f);
	if (elf_relocate_place(f, section_address, &sections)) {
		elf_file_close(f);
		return NULL;
	}
	o = object_new(d->env, f, "", path);
	if (o)
		d->env->stats->debug_files_opened++;
	return o;
}

static struct object *module_object(struct kernel_debug *d, const struct kernel_place *place)
{
	struct module_debug *m;
	char *name;
	size_t i;

	for (i = 0; i < d->n_modules; i++)
		if (d->modules[i].start == place->start && strcmp(d->modules[i].name, place->module) == 0 &&
		    strcmp(d->modules[i].build_id, place->build_id) == 0)
			return d->modules[i].object;
	name = d->n_modules < MAX_MODULES ? strdup(place->module) : NULL;
	if (!name)
		return NULL;
	m = &d->modules[d->n_modules++];
	*m = (struct module_debug){ .name = name,
		                    .build_id = place->build_id,
		                    .start = place->start,
		                    .object = open_module(d, place) };
	return m->object;
}

/* Tables over a half of what is allowed in all go, and are made again when needed. */
static void bound_memory(struct kernel_debug *d, struct object *except)
{
	size_t i, limit = d->env->max_bytes / 2;

	for (i = 0; i < d->n_modules && kernel_debug_memory(d) > limit; i++) {
		if (!d->modules[i].object || d->modules[i].object == except)
			continue;
		object_unload(d->modules[i].object);
		d->env->stats->cache_evictions++;
	}
	if (d->core && d->core != except && kernel_debug_memory(d) > limit) {
		object_unload(d->core);
		d->env->stats->cache_evictions++;
	}
}

bool kernel_debug_resolve(struct kernel_debug *d, const struct kernel_place *place, uint64_t pc,
                          struct object_answer *out)
{
	uint64_t address = pc, offset;
	struct object *o;

	if (*place->module) {
		o = module_object(d, place);
	} else {
		o = open_core(d, place->build_id);
		if (!o || !kernel_debug_offset(d, place, &offset))
			return false;
		address = pc - offset;
	}
	if (!o || !object_resolve(o, address, out))
		return false;
	bound_memory(d, o);
	return out->source == SYM_SOURCE_DWARF;
}

bool kernel_debug_save(struct kernel_debug *d, bool last)
{
	bool wrote = d->core && object_save(d->core, last);
	size_t i;

	for (i = 0; i < d->n_modules; i++)
		wrote |= d->modules[i].object && object_save(d->modules[i].object, last);
	return wrote;
}

void kernel_debug_look_again(struct kernel_debug *d)
{
	size_t from, to = 0;

	d->core_tried = d->core != NULL;
	for (from = 0; from < d->n_modules; from++) {
		if (d->modules[from].object)
			d->modules[to++] = d->modules[from];
		else
			free(d->modules[from].name);
	}
	d->n_modules = to;
}

bool kernel_debug_missing(const struct kernel_debug *d, size_t *modules)
{
	size_t i;

	*modules = 0;
	for (i = 0; i < d->n_modules; i++)
		*modules += !d->modules[i].object;
	return d->core_tried && !d->core;
}

size_t kernel_debug_memory(const struct kernel_debug *d)
{
	size_t sum = d->core ? object_memory(d->core) : 0, i;

	for (i = 0; i < d->n_modules; i++)
		sum += d->modules[i].object ? object_memory(d->modules[i].object) : 0;
	return sum;
}
