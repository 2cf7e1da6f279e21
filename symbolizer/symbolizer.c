/* The public functions of symbolizer.h, except for unwinding and the handling of mappings. */

#include "symbolizer/symbolizer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "symbolizer/cfi/unwind_cache.h"
#include "symbolizer/index/index_dir.h"
#include "symbolizer/symbolizer_state.h"

#define DEFAULT_MEMORY_BYTES ((size_t)512 << 20)

/* What the names of code compiled at run time may take of all memory, of 512 MiB 128. */
#define JIT_PART 4

/* They outlive the tables of the files, and without its path a file may not be found, nor stacks be unwound in it. */
#define MAX_PATH_BYTES ((size_t)64 << 20)

#define DEFAULT_CACHE_BYTES ((uint64_t)256 << 20)

static const struct symbolizer_opts default_opts;

static struct kernel *new_kernel(struct symbolizer *s, const struct symbolizer_opts *opts)
{
	struct kernel_opts kernel = { .proc = s->proc, .sys = opts->sys ? opts->sys : "/sys" };
	struct utsname host;

	if (uname(&host))
		host.release[0] = 0;
	kernel.files = (struct kernel_files_opts){ .debug_dir = s->debug_dir,
		                                   .fetched_dir = s->fetched_dir,
		                                   .root = opts->root ? opts->root : "",
		                                   .release = opts->kernel_release ? opts->kernel_release
		                                                                   : host.release,
		                                   .max_bytes = s->env.max_bytes };
	return kernel_new(&s->env, &kernel);
}

static void open_dir(struct symbolizer *s, const struct symbolizer_opts *opts)
{
	uint64_t max = opts->max_cache_bytes ? opts->max_cache_bytes : DEFAULT_CACHE_BYTES;

	if (!opts->cache_dir || !*opts->cache_dir)
		return;
	s->dir_err = index_dir_open(opts->cache_dir, max, &s->dir);
	if (s->dir_err)
		s->stats.index_errors++;
}

static int set_up(struct symbolizer *s, const struct symbolizer_opts *opts)
{
	s->debug_dir = strdup(opts->debug_dir ? opts->debug_dir : "/usr/lib/debug");
	s->proc = strdup(opts->proc ? opts->proc : "/proc");
	s->fetched_dir = opts->fetched_dir ? strdup(opts->fetched_dir) : NULL;
	s->paths = intern_new(MAX_PATH_BYTES);
	if (!s->debug_dir || !s->proc || !s->paths || (opts->fetched_dir && !s->fetched_dir))
		return -ENOMEM;
	open_dir(s, opts);
	s->env = (struct object_environment){
		.debug_dir = s->debug_dir,
		.fetched_dir = s->fetched_dir,
		.debug_missing = opts->debug_missing,
		.missing_context = opts->missing_context,
		.dir = s->dir,
		.beside = opts->beside,
		.max_bytes = opts->max_memory_bytes ? opts->max_memory_bytes : DEFAULT_MEMORY_BYTES,
		.keep_mangled = opts->keep_mangled,
		.names = opts->names,
		.stats = &s->stats,
	};
	s->room.stats = &s->stats;
	s->files = (struct lone_files){ .env = &s->env, .room = &s->room };
	s->objects = object_cache_new(&s->env);
	s->of_processes = (struct process_environment){
		.proc = s->proc, .strings = s->paths, .objects = s->objects, .stats = &s->stats
	};
	s->kernel = new_kernel(s, opts);
	s->unwound = unwind_cache_new();
	return s->objects && s->kernel && s->unwound ? 0 : -ENOMEM;
}

struct symbolizer *symbolizer_new(const struct symbolizer_opts *opts)
{
	struct symbolizer *s = calloc(1, sizeof(*s));
	int err = s ? set_up(s, opts ? opts : &default_opts) : -ENOMEM;

	if (err) {
		symbolizer_free(s);
		errno = -err;
		return NULL;
	}
	return s;
}

void symbolizer_free(struct symbolizer *s)
{
	struct sym_process *p, *next;

	if (!s)
		return;
	HASH_ITER (hh, s->processes, p, next) {
		HASH_DEL(s->processes, p);
		process_free(p);
	}
	lone_files_free(&s->files);
	kernel_free(s->kernel);
	object_cache_free(s->objects);
	index_dir_close(s->dir);
	unwind_cache_free(s->unwound);
	intern_free(s->paths);
	free(s->debug_dir);
	free(s->fetched_dir);
	free(s->proc);
	free(s);
}

struct sym_process *symbolizer_process(struct symbolizer *s, uint32_t pid, uint64_t start)
{
	struct process_key key = { .pid = pid, .start = start };
	struct sym_process *p;

	HASH_FIND(hh, s->processes, &key, sizeof(key), p);
	if (p)
		return p;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->key = key;
	p->env = &s->of_processes;
	p->owner = s;
	p->version = ++p->env->versions;
	HASH_ADD(hh, s->processes, key, sizeof(p->key), p);
	if (p->hh.tbl)
		return p;
	process_free(p);
	return NULL;
}

void symbolizer_process_drop(struct sym_process *p)
{
	if (!p)
		return;
	HASH_DEL(p->owner->processes, p);
	process_free(p);
}

void symbolizer_debug_arrived(struct symbolizer *s, const char *build_id)
{
	object_cache_forget(s->objects, build_id);
	kernel_look_again(s->kernel);
}

void symbolizer_let_go(struct symbolizer *s, uint64_t now_ns)
{
	object_cache_let_go(s->objects, now_ns);
}

void symbolizer_kernel_code(struct symbolizer *s, uint64_t start, uint64_t bytes, const char *name)
{
	kernel_has_code(s->kernel, start, bytes, name);
}

void symbolizer_kernel_code_lost(struct symbolizer *s)
{
	kernel_code_lost(s->kernel);
}

void symbolizer_kernel_prepare(struct symbolizer *s)
{
	kernel_prepare(s->kernel);
}

int symbolizer_kernel(struct symbolizer *s, uint64_t pc, bool is_caller, struct sym_result *out)
{
	struct kernel_hit hit;

	kernel_find(s->kernel, pc - is_caller, &hit);
	*out = (struct sym_result){ .address = hit.address,
		                    .module = hit.module,
		                    .frames = hit.frames,
		                    .n_frames = hit.n_frames,
		                    .source = hit.source };
	if (!hit.n_frames)
		answer_unnamed(&s->room, out, "[no symbols: kernel+0x%llx]", (unsigned long long)hit.address);
	else
		s->stats.results[hit.source]++;
	return 0;
}

bool symbolizer_kernel_entry(const struct sym_result *result)
{
	return result->module && result->module->is_kernel &&
	       kernel_is_entry(result->frames[result->n_frames - 1].function);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* A child has its parent's mapped, too: its own comes first. NULL: there is none. */
static const struct mapping *find_jitdump(const struct sym_process *p, uint32_t inner_pid)
{
	const struct mapping *found = NULL;
	unsigned long number;
	size_t i;

	for (i = 0; i < p->n_mappings; i++) {
		if (!jit_names_is_jitdump(p->mappings[i]->path, &number))
			continue;
		found = p->mappings[i];
		if (number == inner_pid)
			break;
	}
	return found;
}

static int open_jitdump(void *context, uint32_t inner_pid, const uint64_t *known, uint64_t *inode)
{
	const struct mapping *m = find_jitdump(context, inner_pid);

	if (!m || (known && *known == m->inode))
		return -1;
	*inode = m->inode;
	return process_open_mapped(context, m);
}

static size_t jit_memory(const struct symbolizer *s)
{
	const struct sym_process *p;
	size_t sum = 0;

	for (p = s->processes; p; p = p->hh.next)
		sum += jit_names_memory(&p->jit);
	return sum;
}

/* Over their part, the names of the process go that was asked for some least recently; those of `except` stay. */
static void trim_jit_names(struct symbolizer *s, const struct sym_process *except)
{
	struct sym_process *p, *oldest;

	while (jit_memory(s) > s->env.max_bytes / JIT_PART) {
		oldest = NULL;
		for (p = s->processes; p; p = p->hh.next)
			if (p != except && jit_names_memory(&p->jit) &&
			    (!oldest || p->jit.asked_ns < oldest->jit.asked_ns))
				oldest = p;
		if (!oldest)
			return;
		jit_names_drop(&oldest->jit);
		s->stats.cache_evictions++;
	}
}

#define TICK_NS 10000000 /* of p->started */

static bool find_jit_name(struct sym_process *p, uint64_t pc, struct jit_name *out)
{
	struct jit_process of = { .proc = p->env->proc,
		                  .pid = p->key.pid,
		                  .exited = p->exited,
		                  .start_ns = p->started * TICK_NS,
		                  .stats = p->env->stats,
		                  .open_jitdump = open_jitdump,
		                  .context = p };

	bool found = !p->replaced && jit_names_find(&p->jit, &of, pc, out);

	if (p->jit.has_grown)
		trim_jit_names(p->owner, p);
	return found;
}

/* In a mapping, but without an object that knows the address. */
static void name_by_mapping(struct sym_process *p, const struct process_location *at, struct sym_result *out)
{
	struct symbolizer *s = p->owner;
	struct jit_name jit;

	if ((at->mapping->path[0] != '/' || !at->object) && find_jit_name(p, out->address, &jit)) {
		answer_single(&s->room, out, jit.function, jit.source);
		s->room.single.file = jit.file;
		s->room.single.line = jit.line;
	} else if (at->object) {
		answer_unnamed(&s->room, out, "[no symbols: %s+0x%llx]", base_name(at->mapping->path),
		               (unsigned long long)at->address);
	} else if (at->mapping->path[0]) {
		answer_unnamed(&s->room, out, "[no symbols: %s+0x%llx]", base_name(at->mapping->path),
		               (unsigned long long)(out->address - at->mapping->start + at->mapping->offset));
	} else {
		answer_unnamed(&s->room, out, "[unknown 0x%llx]", (unsigned long long)out->address);
	}
}

static void describe_module(struct mapping *m, struct object *o)
{
	if (!o)
		return;
	m->module.has_functions |= object_has_functions(o);
	m->module.has_lines |= object_has_lines(o);
}

static void resolve_in_object(struct sym_process *p, const struct process_location *at,
                              struct sym_result *out)
{
	struct object_answer answer;

	out->address = at->address;
	if (object_resolve(at->object, at->address, &answer))
		answer_object(&p->owner->room, out, &answer, "");
	describe_module(at->mapping, at->object);
}

int symbolizer_user(struct sym_process *p, uint64_t pc, bool is_caller, struct sym_result *out)
{
	struct process_location at;

	*out = (struct sym_result){ .address = pc - is_caller };
	if (!process_locate(p, out->address, &at)) {
		answer_unnamed(&p->owner->room, out, "[unknown 0x%llx]", (unsigned long long)out->address);
		return 0;
	}
	out->module = process_module(p, &at);
	if (at.object)
		resolve_in_object(p, &at, out);
	if (!out->n_frames)
		name_by_mapping(p, &at, out);
	if (at.object)
		process_object_used(p, at.object);
	return 0;
}

int symbolizer_file(struct symbolizer *s, const char *path, struct sym_file **out)
{
	return lone_files_open(&s->files, path, out);
}

int symbolizer_file_find(struct sym_file *f, const char *section, uint64_t address, struct sym_result *out)
{
	return lone_file_find(f, section, address, out);
}

int symbolizer_save(struct symbolizer *s, bool last)
{
	bool wrote = false;

	if (!s->dir)
		return s->dir_err;
	wrote |= object_cache_save(s->objects, last);
	wrote |= kernel_save(s->kernel, last);
	wrote |= lone_files_save(&s->files, last);
	if (wrote && !index_dir_lock(s->dir, last)) {
		s->stats.index_files_evicted += index_dir_trim(s->dir);
		index_dir_unlock(s->dir);
	}
	return 0;
}

void symbolizer_stats(const struct symbolizer *s, struct symbolizer_stats *out)
{
	*out = s->stats;
	out->memory_bytes = intern_memory(s->paths) + object_cache_memory(s->objects) +
	                    kernel_memory(s->kernel) + lone_files_memory(&s->files) + jit_memory(s);
	out->names_refused += intern_refused(s->paths) + kernel_names_refused(s->kernel);
	out->files_cached = object_cache_count(s->objects);
	out->processes = HASH_COUNT(s->processes);
	out->kernel_symbols = kernel_symbols(s->kernel);
	out->kernel = kernel_state(s->kernel, &out->kernel_modules_without_debug);
}
