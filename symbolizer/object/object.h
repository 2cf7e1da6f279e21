/*
 * One file that is mapped somewhere: its symbols, DWARF and unwind tables, each loaded on first use, and the
 * answers given before.
 */
#ifndef SYMBOLIZER_OBJECT_H
#define SYMBOLIZER_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolizer/cfi/cfi.h"
#include "symbolizer/elf/debug_file.h"
#include "symbolizer/base/intern.h"
#include "symbolizer/index/object_index.h"
#include "symbolizer/types.h"

struct object;

/* What all objects of a symbolizer share. */
struct object_environment {
	const char *debug_dir;
	const char *fetched_dir; /* another one, of .build-id alone; NULL: none */
	void (*debug_missing)(const char *build_id, void *context); /* NULL: nobody wants to know */
	void *missing_context;
	struct index_dir *dir;           /* of indexes; NULL: none */
	const struct sym_beside *beside; /* what writes there; NULL: whoever saves */
	size_t max_bytes;
	bool keep_mangled;
	enum sym_names names;
	struct symbolizer_stats *stats;
};

/* Calls env->debug_missing(), if set, for the file of that build-id; not for "". */
void object_report_missing(const struct object_environment *env, const char *build_id);

/* The answer for one address. */
struct object_answer {
	const struct sym_frame *frames; /* until the next call for this object */
	size_t n_frames;
	enum sym_source source; /* DWARF or SYMTAB */
};

/*
 * `root` and `path` are where to look for debug files beside it (copied). Takes `f` in any case. NULL: no
 * memory.
 */
struct object *object_new(const struct object_environment *env, struct elf_file *f, const char *root,
                          const char *path);
void object_free(struct object *o);

/*
 * Reads no DWARF of it, nor any table larger than max_bytes, and counts it as too large. To be called before it is used;
 * `f` should have been opened with the same bound.
 */
void object_lighten(struct object *o, size_t max_bytes);

/*
 * Looks for debug files there from now on, as the process of the place before has ended. Looks again at once for what was
 * missed for that reason, and forgets the answers given without it.
 */
void object_move(struct object *o, const char *root, const char *path);

const char *object_build_id(const struct object *o);
bool object_has_functions(const struct object *o); /* as far as has been loaded, or answered */
bool object_has_lines(const struct object *o);

/* The ELF address at which `offset` of the file is mapped. False: no segment holds it. */
bool object_address(const struct object *o, uint64_t offset, uint64_t *address);

/* False: nothing is known of the address. The names live as long as the answer. */
bool object_resolve(struct object *o, uint64_t address, struct object_answer *out);

/* Reads bytes of the file as they are. -errno of reading; -EAGAIN: its file system does not answer; -EBADMSG: outside it. */
int object_read_file(const struct object *o, uint64_t offset, void *buffer, size_t len);

/*
 * The unwind rules for an ELF address, valid until the tables are freed. -ENOENT, -EBADMSG, -ENOSPC, -ENOMEM, as
 * cfi_rules_at(). -EAGAIN: a file's file system does not answer (file_gate.h).
 */
int object_rules(struct object *o, uint64_t address, const struct cfi_rules **out);

/* Bytes of all tables; changes only in object_resolve() and object_rules(). */
size_t object_memory(const struct object *o);

/* For the cache of objects: when it was last used. */
void object_touch(struct object *o, uint64_t clock);
uint64_t object_last_use(const struct object *o);

/* Has object_memory() changed since the last call? */
bool object_has_grown(struct object *o);

/* Saves new answers to the index on disk, as object_index_save(). True: it was written. */
bool object_save(struct object *o, enum index_save when);

/*
 * Frees the tables, which are loaded again when needed. Saves new answers to the index on disk before, unless
 * somebody else is writing there.
 */
void object_unload(struct object *o);

#endif
