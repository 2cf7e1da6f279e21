/* One mapped file: loads its debug file, symbols, DWARF and unwind tables on first use. */

#include "symbolizer/object/object.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/base/file_gate.h"
#include "symbolizer/object/object_state.h"
#include "symbolizer/elf/packed_file.h"

/* What may be kept of the units of one file: a part of all memory, of 512 MiB 32. */
#define UNITS_PART 16

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
	o->max_bytes = env->max_bytes;
	debug_file_build_id(f, o->build_id);
	return o;
}

void object_lighten(struct object *o, size_t max_bytes)
{
	o->is_light = true;
	o->max_bytes = max_bytes;
	o->env->stats->files_too_large++;
}

/* All that names and lines come from. */
static void drop_names(struct object *o)
{
	object_forget_answers(o);
	object_index_free(o->index);
	dwarf_index_free(o->dwarf);
	symtab_free(o->symtab);
	symtab_free(o->mini_symtab);
	elf_file_close(o->mini);
	o->index = NULL;
	o->dwarf = NULL;
	o->symtab = o->mini_symtab = NULL;
	o->mini = NULL;
	o->symtab_tried = o->dwarf_tried = false;
}

static void drop_tables(struct object *o)
{
	drop_names(o);
	cfi_free(o->cfi);
	cfi_free(o->debug_cfi);
	elf_file_close(o->debug);
	elf_file_close(o->alt);
	elf_file_release_all(o->file);
	o->cfi = o->debug_cfi = NULL;
	o->debug = o->alt = NULL;
	o->debug_tried = false;
	o->cfi_tried = o->debug_cfi_tried = false;
	o->is_partial = false;
}

void object_unload(struct object *o)
{
	object_save(o, INDEX_SAVE_NOW);
	drop_tables(o);
}

void object_free(struct object *o)
{
	if (!o)
		return;
	drop_tables(o);
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
	return o->symtab || o->mini_symtab || o->dwarf || o->has_given_functions;
}

bool object_has_lines(const struct object *o)
{
	return o->has_given_lines || (o->dwarf && dwarf_index_has_lines(o->dwarf));
}

bool object_address(const struct object *o, uint64_t offset, uint64_t *address)
{
	return elf_file_address(o->file, offset, address);
}

static struct debug_file_place place_of(const struct object *o)
{
	return (struct debug_file_place){ .debug_dir = o->env->debug_dir,
		                          .fetched_dir = o->env->fetched_dir,
		                          .root = o->root,
		                          .path = o->path };
}

void object_report_missing(const struct object_environment *env, const char *build_id)
{
	if (env->debug_missing && *build_id)
		env->debug_missing(build_id, env->missing_context);
}

bool object_answers(const struct object *o)
{
	return elf_file_answers(o->file) && (!o->debug || elf_file_answers(o->debug)) &&
	       (!o->alt || elf_file_answers(o->alt));
}

void object_load_debug_file(struct object *o)
{
	struct debug_file_place place = place_of(o);
	uint64_t refusals = file_gate_refusals();
	int err;

	if (o->debug_tried)
		return;
	if (!o->debug && !elf_file_has_section(o->file, ".debug_info")) {
		err = debug_file_open(o->file, &place, o->max_bytes, &o->debug);
		o->env->stats->debug_files_opened += !err;
		o->env->stats->files_too_large += err == -EFBIG;
		if (err && file_gate_refusals() == refusals)
			object_report_missing(o->env, o->build_id);
	}
	if (!o->alt)
		debug_file_open_alt(o->debug ? o->debug : o->file, &place, o->max_bytes, &o->alt);
	o->debug_tried = file_gate_refusals() == refusals;
	o->has_missed = !(o->debug && o->alt) && debug_file_root_has_gone(o->root);
}

/* False: no memory. */
static bool set_place(struct object *o, const char *root, const char *path)
{
	char *new_root = strdup(root), *new_path = strdup(path);

	if (!new_root || !new_path) {
		free(new_root);
		free(new_path);
		return false;
	}
	free(o->root);
	free(o->path);
	o->root = new_root;
	o->path = new_path;
	return true;
}

void object_move(struct object *o, const char *root, const char *path)
{
	const struct elf_file *debug = o->debug, *alt = o->alt;
	struct debug_file_place place;
	bool found;

	if (!set_place(o, root, path))
		return;
	place = place_of(o);
	found = o->dwarf && dwarf_index_move(o->dwarf, &place);
	if (o->has_missed) {
		o->debug_tried = false;
		object_load_debug_file(o);
		found |= o->debug != debug || o->alt != alt || !o->debug_tried;
	}
	if (!found)
		return;
	drop_names(o);
	o->debug_cfi_tried &= o->debug_cfi != NULL;
	o->has_grown = true;
}

static void count_refusal(struct object *o, int err)
{
	if (err == -EFBIG)
		o->env->stats->files_too_large++;
	else if (err && err != -ENOENT)
		o->env->stats->files_corrupt++;
	o->is_partial |= err && err != -ENOENT;
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
	err = packed_file_unxz(packed.data, packed.len, o->max_bytes, &plain, &len);
	if (!err)
		err = elf_file_open_owned(plain, len, o->max_bytes, &o->mini);
	if (!err)
		err = symtab_new(o->file, o->mini, &o->mini_symtab);
	count_refusal(o, err);
}

void object_load_symtabs(struct object *o)
{
	if (o->symtab_tried)
		return;
	o->symtab_tried = true;
	object_load_debug_file(o);
	count_refusal(o, symtab_new(o->file, o->debug, &o->symtab));
	if (!o->symtab || symtab_is_dynamic(o->symtab))
		load_mini_symtab(o);
}

struct dwarf_index *object_load_dwarf(struct object *o)
{
	struct debug_file_place place = place_of(o);
	struct dwarf_split *split;

	if (!o->dwarf_tried && !o->is_light) {
		o->dwarf_tried = true;
		object_load_debug_file(o);
		split = dwarf_split_new(&place, o->build_id, o->max_bytes, o->env->stats);
		count_refusal(o, dwarf_index_new(o->file, o->debug ? o->debug : o->file, o->alt,
		                                 o->max_bytes / UNITS_PART, split, &o->dwarf));
		if (o->dwarf)
			o->env->stats->dwarf_errors += dwarf_index_errors(o->dwarf);
	}
	return o->dwarf;
}

static struct cfi *load_cfi(struct object *o)
{
	if (!o->cfi_tried) {
		o->cfi_tried = o->has_grown = true;
		count_refusal(o, cfi_new(o->file, &o->cfi));
	}
	return o->cfi;
}

/* NULL: there is no debug file, or none with .debug_frame (of .eh_frame it has the header only). */
static struct cfi *load_debug_cfi(struct object *o)
{
	if (!o->debug_cfi_tried) {
		o->debug_cfi_tried = o->has_grown = true;
		object_load_debug_file(o);
		if (o->debug && !o->debug_cfi && !elf_file_has_section(o->file, ".debug_frame"))
			count_refusal(o, cfi_new_of_debug_file(o->debug, &o->debug_cfi));
		o->debug_cfi_tried = o->debug_tried;
	}
	return o->debug_cfi;
}

int object_read_file(const struct object *o, uint64_t offset, void *buffer, size_t len)
{
	return elf_file_answers(o->file) ? elf_file_read(o->file, offset, buffer, len) : -EAGAIN;
}

static int rules_by(struct object *o, struct cfi *table, uint64_t address, const struct cfi_rules **out)
{
	size_t before;
	int err;

	if (!table)
		return -ENOENT;
	before = cfi_memory(table);
	err = cfi_rules_at(table, address, out);
	o->has_grown |= cfi_memory(table) != before;
	return err;
}

/*
 * Nearly all code has its rules in the file itself, since C++ throws by them. To look for a debug file takes several
 * times as long as all else that a first walk does in a file, so it waits for code that has none.
 */
int object_rules(struct object *o, uint64_t address, const struct cfi_rules **out)
{
	int err;

	/* Tables are read bit by bit, as they are used. */
	if (!object_answers(o))
		return -EAGAIN;
	err = rules_by(o, load_cfi(o), address, out);
	if (err == -ENOENT)
		err = rules_by(o, load_debug_cfi(o), address, out);
	return err == -ENOENT && !o->debug_cfi_tried ? -EAGAIN : err;
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
	sum += o->index ? object_index_memory(o->index) : 0;
	sum += o->cfi ? cfi_memory(o->cfi) : 0;
	sum += o->debug_cfi ? cfi_memory(o->debug_cfi) : 0;
	sum += address_map_memory(&o->answer_of) + (o->names ? intern_memory(o->names) : 0);
	sum += o->max_answers * sizeof(*o->answers) + o->max_frames * sizeof(*o->frames);
	return sum;
}
