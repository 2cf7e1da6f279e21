/*
 * Files that had just been loaded when they were dropped again, as there was no memory for their tables. Whoever uses two of
 * them in turn would have each loaded again and again, and each time all others dropped: a file of some KB may unpack to
 * half of what all may have. So they are remembered for a while, in which less of them is read.
 */
#ifndef SYMBOLIZER_HEAVY_FILES_H
#define SYMBOLIZER_HEAVY_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The oldest go. */
#define HEAVY_FILES 64

/* For so long a file is remembered; one that was loaded longer ago is none of them. */
#define HEAVY_FILES_NS 120000000000ull

struct file_key {
	uint64_t device, inode, size;
	int64_t changed_ns;
};

struct heavy_files {
	struct heavy_file {
		struct file_key key;
		uint64_t until_ns;
		unsigned int times;
	} files[HEAVY_FILES];
	size_t next;
};

static inline bool file_key_is(const struct file_key *a, const struct file_key *b)
{
	return a->inode == b->inode && a->device == b->device && a->size == b->size &&
	       a->changed_ns == b->changed_ns;
}

/* The file was dropped for the `times`th time in a row. */
void heavy_files_add(struct heavy_files *h, const struct file_key *key, uint64_t now_ns, unsigned int times);

/* How many times; 0: it is none of them, or no more. */
unsigned int heavy_files_times(const struct heavy_files *h, const struct file_key *key, uint64_t now_ns);

#endif
