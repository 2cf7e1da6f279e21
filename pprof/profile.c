/* Builds a profile: header, comments, mappings, locations, samples. */

#include "pprof/profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pprof/profile_tables.h"

enum { TYPES_MAX = 32 };

struct profile *profile_new(const struct profile_value_type *types, size_t n_types,
                            struct profile_value_type period_type, int64_t period, size_t max_bytes)
{
	bool ok = n_types >= 1 && n_types <= TYPES_MAX;

	for (size_t i = 0; ok && i < n_types; i++)
		ok = types[i].type && *types[i].type && types[i].unit && *types[i].unit;
	if (!ok) {
		errno = EINVAL;
		return NULL;
	}
	return profile_create(types, n_types, period_type, period, max_bytes);
}

void profile_free(struct profile *p)
{
	if (!p)
		return;
	pprof_intern_free(&p->strings);
	pprof_intern_free(&p->mappings);
	pprof_intern_free(&p->functions);
	pprof_intern_free(&p->locations);
	pprof_intern_free(&p->samples);
	free(p->values);
	free(p->comments);
	free(p->notes);
	free(p->scratch);
	pprof_arena_clear(&p->arena);
	free(p);
}

void profile_set_time(struct profile *p, int64_t time_unix_ns, int64_t duration_ns)
{
	p->time_ns = time_unix_ns;
	p->duration_ns = duration_ns;
}

int profile_set_default_type(struct profile *p, const char *type)
{
	int i = profile_find_type(p, type);

	if (i < 0)
		return -EINVAL;
	p->default_type = p->types[i].type;
	return 0;
}

int profile_reserve(struct profile *p, size_t bytes)
{
	return pprof_arena_charge(&p->arena, bytes);
}

void profile_unreserve(struct profile *p, size_t bytes)
{
	p->arena.used_bytes -= bytes;
}

int profile_add_comment(struct profile *p, const char *text)
{
	const char **comments;

	comments = pprof_arena_grow(&p->arena, p->comments, &p->comments_capacity, p->n_comments + 1,
	                            sizeof(*comments));
	if (!comments)
		return -errno;
	p->comments = comments;
	comments[p->n_comments] = profile_intern_text(p, text);
	if (!comments[p->n_comments])
		return -errno;
	p->n_comments++;
	return 0;
}

int profile_add_note_bytes(struct profile *p, const void *bytes, size_t len)
{
	char **notes, *note;

	len = strnlen(bytes, len);
	notes = pprof_arena_grow(&p->arena, p->notes, &p->notes_capacity, p->n_notes + 1, sizeof(*notes));
	if (!notes)
		return -errno;
	p->notes = notes;
	note = pprof_arena_alloc(&p->arena, len + 1);
	if (!note)
		return -errno;
	memcpy(note, bytes, len); /* the NUL is there already */
	notes[p->n_notes++] = note;
	return 0;
}

int profile_add_note(struct profile *p, const char *text)
{
	return profile_add_note_bytes(p, text, strlen(text));
}

void profile_drop_notes(struct profile *p)
{
	p->n_notes = 0;
}

int64_t profile_mapping(struct profile *p, uint64_t start, uint64_t limit, uint64_t offset, const char *file,
                        const char *build_id, bool has_functions, bool has_lines_and_inlines)
{
	struct profile_mapping_view m = {
		.start = start,
		.limit = limit,
		.offset = offset,
		.file = file,
		.build_id = build_id,
		.has_functions = has_functions,
		.has_filenames = has_lines_and_inlines,
		.has_lines = has_lines_and_inlines,
		.has_inlines = has_lines_and_inlines,
	};

	return profile_put_mapping(p, &m);
}

int64_t profile_location(struct profile *p, int64_t mapping_id, uint64_t address,
                         const struct profile_frame *frames, size_t n_frames)
{
	struct profile_location_record *r;

	if (mapping_id < 0 || (uint64_t)mapping_id > p->mappings.n || (!n_frames && !address))
		return -EINVAL;
	for (size_t i = 0; i < n_frames; i++)
		if (!frames[i].function || !*frames[i].function)
			return -EINVAL;
	r = profile_location_begin(p, n_frames);
	if (!r)
		return -errno;
	r->mapping_id = (uint32_t)mapping_id;
	r->address = address;
	for (size_t i = 0; i < n_frames; i++) {
		struct profile_function f = {
			.name = frames[i].function,
			.system_name = frames[i].system_name,
			.file = frames[i].file,
		};
		int64_t id = profile_put_function(p, &f);

		if (id < 0)
			return id;
		profile_location_set_frame(p, r, i, id, frames[i].line, 0);
	}
	return profile_location_commit(p, r);
}

static bool is_empty_text(const struct profile_label *l)
{
	return l->str && !*l->str;
}

static bool labels_are_valid(const struct profile_label *labels, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!labels[i].key || !*labels[i].key ||
		    (!labels[i].str && (!labels[i].unit || !*labels[i].unit)))
			return false;
	return true;
}

static int set_label(struct profile *p, struct profile_label *to, const struct profile_label *from)
{
	to->key = profile_intern_text(p, from->key);
	if (!to->key)
		return -errno;
	if (from->str)
		return profile_intern_optional(p, from->str, &to->str);
	to->num = from->num;
	return profile_intern_optional(p, from->unit, &to->unit);
}

int profile_add_sample(struct profile *p, const int64_t *location_ids, size_t n, const int64_t *values,
                       const struct profile_label *labels, size_t n_labels)
{
	struct profile_sample_record *r;
	size_t kept = 0;

	if (!n || !labels_are_valid(labels, n_labels))
		return -EINVAL;
	for (size_t i = 0; i < n; i++)
		if (location_ids[i] < 1 || (uint64_t)location_ids[i] > p->locations.n)
			return -EINVAL;
	for (size_t i = 0; i < n_labels; i++)
		kept += !is_empty_text(&labels[i]);
	r = profile_sample_begin(p, n, kept);
	if (!r)
		return -errno;
	memcpy(r->location_ids, location_ids, n * sizeof(*location_ids));

	struct profile_label *to = profile_sample_labels(r);

	for (size_t i = 0; i < n_labels; i++) {
		int ret;

		if (is_empty_text(&labels[i]))
			continue;
		ret = set_label(p, to++, &labels[i]);
		if (ret < 0)
			return ret;
	}
	return profile_sample_commit(p, r, values);
}
