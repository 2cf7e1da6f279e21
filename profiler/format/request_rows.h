/*
 * Whose requests the devices served: by class of tags, device and kind, how many there were, of how much data, and how
 * long they took. Requests overlap, so their times are no part of anybody's wall time. Rows of equal key are summed.
 * Not thread-safe.
 */
#ifndef STALLPROF_PROFILER_REQUEST_ROWS_H
#define STALLPROF_PROFILER_REQUEST_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct profile;

#define REQUEST_ROWS_MAX 16384

enum request_op { REQUEST_READ, REQUEST_WRITE, REQUEST_FLUSH, REQUEST_DISCARD, REQUEST_OTHER, REQUEST_OPS };

struct request_row {
	const char *device; /* for example "vda" */
	const char *class;  /* the value of ai_tag; "": of no tag */
	enum request_op op;
	bool writeback;    /* what a tag's threads wrote into the page cache, written by somebody else */
	uint64_t requests; /* that ended */
	uint64_t bytes;
	uint64_t ns; /* from their starts to their ends, in all */
};

struct request_rows;

/* read, write, flush, discard, other */
const char *request_op_name(enum request_op op);

/* NULL with errno ENOMEM. */
struct request_rows *request_rows_new(void);
void request_rows_free(struct request_rows *rows);

/* Adds a copy of row; NULL strings count as "". 0; -ENOMEM; -ENOSPC beyond REQUEST_ROWS_MAX; -EINVAL for an op out of
 * range. Sums saturate. */
int request_rows_add(struct request_rows *rows, const struct request_row *row);

/* Sorted by device, class, op, writeback. The pointers are valid until the next request_rows_add(). */
size_t request_rows_count(const struct request_rows *rows);
const struct request_row *request_rows_at(const struct request_rows *rows, size_t index);

/*
 * Adds a note for each row, in the form of note_line.h:
 *
 *     stallprof.requests device=vda class=ckpt op=write writeback=1 requests=3 bytes=12288 ns=123
 *
 * writeback is left out where it is 0. 0, -ENOMEM, or what profile_add_note says.
 */
int request_rows_to_notes(const struct request_rows *rows, struct profile *profile);

/* Adds the rows of a profile's notes. Lines that are not as above are skipped and counted in *malformed (added to it;
 * may be NULL). 0, or as request_rows_add(). */
int request_rows_from_notes(struct request_rows *rows, const struct profile *profile, size_t *malformed);

#endif
