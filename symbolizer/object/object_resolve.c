/* Resolves addresses of one object: by its index, else by DWARF and symbols, which adds to the index. */
#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/names/demangle.h"
#include "symbolizer/index/dwarf_block.h"
#include "symbolizer/index/index_maker.h"
#include "symbolizer/object/object_state.h"
#include "symbolizer/base/growing_array.h"

#define MAX_ANSWERS (1 << 18)

/* What the names of answers may take of all memory, of 512 MiB 16; then all answers are forgotten. One may have so much more. */
#define NAMES_PART       32
#define MAX_ANSWER_BYTES ((size_t)8 << 20)

#define MAX_FRAMES INDEX_MAX_FRAMES

/* In stable addresses of relocatable files the section stands above the offset. */
#define SECTION_SHIFT 40

static const char *readable(const struct object *o, const char *name)
{
	char *plain = o->env->keep_mangled ? NULL : demangle(name, o->env->names);
	const char *kept = intern_string(o->names, plain ? plain : name);

	free(plain);
	return kept;
}

/* Of code that has a line, but no name. It is kept, so it must not have the address in it. */
static const char *no_symbols(const struct object *o)
{
	const char *slash = strrchr(o->path, '/');
	char name[PATH_MAX + 64];

	snprintf(name, sizeof(name), "[no symbols: %s]", slash ? slash + 1 : o->path);
	return intern_string(o->names, name);
}

/* The table of .gnu_debugdata lacks what is exported, and the other one the rest: what has no size in one of them goes over functions that
 * only the other one has. */
static bool is_better(const struct symtab_hit *a, const struct symtab_hit *b)
{
	return a->unsized != b->unsized ? b->unsized : a->start >= b->start;
}

/* As it stands in the file. NULL: there is none. */
static const char *symbol_at(uint64_t address, void *context)
{
	struct object *o = context;
	struct symtab_hit mini = { .name = NULL }, own = { .name = NULL };

	object_load_symtabs(o);
	if (o->mini_symtab)
		symtab_find(o->mini_symtab, address, &mini);
	if (o->symtab)
		symtab_find(o->symtab, address, &own);
	return mini.name && (!own.name || is_better(&mini, &own)) ? mini.name : own.name;
}

/* --- the index -------------------------------------------------------------------------------------- */

/* Of a file and its debug files that all are of one user, or root's. */
static bool make_key(struct object *o, struct index_key *key)
{
	uint64_t owner = 0;

	*key = (struct index_key){ 0 };
	if (!*o->build_id || !elf_file_origin(o->file, &key->size, &key->owner))
		return false;
	snprintf(key->build_id, sizeof(key->build_id), "%s", o->build_id);
	key->maker = index_maker();
	if (o->debug &&
	    (!elf_file_origin(o->debug, &key->debug_size, &owner) || (owner && owner != key->owner)))
		return false;
	return !o->alt ||
	       (elf_file_origin(o->alt, &key->alt_size, &owner) && (!owner || owner == key->owner));
}

static struct object_index *load_index(struct object *o)
{
	struct index_key key;

	if (o->index)
		return o->index;
	o->index = object_index_new(o->env->stats);
	object_load_debug_file(o);
	if (o->index && o->env->dir && make_key(o, &key)) {
		object_index_attach(o->index, o->env->dir, &key);
		object_index_save_beside(o->index, o->env->beside);
	}
	return o->index;
}

/*
 * Nothing of a file whose functions are in files that come and go, and belong to anybody; nor of one of which not
 * all could be read, as the next one may have more memory.
 */
bool object_save(struct object *o, enum index_save when)
{
	if (o->is_light || o->is_partial ||
	    (o->dwarf && (dwarf_index_is_split(o->dwarf) || dwarf_index_is_partial(o->dwarf))))
		return false;
	return o->index && object_index_save(o->index, when);
}

/*
 * What makes of an address one that is the same wherever the file is loaded: in a relocatable file, the section
 * and the offset in it. `room` becomes what has the same shift. False: no section of such a file is there.
 */
static bool stable_shift(const struct object *o, uint64_t address, uint64_t *shift,
                         struct dwarf_interval *room)
{
	uint32_t section;

	*shift = 0;
	*room = (struct dwarf_interval){ 0, UINT64_MAX };
	if (elf_file_type(o->file) != ET_REL)
		return true;
	if (!elf_file_section_around(o->file, address, &section, &room->low, &room->high))
		return false;
	*shift = ((uint64_t)section << SECTION_SHIFT) - room->low;
	return true;
}

/* For want of DWARF: the symbol, of this one address. */
static int make_symbol_block(struct object *o, uint64_t address, uint64_t shift, struct index_block **out)
{
	const char *name = symbol_at(address, o);
	struct index_builder w;

	index_builder_start(&w, address + shift, name ? INDEX_SYMTAB : INDEX_NONE);
	if (name)
		index_builder_segment(&w, address + shift,
		                      index_builder_scope(&w, INDEX_NO_SCOPE, name, NULL, 0), NULL, 0);
	return index_builder_finish(&w, address + shift + 1, out);
}

static int make_block(struct object *o, uint64_t address, uint64_t shift, struct dwarf_interval room)
{
	struct dwarf_index *dwarf = object_load_dwarf(o);
	struct dwarf_block_wanted wanted = {
		.address = address, .shift = shift, .symbol_at = symbol_at, .context = o
	};
	struct index_block *block;
	uint64_t errors = dwarf ? dwarf_index_errors(dwarf) : 0, low, high;
	int err = -ENOENT;

	object_index_room(o->index, address + shift, &low, &high);
	wanted.room = room;
	dwarf_interval_begin(&wanted.room, low > room.low + shift ? low - shift : room.low);
	dwarf_interval_end(&wanted.room, high < room.high + shift ? high - shift : room.high);
	if (dwarf) {
		err = dwarf_block_make(dwarf, &wanted, &block);
		if (err == -EFBIG) { /* names without end: the one address, then, or its symbol */
			wanted.room = (struct dwarf_interval){ address, address + 1 };
			err = dwarf_block_make(dwarf, &wanted, &block);
			err = err == -EFBIG ? -ENOENT : err;
		}
		o->env->stats->dwarf_errors += dwarf_index_errors(dwarf) - errors;
	}
	if (err == -ENOENT)
		err = make_symbol_block(o, address, shift, &block);
	return err ? err : object_index_add(o->index, block);
}

static struct sym_frame to_frame(struct object *o, const struct index_frame *from)
{
	struct sym_frame to = { .line = from->line, .inlined = from->inlined };

	if (from->name)
		to.function = readable(o, from->name);
	else if (from->inlined)
		to.function = intern_string(o->names, "[inlined function without a name]");
	else
		to.function = no_symbols(o);
	if (from->file)
		to.file = intern_string(o->names, from->file);
	return to;
}

/* Works the answer out: number of frames, 0 for none. */
static size_t resolve(struct object *o, uint64_t address, struct sym_frame *frames, bool *from_dwarf)
{
	struct object_index *x = load_index(o);
	struct index_frame found[MAX_FRAMES];
	enum index_source source;
	struct dwarf_interval room;
	size_t n = 0, i;
	uint64_t shift;

	*from_dwarf = false;
	if (!x || !stable_shift(o, address, &shift, &room))
		return 0;
	if (!object_index_find(x, address + shift, found, MAX_FRAMES, &n, &source) &&
	    (make_block(o, address, shift, room) ||
	     !object_index_find(x, address + shift, found, MAX_FRAMES, &n, &source)))
		return 0;
	for (i = 0; i < n; i++) {
		frames[i] = to_frame(o, &found[i]);
		o->has_given_lines |= found[i].line != 0;
	}
	o->has_given_functions |= n != 0;
	*from_dwarf = source == INDEX_DWARF;
	return n;
}

/* --- the answers that are remembered -------------------------------------------------------------------- */

void object_forget_answers(struct object *o)
{
	address_map_clear(&o->answer_of);
	intern_free(o->names);
	free(o->answers);
	free(o->frames);
	o->names = NULL;
	o->answers = NULL;
	o->frames = NULL;
	o->n_answers = o->max_answers = o->n_frames = o->max_frames = 0;
}

/* Returns the index of the new answer, UINT32_MAX without memory. */
static uint32_t remember_answer(struct object *o, uint64_t address, const struct sym_frame *frames, size_t n,
                                bool from_dwarf)
{
	if (growing_array_reserve((void **)&o->answers, o->n_answers + 1, &o->max_answers,
	                          sizeof(*o->answers), SIZE_MAX) ||
	    growing_array_reserve((void **)&o->frames, o->n_frames + n + 1, &o->max_frames,
	                          sizeof(*o->frames), SIZE_MAX) ||
	    address_map_put(&o->answer_of, address, (uint32_t)o->n_answers, MAX_ANSWERS))
		return UINT32_MAX;
	memcpy(o->frames + o->n_frames, frames, n * sizeof(*frames));
	o->answers[o->n_answers] = (struct remembered){ .first_frame = (uint32_t)o->n_frames,
		                                        .n_frames = (uint16_t)n,
		                                        .from_dwarf = from_dwarf };
	o->n_frames += n;
	return (uint32_t)o->n_answers++;
}

/* Now, of all files that there are. */
static bool may_read(struct object *o)
{
	if (!object_answers(o))
		return false;
	object_load_debug_file(o);
	return o->debug_tried;
}

/* For another answer. False: no memory. */
static bool make_room(struct object *o)
{
	size_t max_names = o->env->max_bytes / NAMES_PART;

	if (o->n_answers >= MAX_ANSWERS || (o->names && intern_memory(o->names) > max_names))
		object_forget_answers(o);
	if (!o->names)
		o->names = intern_new(max_names + MAX_ANSWER_BYTES);
	return o->names;
}

bool object_resolve(struct object *o, uint64_t address, struct object_answer *out)
{
	struct sym_frame frames[MAX_FRAMES];
	const struct remembered *answer;
	uint64_t refused;
	bool from_dwarf;
	uint32_t i;
	size_t n;

	if (!address_map_get(&o->answer_of, address, &i)) {
		if (!may_read(o) || !make_room(o))
			return false; /* which is not remembered */
		o->has_grown = true;
		refused = intern_refused(o->names);
		n = resolve(o, address, frames, &from_dwarf);
		o->env->stats->names_refused += intern_refused(o->names) - refused;
		i = remember_answer(o, address, frames, n, from_dwarf);
		if (i == UINT32_MAX)
			return false;
	}
	answer = &o->answers[i];
	out->frames = o->frames + answer->first_frame;
	out->n_frames = answer->n_frames;
	out->source = answer->from_dwarf ? SYM_SOURCE_DWARF : SYM_SOURCE_SYMTAB;
	return answer->n_frames;
}
