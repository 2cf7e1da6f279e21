/*
 * The files that any process has mapped, once each. They are told apart by device, inode, size and time of change, so
 * that a file replaced in place is another file; and by build-id, so that the same library in two containers is one.
 *
 * Tables are bounded: over max_bytes, or over the number of open files, the least recently used object goes.
 * `generation` changes whenever an object is evicted: pointers got before are invalid then.
 */
#ifndef SYMBOLIZER_OBJECT_CACHE_H
#define SYMBOLIZER_OBJECT_CACHE_H

#include "symbolizer/object/object.h"

struct object_cache;

struct object_cache *object_cache_new(const struct object_environment *env);
void object_cache_free(struct object_cache *c);

/*
 * The object of an open regular file, of which fstat() said `st`; takes `fd` in any case. `root` and `path` as object_new(). -EBADMSG: it can't
 * be used, which is counted once a file. An error that may pass (object_cache_may_pass()) is not remembered: the file
 * is tried again.
 */
int object_cache_get(struct object_cache *c, int fd, const struct stat *st, const char *root,
                     const char *path, struct object **out);

/* Is the error's cause outside the file: no descriptors, no memory, an interruption? */
bool object_cache_may_pass(int err);

/* The vDSO that this process has mapped, which is every process's. NULL: none. */
struct object *object_cache_vdso(struct object_cache *c);

/* Drops the files of that build-id, so that they are opened anew. Pointers got before become invalid. */
void object_cache_forget(struct object_cache *c, const char *build_id);

/* Call after each use of an object: updates its memory, and evicts others if need be. */
void object_cache_used(struct object_cache *c, struct object *o);

/* object_save() for all of them. True: some index was written. */
bool object_cache_save(struct object_cache *c, bool last);

uint64_t object_cache_generation(const struct object_cache *c);
size_t object_cache_memory(const struct object_cache *c);
size_t object_cache_count(const struct object_cache *c);

#endif
