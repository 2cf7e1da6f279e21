/* Reads the records of a jit-PID.dump one by one (see jitdump.h). Used by jitdump*.c only. */
#ifndef SYMBOLIZER_JITDUMP_FILE_H
#define SYMBOLIZER_JITDUMP_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JITDUMP_NAME_MAX 4096 /* bytes of a name that are read */

enum jitdump_kind { JITDUMP_LOAD = 0, JITDUMP_MOVE = 1, JITDUMP_DEBUG_INFO = 2, JITDUMP_CLOSE = 3 };

struct jitdump_file {
	int fd;
	uint64_t at;   /* of the next record */
	uint64_t size; /* of the file, when last looked at */
	uint64_t window_at;
	size_t window_len;
	uint8_t window[32768];
};

struct jitdump_record {
	uint32_t kind;
	uint64_t start, size;        /* of the code; LOAD, MOVE (its new place), DEBUG_INFO (start alone) */
	uint64_t old_start;          /* MOVE */
	char name[JITDUMP_NAME_MAX]; /* LOAD */
	uint64_t entries_at, entries_end, n_entries; /* DEBUG_INFO: where in the file */
};

/* Checks the file's header. -EBADMSG: malformed; -errno. */
int jitdump_file_begin(struct jitdump_file *f);

/* Updates the file's size. */
int jitdump_file_grow(struct jitdump_file *f);

/* Returns 1: a record; 0: no complete one yet; -EBADMSG: malformed. In a record of another kind only `kind` is set. */
int jitdump_file_next(struct jitdump_file *f, struct jitdump_record *out);

/* Reads up to `len` bytes from `offset`, fewer at the file's end; *got is how many. Valid until the next call. */
const uint8_t *jitdump_file_bytes(struct jitdump_file *f, uint64_t offset, size_t len, size_t *got);

#endif
