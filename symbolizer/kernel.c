#include "symbolizer/kernel.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "symbolizer/debug_file.h"
#include "symbolizer/kallsyms.h"

#define REREAD_NS   10000000000ll
#define MAX_MODULES 4096
#define CORE_NAME   "[kernel.kallsyms]_stext"

struct kernel {
	struct intern *strings;
	char *proc, *sys;
	struct kallsyms *symbols;
	int64_t read_ns; /* 0: never tried */
	struct sym_module core;
	struct sym_module *modules[MAX_MODULES];
	size_t n_modules;
};

struct kernel *kernel_new(struct intern *strings, const char *proc, const char *sys)
{
	struct kernel *k = calloc(1, sizeof(*k));

	if (!k)
		return NULL;
	k->strings = strings;
	k->proc = strdup(proc);
	k->sys = strdup(sys);
	k->core = (struct sym_module){ .path = CORE_NAME, .build_id = "", .is_kernel = true };
	if (!k->proc || !k->sys) {
		kernel_free(k);
		return NULL;
	}
	return k;
}

void kernel_free(struct kernel *k)
{
	size_t i;

	if (!k)
		return;
	for (i = 0; i < k->n_modules; i++)
		free(k->modules[i]);
	kallsyms_free(k->symbols);
	free(k->proc);
	free(k->sys);
	free(k);
}

/* `path` is a file of ELF notes, such as /sys/kernel/notes. */
static const char *read_build_id(struct kernel *k, const char *path)
{
	uint8_t notes[4096];
	char hex[BUILD_ID_HEX_SIZE] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len;

	if (fd < 0)
		return "";
	len = read(fd, notes, sizeof(notes));
	close(fd);
	if (len > 0)
		debug_file_build_id_in_notes(notes, (size_t)len, hex);
	return intern_string(k->strings, hex);
}

static void describe_core(struct kernel *k)
{
	char path[PATH_MAX];
	uint64_t low = 0, high = 0;

	snprintf(path, sizeof(path), "%s/kernel/notes", k->sys);
	k->core.build_id = read_build_id(k, path);
	k->core.start = kallsyms_address(k->symbols, "_stext");
	k->core.end = kallsyms_address(k->symbols, "_etext");
	if (kallsyms_module_range(k->symbols, "", &low, &high)) {
		k->core.start = k->core.start ? k->core.start : low;
		k->core.end = high > k->core.end ? high : k->core.end;
	}
	k->core.offset = k->core.start;
	k->core.has_functions = true;
}

static void read_symbols(struct kernel *k)
{
	struct kallsyms *fresh;
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/kallsyms", k->proc);
	if (kallsyms_read(path, &fresh))
		return;
	kallsyms_free(k->symbols);
	k->symbols = fresh;
	describe_core(k);
}

/* False: it has been read too recently to read it again. */
static bool reread(struct kernel *k)
{
	struct timespec ts;
	int64_t now;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	now = ts.tv_sec * 1000000000ll + ts.tv_nsec + 1;
	if (k->read_ns && now - k->read_ns < REREAD_NS)
		return false;
	k->read_ns = now;
	read_symbols(k);
	return true;
}

/* "ext4" -> the module "[ext4]", as it is now; one that was loaded again elsewhere is another. */
static const struct sym_module *module_of(struct kernel *k, const char *name, uint64_t address)
{
	char path[PATH_MAX], bracketed[256];
	struct sym_module *m;
	uint64_t start, end;
	size_t i;

	if (!*name)
		return &k->core;
	snprintf(bracketed, sizeof(bracketed), "[%s]", name);
	for (i = 0; i < k->n_modules; i++)
		if (address >= k->modules[i]->start && address < k->modules[i]->end &&
		    strcmp(k->modules[i]->path, bracketed) == 0)
			return k->modules[i];
	if (!kallsyms_module_range(k->symbols, name, &start, &end))
		return &k->core;
	m = k->n_modules < MAX_MODULES ? calloc(1, sizeof(*m)) : NULL;
	if (!m)
		return &k->core;
	snprintf(path, sizeof(path), "%s/module/%s/notes/.note.gnu.build-id", k->sys, name);
	*m = (struct sym_module){ .path = intern_string(k->strings, bracketed),
		                  .build_id = read_build_id(k, path),
		                  .start = start,
		                  .end = end,
		                  .has_functions = true,
		                  .is_kernel = true };
	k->modules[k->n_modules++] = m;
	return m;
}

bool kernel_find(struct kernel *k, uint64_t address, struct kernel_hit *out)
{
	struct kallsyms_hit hit;
	bool found;

	if (!k->symbols)
		reread(k);
	found = k->symbols && kallsyms_find(k->symbols, address, &hit);
	if (!found && k->symbols && reread(k))
		found = kallsyms_find(k->symbols, address, &hit);
	*out = (struct kernel_hit){ .module = &k->core };
	if (!found)
		return false;
	out->function = intern_string(k->strings, hit.name);
	out->module = module_of(k, hit.module, address);
	return true;
}

size_t kernel_symbols(const struct kernel *k)
{
	return k->symbols ? kallsyms_count(k->symbols) : 0;
}

size_t kernel_memory(const struct kernel *k)
{
	return k->symbols ? kallsyms_memory(k->symbols) : 0;
}
