/*
 * What is known of checkpoint files that were written while recording: what was written, whether all of it arrived, in which order it did,
 * and whether it had before the file got its name. A row says all that is known of a file up to the end of a window, so of several rows of
 * the same file (device, inode, begun_ns) the latest counts. Times are Unix time in nanoseconds, 0: it was not seen. Not thread-safe.
 */
#ifndef STALLPROF_PROFILER_CHECKPOINT_ROWS_H
#define STALLPROF_PROFILER_CHECKPOINT_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct profile;

#define CHECKPOINT_ROWS_MAX   4096
#define CHECKPOINT_RANGES_MAX 64 /* that a row lists */

/* Was all data on the device, and was that asked for by fsync and the like, when the file got its name? */
enum checkpoint_durable {
	CHECKPOINT_NOT_RENAMED, /* it has had its name from its beginning, as far as is known */
	CHECKPOINT_DURABLE,
	CHECKPOINT_NOT_DURABLE,
	CHECKPOINT_DURABLE_UNKNOWN,
	CHECKPOINT_DURABLES
};

/* Why that is no, or not known. */
enum checkpoint_reason {
	CHECKPOINT_NO_REASON,
	CHECKPOINT_STILL_DIRTY,        /* no: pages of it were in memory alone */
	CHECKPOINT_WRITE_FAILED,       /* no: a request or an fsync had failed */
	CHECKPOINT_NEVER_SYNCED,       /* unknown: nobody had asked for it, though it was written */
	CHECKPOINT_CHANGED_AFTER_SYNC, /* unknown: likewise, since the last fsync */
	CHECKPOINT_BEGUN_BEFORE, /* unknown: it had data before it was watched, and nothing was written since */
	CHECKPOINT_EVENTS_LOST, /* unknown */
	CHECKPOINT_REASONS
};

/* What the file's sha256 says, once it was closed. */
enum checkpoint_sum {
	CHECKPOINT_NO_SUM,      /* nobody asked for it, or it was written to since */
	CHECKPOINT_SUM_MATCHES, /* it is what the file's xattr user.ai.checkpoint says */
	CHECKPOINT_SUM_DIFFERS,
	CHECKPOINT_SUM_ALONE,   /* the xattr holds none */
	CHECKPOINT_SUM_WAITING, /* it is not taken yet */
	CHECKPOINT_SUM_CHANGED, /* the file was written to while it was read */
	CHECKPOINT_SUM_UNREAD,  /* the file was not found, or could not be read */
	CHECKPOINT_SUM_REFUSED, /* too many files waited, or who reads them had ended */
	CHECKPOINT_SUMS
};

/* A part of the file that was written without a gap. */
struct checkpoint_range {
	uint64_t offset, length;
	uint64_t first_done_ns, last_done_ns; /* when its first and its last request ended */
};

struct checkpoint_file {
	const char *path;         /* the last that is known, as its writer sees it; "": not known */
	const char *renamed_from; /* "": it was not renamed */
	const char *device;       /* of the file system */
	const char *class;        /* of the tag that its writers have */
	const char *sha256;       /* 64 hexadecimal digits; "": not known, see `sum` */
	const char *sha256_said;  /* by its xattr; "": that holds none */
	uint64_t inode, begun_ns, updated_ns;
	bool from_empty; /* all of its data is known: it was new, or empty, when it was opened */

	uint64_t writes, written_bytes; /* by calls (write and its relatives), not by mappings or io_uring */
	uint64_t short_writes, failed_writes;
	uint64_t first_write_ns, last_write_ns; /* ends of calls */

	uint64_t completions, completed_bytes; /* requests, and direct writes, that have ended */
	uint64_t failed_completions;
	uint64_t out_of_order; /* of these, such that began before what had ended already */
	uint64_t scattered;    /* … and such that were of several places, so that they are in no range */
	uint64_t first_done_ns, last_done_ns;

	uint64_t syncs, failed_syncs;        /* fsync, fdatasync, msync */
	uint64_t sync_begin_ns, sync_end_ns; /* the last that succeeded and was of the whole file */
	uint64_t renames, renamed_ns;        /* the last */
	uint64_t folder_synced_ns;           /* the first fsync of its folder since then */
	uint64_t closes, closed_ns;          /* by those who could write */
	uint64_t lost;                       /* events of it that found no room */
	int64_t error; /* errno of the first write, request or fsync that failed; 0: none */
	bool synced;   /* all of its data was synced, whenever */
	enum checkpoint_durable durable_before_name;
	enum checkpoint_reason reason;
	enum checkpoint_sum sum;

	uint64_t extents; /* how many ranges there are; the first CHECKPOINT_RANGES_MAX are listed */
	const struct checkpoint_range *ranges; /* by offset */
	size_t n_ranges;
};

struct checkpoint_rows;

/* "not_renamed", "yes", "no", "unknown" */
const char *checkpoint_durable_name(enum checkpoint_durable durable);
/* "", "still_dirty", "write_failed", "never_synced", "changed_after_sync", "begun_before", "events_lost" */
const char *checkpoint_reason_name(enum checkpoint_reason reason);
/* "", "matches", "differs", "no_xattr", "waiting", "changed", "unread", "refused" */
const char *checkpoint_sum_name(enum checkpoint_sum sum);
/* Whether something went wrong with the file: data that is lost, or is not what it should be, or that a crash can
 * lose behind its name. */
bool checkpoint_is_wrong(const struct checkpoint_file *file);

/* NULL with errno ENOMEM. */
struct checkpoint_rows *checkpoint_rows_new(void);
void checkpoint_rows_free(struct checkpoint_rows *rows);

/* Adds a copy, in the place of an older row of the same file; NULL strings count as "". 0; -ENOMEM; -ENOSPC beyond
 * CHECKPOINT_ROWS_MAX; -EINVAL for enums out of range, or ranges that are not sorted or overlap. */
int checkpoint_rows_add(struct checkpoint_rows *rows, const struct checkpoint_file *file);

/* Sorted by device, inode and begun_ns; NULL has none. The pointers are valid until the next checkpoint_rows_add(). */
size_t checkpoint_rows_count(const struct checkpoint_rows *rows);
const struct checkpoint_file *checkpoint_rows_at(const struct checkpoint_rows *rows, size_t index);

/*
 * Adds a note for each row, in the form of note_line.h:
 *
 *     stallprof.checkpoint path=/mnt/ck/a device=vda1 class=checkpoint_write inode=12 begun=17 updated=99 writes=2 … durable=yes
 *     ranges=0+8192:20-30,16384+4096
 *
 * Numbers that are 0 and texts that are "" are left out; a range is offset+length, with the times of its first and last completion where
 * there are any. 0, -ENOMEM, or what profile_add_note says.
 */
int checkpoint_rows_to_notes(const struct checkpoint_rows *rows, struct profile *profile);

/* Adds the rows of a profile's notes. Lines that are not as above are skipped and counted in *malformed (added to it;
 * may be NULL). 0, or as checkpoint_rows_add(). */
int checkpoint_rows_from_notes(struct checkpoint_rows *rows, const struct profile *profile,
                               size_t *malformed);

#endif
