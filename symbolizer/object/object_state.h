/* What a `struct object` is made of: for object.c and object_resolve.c. */
#ifndef SYMBOLIZER_OBJECT_STATE_H
#define SYMBOLIZER_OBJECT_STATE_H

#include "symbolizer/base/address_map.h"
#include "symbolizer/dwarf/dwarf_index.h"
#include "symbolizer/object/object.h"
#include "symbolizer/index/object_index.h"
#include "symbolizer/elf/symtab.h"

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
	struct cfi *cfi, *debug_cfi; /* of the file, of its debug file */
	struct object_index *index;
	bool symtab_tried, dwarf_tried, cfi_tried, debug_cfi_tried, debug_tried;
	bool has_missed; /* a debug file, maybe: it was looked for in a place that had gone */
	bool is_light;   /* object_lighten() */
	bool is_partial; /* some table could not be loaded, so answers may be incomplete */
	bool has_given_functions, has_given_lines; /* answers from the index had some */
	size_t max_bytes;                          /* of one file's tables */
	uint64_t last_use;
	bool has_grown;
	char build_id[BUILD_ID_HEX_SIZE];
	char *root, *path;

	struct intern *names;         /* and source files, of `frames`; NULL: none yet */
	struct address_map answer_of; /* address -> index in answers */
	struct remembered *answers;
	struct sym_frame *frames;
	size_t n_answers, max_answers, n_frames, max_frames;
};

/* Whether the file systems of its files answer now (file_gate.h). */
bool object_answers(const struct object *o);

/* Sets debug_tried, unless a file system does not answer. */
void object_load_debug_file(struct object *o);

/* Each on first use, after object_load_debug_file(); NULL: there is none that can be used. */
void object_load_symtabs(struct object *o);
struct dwarf_index *object_load_dwarf(struct object *o);

void object_forget_answers(struct object *o);

#endif
