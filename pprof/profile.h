/*
 * A profile in Google's pprof format: build it, read it, merge, cut, encode and decode it.
 *
 *   p = profile_new(types, ...);                    what is counted
 *   m = profile_mapping(p, ...);                    the main binary first
 *   l = profile_location(p, m, address, frames, n)  any number, any order
 *   profile_add_sample(p, locations, n, values, labels, n_labels);
 *   profile_encode(p, 0, true, &buf, &len);
 *   profile_free(p);
 *
 * Everything is interned: equal texts, mappings, functions and locations are held once and keep their id, and
 * a sample whose stack and labels were seen before adds to that one. Each call costs one hash of its
 * arguments.
 *
 * A profile owns copies of all it was given. Pointers that it hands out live as long as it does, except
 * `values` of a sample view, which the next profile_add_sample() may move. Not thread-safe; any number of
 * threads may read one profile that nobody changes (encode and split only read).
 *
 * Functions returning int give 0 or -errno, those returning int64_t an id > 0 or -errno:
 *   -ENOSPC  the bound given to profile_new() or profile_decode() is reached; what is in the profile stays
 *            valid, and samples equal to ones it holds can still be added
 *   -EINVAL  an argument breaks the contract stated below; nothing was changed
 *   -ENOMEM  the system has no memory
 */
#ifndef STALLPROF_PPROF_PROFILE_H
#define STALLPROF_PPROF_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct profile;

struct profile_value_type {
	const char *type, *unit; /* "delay", "nanoseconds" */
};

/* One line of a location; several where calls were inlined. */
struct profile_frame {
	const char *function;    /* as people read it; not empty */
	const char *system_name; /* as the linker sees it; may be NULL */
	const char *file;        /* may be NULL */
	uint32_t line;           /* 0: not known */
};

/* A text if `str` is set. Else the number `num`, which needs a unit (pprof shows no number without a unit, and
 * loses zeros). */
struct profile_label {
	const char *key;
	const char *str;
	int64_t num;
	const char *unit;
};

/* --- build -------------------------------------------------------------------------------------------- */

/*
 * `types`: 1 to 32. `period_type` may be {NULL, NULL}, but Pyroscope wants one. `max_bytes` bounds the memory
 * of the contents (texts, tables, hash tables). NULL with errno set.
 */
struct profile *profile_new(const struct profile_value_type *types, size_t n_types,
                            struct profile_value_type period_type, int64_t period, size_t max_bytes);
void profile_free(struct profile *p); /* NULL is fine */

void profile_set_time(struct profile *p, int64_t time_unix_ns, int64_t duration_ns);

/* Sets the type that readers show first; the default is the last one. -EINVAL: not a type of this profile. */
int profile_set_default_type(struct profile *p, const char *type);

/* Reserves so much of `max_bytes` for what is added later, when that is unreserved again. 0 or -ENOSPC. */
int profile_reserve(struct profile *p, size_t bytes);
void profile_unreserve(struct profile *p, size_t bytes);

/* Adds free text, kept in order; pprof prints each above its table and beside its graph. */
int profile_add_comment(struct profile *p, const char *text);

/* Adds a line of our own, kept in order, which no other reader sees (profile.proto: field 1000). Not interned. */
int profile_add_note(struct profile *p, const char *text);
/* Forgets them, so that profile_merge() does not copy them. Their memory stays taken. */
void profile_drop_notes(struct profile *p);

/*
 * A range [start, limit) of ELF addresses mapped from `offset` of a file. The first one ever added is what
 * pprof calls the main binary. `file` and `build_id` (hex digits) may be NULL. The flags say what its frames
 * already have, so that readers need not look for it. Equal arguments give the same id.
 */
int64_t profile_mapping(struct profile *p, uint64_t start, uint64_t limit, uint64_t offset, const char *file,
                        const char *build_id, bool has_functions, bool has_lines_and_inlines);

/*
 * A place in the code: an address within a mapping (`mapping_id` 0: in none), and its frames, the innermost
 * (inlined callee) first. -EINVAL: unknown mapping, a frame without function, or neither address nor frame
 * (readers drop samples with such a location).
 */
int64_t profile_location(struct profile *p, int64_t mapping_id, uint64_t address,
                         const struct profile_frame *frames, size_t n_frames);

/*
 * Adds one value per type to the sample with this stack (leaf first, at least one location) and these labels
 * (in any order; a text label that is "" is left out, as pprof can't hold it). -EINVAL: unknown location, a
 * label without key, a number without unit. -EOVERFLOW: a sum would not fit; nothing was added.
 */
int profile_add_sample(struct profile *p, const int64_t *location_ids, size_t n, const int64_t *values,
                       const struct profile_label *labels, size_t n_labels);

/* --- read --------------------------------------------------------------------------------------------- */

struct profile_sample_view {
	const int64_t *location_ids; /* leaf first */
	size_t n_locations;
	const int64_t *values;              /* one per type; until the next profile_add_sample() */
	const struct profile_label *labels; /* sorted by key, then by value */
	size_t n_labels;
};

struct profile_location_view {
	int64_t mapping_id; /* 0: none */
	uint64_t address;
	const struct profile_frame *frames; /* innermost first */
	size_t n_frames;
	bool is_folded; /* other functions share this code (the linker folded equal ones) */
};

struct profile_mapping_view {
	uint64_t start, limit, offset;
	const char *file, *build_id; /* NULL: not known */
	bool has_functions, has_filenames, has_lines, has_inlines;
};

/* Bytes of memory that its contents take, or that are reserved, out of the `max_bytes` given to profile_new(). */
size_t profile_bytes(const struct profile *p);

size_t profile_n_types(const struct profile *p);
struct profile_value_type profile_type(const struct profile *p, size_t i);
int profile_find_type(const struct profile *p, const char *type); /* its index, or -ENOENT */
const char *profile_default_type(const struct profile *p); /* the one set, else the last; "" if no type */
struct profile_value_type profile_period_type(const struct profile *p);
int64_t profile_period(const struct profile *p);
int64_t profile_time_ns(const struct profile *p); /* Unix time; 0: not set */
int64_t profile_duration_ns(const struct profile *p);
size_t profile_n_comments(const struct profile *p);
const char *profile_comment(const struct profile *p, size_t i);
size_t profile_n_notes(const struct profile *p);
const char *profile_note(const struct profile *p, size_t i);

/* Samples count from 0; ids of mappings and locations run from 1 to their number. False or NULL: there is no such
 * one. */
size_t profile_n_samples(const struct profile *p);
bool profile_get_sample(const struct profile *p, size_t i, struct profile_sample_view *out);
size_t profile_n_locations(const struct profile *p);
bool profile_get_location(const struct profile *p, int64_t id, struct profile_location_view *out);
size_t profile_n_mappings(const struct profile *p);
const struct profile_mapping_view *profile_get_mapping(const struct profile *p, int64_t id);

/* --- encode and decode -------------------------------------------------------------------------------- */

/*
 * Serialises, compressed when `gzip`; *buf is malloc'd and the caller's. `types` is a bit mask of the value
 * types to keep (0: all; -EINVAL: a bit for no type); samples whose kept values are all 0 are left out, and
 * what only they used. The same profile gives the same bytes.
 */
int profile_encode(const struct profile *p, uint32_t types, bool gzip, void **buf, size_t *len);

/*
 * Reads any valid profile: plain or gzip (several members too), from any producer. Valid is what pprof's own reader
 * checks (string 0 is "", as many values as types, ids not 0, not twice, not dangling, texts inside the table) and
 * what the format's text forbids besides: an unknown mapping, a label with both text and number or unit. Unknown
 * fields are skipped. Lines that don't fit 32 bits become 0; equal samples become one.
 *
 * `max_bytes` bounds the result as in profile_new(); while it works as much again may be in use, whatever
 * `buf` claims about itself. On failure *out is NULL and `err` has one line, without newline, saying what is
 * wrong and where. -EBADMSG: not a valid profile; -ENOSPC: bigger than max_bytes; -EOVERFLOW: values of equal
 * samples overflow.
 */
int profile_decode(const void *buf, size_t len, size_t max_bytes, struct profile **out, char *err,
                   size_t err_len);

/* --- merge and cut ------------------------------------------------------------------------------------ */

/*
 * Adds all of `from` to `into`. Both must have equal sample types (in order) and period type, else -EINVAL and a
 * line in `err` says which differ. Mappings of equal size (in pages), offset and build-id (or file, without one)
 * become one, their addresses shifted to it. Time becomes the earliest, duration the sum, period the larger;
 * comments of `from` that `into` has already are not repeated, notes are all kept. After -ENOSPC, -ENOMEM or
 * -EOVERFLOW `into` holds a part of `from`: throw it away.
 */
int profile_merge(struct profile *into, const struct profile *from, char *err, size_t err_len);
/* 0 if their types let profile_merge() begin; -EINVAL as it returns then. */
int profile_merge_check(const struct profile *into, const struct profile *from, char *err, size_t err_len);

/*
 * Cuts a profile into parts that a receiver with limits takes: at most `max_samples` samples and `max_bytes` when
 * encoded plain, each with the header and comments of `p` and the value types of the mask `types` (as in
 * profile_encode()); merged again they are the whole (but for the notes, which are left out, and the duration: each
 * part has it in full, merging sums it). At least one part, if only an empty one. *parts is malloc'd:
 * profile_parts_free() frees the parts and the array. -EFBIG: a single sample, or the header with its comments, is
 * above `max_bytes`.
 */
int profile_split(const struct profile *p, uint32_t types, size_t max_samples, size_t max_bytes,
                  struct profile ***parts, size_t *n_parts);
void profile_parts_free(struct profile **parts, size_t n_parts);

#endif
