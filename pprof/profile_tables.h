/*
 * The inside of a profile, for the files of this folder alone.
 *
 * Five tables of interned records that refer to each other. Texts are referred to by their address, which is
 * as good as their number since each is held once; the rest by id, which is number + 1.
 *
 *   samples ──location id──> locations ──mapping id──> mappings
 *      │                        └─ function id ──> functions
 *      └ row of `values`                     all of them ──address──> strings
 *
 * The records of the public views are stored as the views show them, so a view costs nothing.
 */
#ifndef STALLPROF_PPROF_PROFILE_TABLES_H
#define STALLPROF_PPROF_PROFILE_TABLES_H

#include "pprof/pprof_intern.h"
#include "pprof/profile.h"

struct profile {
	struct pprof_arena arena;
	struct pprof_intern strings, mappings, functions, locations, samples;
	int64_t *values; /* samples.n rows of n_types */
	size_t values_capacity;
	struct profile_value_type *types, period_type;
	size_t n_types;
	int64_t period, time_ns, duration_ns;
	const char *default_type; /* NULL: none set */
	const char *drop_frames, *keep_frames, *doc_url;
	const char **comments;
	size_t n_comments, comments_capacity;
	char **notes; /* pieces of the arena */
	size_t n_notes, notes_capacity;
	void *scratch; /* the record being built */
	size_t scratch_capacity;
};

struct profile_function {
	const char *name;
	const char *system_name, *file; /* NULL for "" */
	int64_t start_line;
};

/* What a frame has besides what its view shows. */
struct profile_line {
	int64_t function_id, column;
};

struct profile_location_record {
	uint64_t address;
	uint32_t mapping_id, n_frames;
	uint64_t is_folded;
	struct profile_frame frames[]; /* n_frames, then as many profile_line */
};

struct profile_sample_record {
	uint32_t n_locations, n_labels;
	int64_t location_ids[]; /* n_locations, then n_labels profile_label */
};

/* As profile_new(), with any number of types. */
struct profile *profile_create(const struct profile_value_type *types, size_t n_types,
                               struct profile_value_type period_type, int64_t period, size_t max_bytes);

/* The profile's copy of a text, "" for NULL; U+FFFD stands for each byte that is no UTF-8, which readers refuse. NULL with errno set. */
const char *profile_intern_text(struct profile *p, const char *text);

/* `text` interned in p becomes *out, NULL when it is NULL or "". 0 or -errno. */
int profile_intern_optional(struct profile *p, const char *text, const char **out);

/* As profile_add_note(), of bytes that end where the first NUL or `len` says. */
int profile_add_note_bytes(struct profile *p, const void *bytes, size_t len);

/* The number of a text that this profile interned; 0, that of "", for NULL. */
size_t profile_text_number(const char *interned);

/* Return the id of an equal record, which is added if it is new. The texts are interned here. */
int64_t profile_put_mapping(struct profile *p, const struct profile_mapping_view *m);
int64_t profile_put_function(struct profile *p, const struct profile_function *f);

/*
 * A location or a sample is built in place: begin (NULL with errno set), fill all of it, commit; begin nothing else
 * in between. Frames are set by function id; labels' texts must be the profile's own.
 */
struct profile_location_record *profile_location_begin(struct profile *p, size_t n_frames);
void profile_location_set_frame(struct profile *p, struct profile_location_record *r, size_t i,
                                int64_t function_id, uint32_t line, int64_t column);
int64_t profile_location_commit(struct profile *p, struct profile_location_record *r);
struct profile_sample_record *profile_sample_begin(struct profile *p, size_t n_locations, size_t n_labels);
int profile_sample_commit(struct profile *p, struct profile_sample_record *r, const int64_t *values);

/* The arrays that follow the record's last frame or last location. */
const struct profile_line *profile_location_lines(const struct profile_location_record *r);
struct profile_label *profile_sample_labels(const struct profile_sample_record *r);

#endif
