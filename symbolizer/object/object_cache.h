/*
 * The files that any process has mapped, once each. They are told apart by device, inode, size and time of change, so
 * that a file replaced in place is another file; and by build-id, so that the same library in two containers is one.
 *
 * Tables are bounded: over max_bytes, or over the number of open files, the least recently used object goes. One that was
 * loaded just before, and is large, is opened with less for HEAVY_FILES_NS (heavy_files.h): it has names of its symbol table
 * alone, and files_too_large counts it.
 *
 * An open file holds the mount through which it was opened, its debug files too: none there can be unmounted, no volume
 * detached, and a deleted file's space is not free. So an object goes as well, by object_cache_let_go(), soon after the
 * process through which it was opened, or when it was not used for long.
 *
 * `generation` changes whenever an object goes: pointers got before may be invalid then, object_cache_holds() knows.
 */
#ifndef SYMBOLIZER_OBJECT_CACHE_H
#define SYMBOLIZER_OBJECT_CACHE_H

#include "symbolizer/object/object.h"

struct object_cache;

struct object_cache *object_cache_new(const struct object_environment *env);
void object_cache_free(struct object_cache *c);

/* Where a file was opened. */
struct object_place {
	const char *root, *path; /* as object_new() */
	const void *opener;      /* the process: until object_cache_opener_gone() */
};

/*
 * The object of an open regular file, of which fstat() said `st`; takes `fd` in any case. -EBADMSG: it can't
 * be used, which is counted once a file. An error that may pass (object_cache_may_pass()) is not remembered: the file
 * is tried again.
 */
int object_cache_get(struct object_cache *c, int fd, const struct stat *st, const struct object_place *place,
                     struct object **out);

/* Is the error's cause outside the file: no descriptors, no memory, an interruption? */
bool object_cache_may_pass(int err);

/* The vDSO that this process has mapped, which is every process's. NULL: none. */
struct object *object_cache_vdso(struct object_cache *c);

/* Drops the files of that build-id, so that they are opened anew. Pointers got before become invalid. */
void object_cache_forget(struct object_cache *c, const char *build_id);

/* Call after each use of an object: updates its memory, and evicts others if need be. */
void object_cache_used(struct object_cache *c, struct object *o);

/*
 * The process has ended, or has another program now. What it opened stays until object_cache_let_go(), or longer if
 * another process asks for the very same file meanwhile: that one counts as its opener then, and debug files are looked for
 * where it has the file.
 */
void object_cache_opener_gone(struct object_cache *c, const void *opener);

/*
 * Drops objects whose opener has gone, though other processes may use them: these open them anew, and hold the mount
 * themselves. Drops also what was not used for OBJECT_CACHE_IDLE_NS. Looks only once in OBJECT_CACHE_LOOK_NS, by `now_ns`
 * of whatever clock the caller always uses. Pointers got before may become invalid.
 *
 * To open libLLVM anew (129 MB, 118,004 functions), with 200 addresses to unwind by and to name, takes 2 ms with its index
 * on disk, 25 without: what is used every ten minutes costs nothing worth mentioning. A process that lives holds what it
 * has mapped in any case, so there is no hurry with what it does not use: it may have unmapped that.
 */
#define OBJECT_CACHE_LOOK_NS 30000000000ull
#define OBJECT_CACHE_IDLE_NS 300000000000ull
void object_cache_let_go(struct object_cache *c, uint64_t now_ns);

/* object_save() for all of them. True: some index was written. */
bool object_cache_save(struct object_cache *c, bool last);

uint64_t object_cache_generation(const struct object_cache *c);
/* Is `o`, got in that generation, still there? */
bool object_cache_holds(const struct object_cache *c, const struct object *o, uint64_t generation);
size_t object_cache_memory(const struct object_cache *c);
size_t object_cache_count(const struct object_cache *c);

#endif
