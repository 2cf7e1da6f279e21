/*
 * One file's index on disk: blocks, and a directory of them by address.
 *
 *	header		what the index is for, and where the directory is; has a checksum of its own
 *	blocks		as in index_block.h, each at a multiple of 8
 *	directory	low, high, place, length and checksum of every block, sorted, none reaching into the next
 *
 * A reader loads header and directory, then only the blocks that it needs, by pread: if others change the file, a
 * checksum fails at worst. Numbers are in the machine's own byte order; a file of another version, byte order or
 * object is not used.
 */
#ifndef SYMBOLIZER_INDEX_FILE_H
#define SYMBOLIZER_INDEX_FILE_H

#include "symbolizer/index/index_block.h"
#include "symbolizer/index/index_dir.h"

#define INDEX_FILE_VERSION 3
#define INDEX_MAX_BLOCKS   ((uint64_t)1 << 20)

#define INDEX_FILE_MAGIC      "stallsym"
#define INDEX_FILE_BYTE_ORDER 0x0102030405060708u

/* What an index is for. The file's name has each part of it, so different keys have different files. */
struct index_key {
	char build_id[136]; /* lower-case hex, then zeros: the struct has no padding */
	uint64_t size;      /* bytes */
	/* Of its debug file, and of the one that dwz moved debug information into. 0: there is none. */
	uint64_t debug_size, alt_size;
	uint64_t owner; /* the user who may write to them: one user's file must not answer for another's */
	uint64_t maker; /* index_maker() */
};

struct index_file_header {
	char magic[8];
	uint64_t version, byte_order;
	struct index_key key;
	uint64_t directory, n_entries; /* offset of the directory, and its number of entries */
	uint64_t directory_checksum;
	uint64_t checksum; /* of all fields before this one */
};

/* An entry of the directory: one block. */
struct index_entry {
	uint64_t low, high;
	uint64_t offset, len;
	uint64_t checksum;
};

struct index_file {
	int fd;
	struct index_entry *entries;
	size_t n_entries;
};

void index_key_name(const struct index_key *key, char name[INDEX_NAME_SIZE]);

/* -ENOENT: there is none; -EBADMSG: malformed, of another version or of another key; -errno. */
int index_file_open(const struct index_dir *dir, const struct index_key *key, struct index_file **out);

/* The same for a descriptor, which it takes in any case. */
int index_file_open_fd(int fd, const struct index_key *key, struct index_file **out);
void index_file_close(struct index_file *f);

/* NULL: no block has the address. */
const struct index_entry *index_file_find(const struct index_file *f, uint64_t address);

/*
 * Reads one block and checks it; the caller frees it. -EBADMSG: its checksum is wrong, or it is no valid block;
 * -ENOMEM, -errno.
 */
int index_file_read(const struct index_file *f, const struct index_entry *entry, struct index_block **out);

/*
 * Writes the blocks of `old` (may be NULL) and `blocks`, sorted by `low`, into `fd`. Old blocks that overlap a new
 * one are dropped, and so are damaged ones, whose number is added to *refused.
 */
int index_file_write(int fd, const struct index_key *key, const struct index_file *old,
                     struct index_block *const *blocks, size_t n_blocks, uint64_t *refused);

#endif
