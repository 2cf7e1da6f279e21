/* Resolves kernel addresses: by debug information where there is any, else by kallsyms. */

#include "symbolizer/kernel/kernel.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "symbolizer/elf/debug_file.h"
#include "symbolizer/kernel/kallsyms.h"
#include "symbolizer/kernel/kernel_code.h"
#include "symbolizer/base/clock.h"

#define REREAD_NS   10000000000ll
#define MODULES_NS  1000000000ll
#define MAX_MODULES 4096
#define CORE_NAME   "[kernel.kallsyms]_stext"
#define KERNEL_HALF 0x8000000000000000ull
#define MAX_STRINGS ((size_t)4 << 20) /* bytes of modules' names and build-ids */

struct kernel {
	struct intern *strings; /* what is in modules */
	char *proc, *sys;
	struct kallsyms *symbols;
	struct kernel_code code; /* that was told of, which is newer than `symbols` may be */
	struct kernel_debug *debug;
	int64_t read_ns; /* 0: never tried */
	int64_t modules_looked_ns;
	uint32_t modules_sum; /* of /proc/modules, when `symbols` were read */
	bool outdated;        /* what the kernel has made since is not known */
	bool asked;           /* for an address */
	bool described;
	uint64_t offset;              /* KASLR's, when it is known */
	struct sym_module core, told; /* the second: of `code` */
	struct sym_module *modules[MAX_MODULES];
	size_t n_modules;
	size_t n_gone; /* of them: their addresses may be others' */
	struct sym_frame single;
};

struct kernel *kernel_new(const struct object_environment *env, const struct kernel_opts *opts)
{
	struct kernel *k = calloc(1, sizeof(*k));

	if (!k)
		return NULL;
	k->strings = intern_new(MAX_STRINGS);
	k->proc = strdup(opts->proc);
	k->sys = strdup(opts->sys);
	k->core = (struct sym_module){ .path = CORE_NAME, .build_id = "", .is_kernel = true };
	k->told = (struct sym_module){ .path = "[bpf]",
		                       .build_id = "",
		                       .start = KERNEL_HALF,
		                       .end = UINT64_MAX,
		                       .address = KERNEL_HALF,
		                       .has_functions = true,
		                       .is_kernel = true };
	k->debug = kernel_debug_new(env, &opts->files, opts->proc, opts->sys);
	if (!k->strings || !k->proc || !k->sys || !k->debug) {
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
	kernel_debug_free(k->debug);
	kallsyms_free(k->symbols);
	kernel_code_free(&k->code);
	intern_free(k->strings);
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

/* What is the same as long as the kernel runs. */
static void describe_core(struct kernel *k)
{
	struct kernel_place place = { .module = "" };
	char path[PATH_MAX];
	uint64_t low = 0, high = 0;

	if (k->described)
		return;
	k->described = true;
	snprintf(path, sizeof(path), "%s/kernel/notes", k->sys);
	k->core.build_id = read_build_id(k, path);
	k->core.start = kallsyms_address(k->symbols, "_stext");
	k->core.end = kallsyms_address(k->symbols, "_etext");
	if (kallsyms_module_range(k->symbols, "", &low, &high)) {
		k->core.start = k->core.start ? k->core.start : low;
		k->core.end = high > k->core.end ? high : k->core.end;
	}
	place.build_id = k->core.build_id;
	place.start = k->core.start;
	if (!kernel_debug_offset(k->debug, &place, &k->offset))
		k->offset = 0;
	k->core.address = k->core.offset = k->core.start - k->offset;
	k->core.has_functions = true;
}

/* A checksum of the modules' names and places; 0: there are none, or they are not told. */
static uint32_t sum_modules(const struct kernel *k)
{
	char path[PATH_MAX], line[1024], name[64];
	unsigned long long of[2]; /* size, address */
	uLong sum = 0;
	FILE *file;

	snprintf(path, sizeof(path), "%s/modules", k->proc);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		/* Who uses it and its state change. */
		if (sscanf(line, "%63s %llu %*s %*s %*s %llx", name, &of[0], &of[1]) != 3)
			continue;
		sum = crc32(sum, (const Bytef *)name, (uInt)strlen(name));
		sum = crc32(sum, (const Bytef *)of, sizeof(of));
	}
	if (file)
		fclose(file);
	return (uint32_t)sum;
}

static void read_symbols(struct kernel *k)
{
	struct kallsyms *fresh;
	char path[PATH_MAX];
	uint32_t sum;

	/* Before: what comes meanwhile is seen the next time. */
	sum = sum_modules(k);
	k->modules_looked_ns = (int64_t)monotonic_ns();
	snprintf(path, sizeof(path), "%s/kallsyms", k->proc);
	if (kallsyms_read(path, &fresh))
		return;
	if (sum != k->modules_sum)
		k->n_gone = k->n_modules;
	k->modules_sum = sum;
	kallsyms_free(k->symbols);
	k->symbols = fresh;
	describe_core(k);
}

/* False: it has been read too recently to read it again. */
static bool reread(struct kernel *k)
{
	int64_t now = (int64_t)monotonic_ns() + 1;

	if (k->read_ns && now - k->read_ns < REREAD_NS)
		return false;
	k->read_ns = now;
	read_symbols(k);
	return true;
}

/* One that was there before the list of modules changed, and is there again; NULL: there is none. */
static struct sym_module *find_gone(struct kernel *k, const char *path, const char *build_id, uint64_t start,
                                    uint64_t end)
{
	for (size_t i = 0; i < k->n_gone; i++) {
		struct sym_module *m = k->modules[i];

		if (m->start != start || m->end != end || strcmp(m->path, path) != 0 ||
		    strcmp(m->build_id, build_id) != 0)
			continue;
		k->modules[i] = k->modules[--k->n_gone];
		k->modules[k->n_gone] = m;
		return m;
	}
	return NULL;
}

/* "ext4" -> the module "[ext4]", as it is now; one that was loaded again elsewhere is another. */
static struct sym_module *module_of(struct kernel *k, const char *name, uint64_t address)
{
	char path[PATH_MAX], bracketed[256];
	const char *build_id;
	struct sym_module *m;
	uint64_t start, end;
	size_t i;

	if (!*name)
		return &k->core;
	snprintf(bracketed, sizeof(bracketed), "[%s]", name);
	for (i = k->n_gone; i < k->n_modules; i++)
		if (address >= k->modules[i]->start && address < k->modules[i]->end &&
		    strcmp(k->modules[i]->path, bracketed) == 0)
			return k->modules[i];
	if (!kallsyms_module_range(k->symbols, name, &start, &end))
		return &k->core;
	snprintf(path, sizeof(path), "%s/module/%s/notes/.note.gnu.build-id", k->sys, name);
	build_id = read_build_id(k, path);
	m = find_gone(k, bracketed, build_id, start, end);
	if (m)
		return m;
	m = k->n_modules < MAX_MODULES ? calloc(1, sizeof(*m)) : NULL;
	if (!m)
		return &k->core;
	*m = (struct sym_module){ .path = intern_string(k->strings, bracketed),
		                  .build_id = build_id,
		                  .start = start,
		                  .end = end,
		                  .has_functions = true,
		                  .is_kernel = true };
	k->modules[k->n_modules++] = m;
	return m;
}

void kernel_prepare(struct kernel *k)
{
	if (!k->symbols)
		reread(k);
}

/* What finds no room has the name that kallsyms gives it. */
void kernel_has_code(struct kernel *k, uint64_t start, uint64_t bytes, const char *name)
{
	if (name)
		kernel_code_add(&k->code, start, bytes, name);
	else
		kernel_code_remove(&k->code, start);
}

void kernel_code_lost(struct kernel *k)
{
	kernel_code_free(&k->code);
	k->outdated = true;
}

/* Modules come and go, and one may be where another was: their list is looked at once a second. */
static void follow_modules(struct kernel *k)
{
	int64_t now = (int64_t)monotonic_ns();

	if (!k->symbols || now - k->modules_looked_ns < MODULES_NS)
		return;
	k->modules_looked_ns = now;
	if (sum_modules(k) == k->modules_sum)
		return;
	k->outdated = true;
	k->read_ns = 0; /* as this is no guess, it waits for nothing */
}

static bool find_symbol(struct kernel *k, uint64_t pc, struct kallsyms_hit *hit)
{
	kernel_prepare(k);
	follow_modules(k);
	if (k->outdated && reread(k))
		k->outdated = false;
	if (!k->symbols)
		return false;
	return kallsyms_find(k->symbols, pc, hit) || (reread(k) && kallsyms_find(k->symbols, pc, hit));
}

static bool resolve_by_debug(struct kernel *k, const struct kallsyms_hit *hit, uint64_t pc,
                             struct kernel_hit *out)
{
	struct kernel_place place = { .module = hit->module,
		                      .build_id = out->module->build_id,
		                      .start = out->module->start };
	struct object_answer answer;

	if (!kernel_debug_resolve(k->debug, &place, pc, &answer))
		return false;
	out->frames = answer.frames;
	out->n_frames = answer.n_frames;
	out->source = answer.source;
	return true;
}

static void name_only(struct kernel *k, const char *name, struct kernel_hit *out)
{
	k->single = (struct sym_frame){ .function = name };
	out->frames = &k->single;
	out->n_frames = 1;
	out->source = SYM_SOURCE_KALLSYMS;
}

/* Whether the address is in code that was told of. What was there before that, and is listed, may lie behind a trampoline within its page. */
static bool find_told(struct kernel *k, uint64_t pc, struct kernel_hit *out)
{
	struct kernel_code_hit code;
	struct kallsyms_hit listed;

	if (!kernel_code_find(&k->code, pc, &code))
		return false;
	if (code.is_rounded && find_symbol(k, pc, &listed) && listed.start > code.start)
		return false;
	out->module = &k->told;
	name_only(k, code.name, out);
	return true;
}

void kernel_find(struct kernel *k, uint64_t pc, struct kernel_hit *out)
{
	struct kallsyms_hit hit;
	struct sym_module *module;

	*out = (struct kernel_hit){ .module = &k->core, .address = pc };
	k->asked = true;
	if (find_told(k, pc, out))
		return;
	if (!find_symbol(k, pc, &hit))
		return;
	module = module_of(k, hit.module, pc);
	out->module = module;
	out->address = module == &k->core ? pc - k->offset : pc - module->start + module->offset;
	if (strcmp(hit.module, "bpf") != 0 && resolve_by_debug(k, &hit, pc, out)) {
		module->has_lines = true;
		return;
	}
	name_only(k, hit.name, out);
}

bool kernel_save(struct kernel *k, bool last)
{
	return kernel_debug_save(k->debug, last);
}

void kernel_look_again(struct kernel *k)
{
	kernel_debug_look_again(k->debug);
	k->described = false;
	if (k->symbols)
		describe_core(k);
}

enum sym_kernel kernel_state(const struct kernel *k, size_t *modules_missing)
{
	bool core_missing = kernel_debug_missing(k->debug, modules_missing);

	if (!k->asked)
		return SYM_KERNEL_UNUSED;
	if (!kernel_symbols(k))
		return SYM_KERNEL_HIDDEN;
	return core_missing ? SYM_KERNEL_NAMES : SYM_KERNEL_DWARF;
}

bool kernel_is_entry(const char *function)
{
	/* asm/idtentry.h makes the first three; those of Xen, FRED (6.9) and the label within asm_exc_nmi. */
	static const char *const prefixes[] = { "asm_exc_",        "asm_sysvec_",   "asm_common_interrupt",
		                                "xen_asm_exc_",    "asm_fred_",     "asm_spurious_interrupt",
		                                "xen_asm_sysvec_", "end_repeat_nmi" };
	size_t i;

	for (i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++)
		if (strncmp(function, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	return false;
}

size_t kernel_symbols(const struct kernel *k)
{
	return k->symbols ? kallsyms_count(k->symbols) : 0;
}

size_t kernel_memory(const struct kernel *k)
{
	return (k->symbols ? kallsyms_memory(k->symbols) : 0) + kernel_code_memory(&k->code) +
	       kernel_debug_memory(k->debug) + intern_memory(k->strings);
}

uint64_t kernel_names_refused(const struct kernel *k)
{
	return intern_refused(k->strings);
}
