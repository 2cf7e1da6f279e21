#include "symbolizer/object.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/address_map.h"
#include "symbolizer/arena.h"
#include "symbolizer/demangle.h"
#include "symbolizer/dwarf_index.h"
#include "symbolizer/packed_file.h"
#include "symbolizer/symtab.h"

#define MAX_ANSWERS (1 << 18)
#define MAX_FRAMES  129
#define MAX_NAME    32768

struct remembered {
	uint32_t first_frame;
	uint16_t n_frames;
	uint16_t from_dwarf;
};

struct object {
	const struct object_environment *env;
	struct elf_file *file, *debug, *alt;
	struct elf_file *mini; /* unpacked from .gnu_debugdata */
	struct symtab *symtab, *mini_symtab;
	struct dwarf_index *dwarf;
	struct cfi *cfi;
	bool symtab_tried, dwarf_tried, cfi_tried, debug_tried;
	uint64_t last_use;
	bool has_grown;
	char build_id[BUILD_ID_HEX_SIZE];
	char *root, *path;

	struct address_map answer_of; /* address -> index in answers */
	struct remembered *answers;
	struct sym_frame *frames;
	size_t n_answers, max_answers, n_frames, max_frames;
};

struct object *object_new(const struct object_environment *env, struct elf_file *f, const char *root,
                          const char *path)
{
	struct object *o = calloc(1, sizeof(*o));

	if (o) {
		o->root = strdup(root);
		o->path = strdup(path);
	}
	if (!o || !o->root || !o->path) {
		elf_file_close(f);
		if (o) {
			free(o->root);
			free(o->path);
		}
		free(o);
		return NULL;
	}
	o->env = env;
	o->file = f;
	debug_file_build_id(f, o->build_id);
	return o;
}

static void forget_answers(struct object *o)
{
	address_map_clear(&o->answer_of);
	free(o->answers);
	free(o->frames);
	o->answers = NULL;
	o->frames = NULL;
	o->n_answers = o->max_answers = o->n_frames = o->max_frames = 0;
}

void object_unload(struct object *o)
{
	forget_answers(o);
	dwarf_index_free(o->dwarf);
	symtab_free(o->symtab);
	symtab_free(o->mini_symtab);
	elf_file_close(o->mini);
	cfi_free(o->cfi);
	elf_file_close(o->debug);
	elf_file_close(o->alt);
	elf_file_release_all(o->file);
	o->dwarf = NULL;
	o->symtab = o->mini_symtab = NULL;
	o->mini = NULL;
	o->cfi = NULL;
	o->debug = o->alt = NULL;
	o->symtab_tried = o->dwarf_tried = o->cfi_tried = o->debug_tried = false;
}

void object_free(struct object *o)
{
	if (!o)
		return;
	object_unload(o);
	elf_file_close(o->file);
	free(o->root);
	free(o->path);
	free(o);
}

const char *object_build_id(const struct object *o)
{
	return o->build_id;
}

bool object_has_functions(const struct object *o)
{
	return o->symtab || o->mini_symtab || o->dwarf;
}

bool object_has_lines(const struct object *o)
{
	return o->dwarf && dwarf_index_has_lines(o->dwarf);
}

bool object_address(const struct object *o, uint64_t offset, uint64_t *address)
{
	return elf_file_address(o->file, offset, address);
}

static void load_debug_file(struct object *o)
{
	struct debug_file_place place = { .debug_dir = o->env->debug_dir, .root = o->root, .path = o->path };
	struct elf_section info;

	if (o->debug_tried)
		return;
	o->debug_tried = true;
	if (elf_file_section(o->file, ".debug_info", &info) &&
	    !debug_file_open(o->file, &place, o->env->max_bytes, &o->debug))
		o->env->stats->debug_files_opened++;
	debug_file_open_alt(o->debug ? o->debug : o->file, &place, o->env->max_bytes, &o->alt);
}

static void count_refusal(struct object *o, int err)
{
	if (err == -EFBIG)
		o->env->stats->files_too_large++;
	else if (err && err != -ENOENT)
		o->env->stats->files_corrupt++;
}

/* Fedora's packages have the names of their static functions in .gnu_debugdata, an ELF file packed by xz. */
static void load_mini_symtab(struct object *o)
{
	struct elf_section packed;
	uint8_t *plain;
	size_t len;
	int err;

	if (elf_file_section(o->file, ".gnu_debugdata", &packed))
		return;
	err = packed_file_unxz(packed.data, packed.len, o->env->max_bytes, &plain, &len);
	if (!err)
		err = elf_file_open_owned(plain, len, o->env->max_bytes, &o->mini);
	if (!err)
		err = symtab_new(o->file, o->mini, &o->mini_symtab);
	count_refusal(o, err);
}

static void load_symtabs(struct object *o)
{
	if (o->symtab_tried)
		return;
	o->symtab_tried = true;
	load_debug_file(o);
	count_refusal(o, symtab_new(o->file, o->debug, &o->symtab));
	if (!o->symtab || symtab_is_dynamic(o->symtab))
		load_mini_symtab(o);
}

static struct dwarf_index *load_dwarf(struct object *o)
{
	if (!o->dwarf_tried) {
		o->dwarf_tried = true;
		load_debug_file(o);
		count_refusal(o, dwarf_index_new(o->file, o->debug ? o->debug : o->file, o->alt, &o->dwarf));
		if (o->dwarf)
			o->env->stats->dwarf_errors += dwarf_index_errors(o->dwarf);
	}
	return o->dwarf;
}

static bool load_cfi(struct object *o)
{
	if (!o->cfi_tried) {
		o->cfi_tried = true;
		load_debug_file(o);
		count_refusal(o, cfi_new(o->file, o->debug, &o->cfi));
	}
	return o->cfi;
}

static const char *readable(const struct object *o, const char *name)
{
	char *plain = o->env->keep_mangled ? NULL : demangle(name, o->env->names);
	const char *kept = intern_string(o->env->strings, plain ? plain : name);

	free(plain);
	return kept;
}

/* Of code that has a line, but no name. It is kept, so it must not have the address in it. */
static const char *no_symbols(const struct object *o)
{
	const char *slash = strrchr(o->path, '/');
	char name[PATH_MAX + 64];

	snprintf(name, sizeof(name), "[no symbols: %s]", slash ? slash + 1 : o->path);
	return intern_string(o->env->strings, name);
}

static const char *symbol_name(struct object *o, uint64_t address)
{
	struct symtab_hit hit;

	load_symtabs(o);
	if ((o->mini_symtab && symtab_find(o->mini_symtab, address, &hit)) ||
	    (o->symtab && symtab_find(o->symtab, address, &hit)))
		return readable(o, hit.name);
	return NULL;
}

static struct sym_frame to_frame(struct object *o, uint64_t address, const struct dwarf_frame *from)
{
	struct sym_frame to = { .line = from->line, .inlined = from->inlined };
	char path[PATH_MAX], full[MAX_NAME];

	if (from->name.name) {
		dwarf_index_full_name(o->dwarf, &from->name, full, sizeof(full));
		to.function = readable(o, full);
	} else if (from->inlined) {
		to.function = intern_string(o->env->strings, "[inlined function without a name]");
	} else {
		to.function = symbol_name(o, address);
		to.function = to.function ? to.function : no_symbols(o);
	}
	if (from->lines && dwarf_lines_path(from->lines, from->file, path, sizeof(path)))
		to.file = intern_string(o->env->strings, path);
	return to;
}

static size_t resolve_by_dwarf(struct object *o, uint64_t address, struct sym_frame *frames)
{
	struct dwarf_index *dwarf = load_dwarf(o);
	struct dwarf_frame found[MAX_FRAMES];
	uint64_t errors;
	size_t n, i;

	if (!dwarf)
		return 0;
	errors = dwarf_index_errors(dwarf);
	n = dwarf_index_find(dwarf, address, found, MAX_FRAMES);
	o->env->stats->dwarf_errors += dwarf_index_errors(dwarf) - errors;
	for (i = 0; i < n; i++)
		frames[i] = to_frame(o, address, &found[i]);
	return n;
}

/* Works the answer out: number of frames, 0 for none. */
static size_t resolve(struct object *o, uint64_t address, struct sym_frame *frames, bool *from_dwarf)
{
	size_t n = resolve_by_dwarf(o, address, frames);
	const char *name;

	*from_dwarf = n;
	if (n)
		return n;
	name = symbol_name(o, address);
	frames[0] = (struct sym_frame){ .function = name };
	return name != NULL;
}

static int make_room(void **array, size_t wanted, size_t *max, size_t size)
{
	size_t more = *max ? *max : 64;
	void *bigger;

	if (wanted <= *max)
		return 0;
	while (more < wanted)
		more *= 2;
	bigger = realloc(*array, more * size);
	if (!bigger)
		return -ENOMEM;
	*array = bigger;
	*max = more;
	return 0;
}

/* Returns the index of the new answer, UINT32_MAX without memory. */
static uint32_t remember_answer(struct object *o, uint64_t address, const struct sym_frame *frames, size_t n,
                                bool from_dwarf)
{
	if (o->n_answers >= MAX_ANSWERS)
		forget_answers(o);
	if (make_room((void **)&o->answers, o->n_answers + 1, &o->max_answers, sizeof(*o->answers)) ||
	    make_room((void **)&o->frames, o->n_frames + n + 1, &o->max_frames, sizeof(*o->frames)) ||
	    address_map_put(&o->answer_of, address, (uint32_t)o->n_answers, MAX_ANSWERS))
		return UINT32_MAX;
	memcpy(o->frames + o->n_frames, frames, n * sizeof(*frames));
	o->answers[o->n_answers] = (struct remembered){ .first_frame = (uint32_t)o->n_frames,
		                                        .n_frames = (uint16_t)n,
		                                        .from_dwarf = from_dwarf };
	o->n_frames += n;
	return (uint32_t)o->n_answers++;
}

bool object_resolve(struct object *o, uint64_t address, struct object_answer *out)
{
	struct sym_frame frames[MAX_FRAMES];
	const struct remembered *answer;
	bool from_dwarf;
	uint32_t i;
	size_t n;

	if (!address_map_get(&o->answer_of, address, &i)) {
		o->has_grown = true;
		n = resolve(o, address, frames, &from_dwarf);
		i = remember_answer(o, address, frames, n, from_dwarf);
		if (i == UINT32_MAX)
			return false;
	}
	answer = &o->answers[i];
	out->frames = o->frames + answer->first_frame;
	out->n_frames = answer->n_frames;
	out->source = answer->from_dwarf ? "dwarf" : "symtab";
	return answer->n_frames;
}

int object_rules(struct object *o, uint64_t address, const struct cfi_rules **out)
{
	size_t before;
	int err;

	o->has_grown |= !o->cfi_tried;
	if (!load_cfi(o))
		return -ENOENT;
	before = cfi_memory(o->cfi);
	err = cfi_rules_at(o->cfi, address, out);
	o->has_grown |= cfi_memory(o->cfi) != before;
	return err;
}

void object_touch(struct object *o, uint64_t clock)
{
	o->last_use = clock;
}

uint64_t object_last_use(const struct object *o)
{
	return o->last_use;
}

bool object_has_grown(struct object *o)
{
	bool has_grown = o->has_grown;

	o->has_grown = false;
	return has_grown;
}

size_t object_memory(const struct object *o)
{
	size_t sum = elf_file_memory(o->file);

	sum += o->debug ? elf_file_memory(o->debug) : 0;
	sum += o->alt ? elf_file_memory(o->alt) : 0;
	sum += o->mini ? elf_file_memory(o->mini) : 0;
	sum += o->symtab ? symtab_memory(o->symtab) : 0;
	sum += o->mini_symtab ? symtab_memory(o->mini_symtab) : 0;
	sum += o->dwarf ? dwarf_index_memory(o->dwarf) : 0;
	sum += o->cfi ? cfi_memory(o->cfi) : 0;
	sum += address_map_memory(&o->answer_of);
	sum += o->max_answers * sizeof(*o->answers) + o->max_frames * sizeof(*o->frames);
	return sum;
}
