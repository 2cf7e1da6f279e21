/* The tables inside a profile: interns texts, mappings, functions, locations and samples. */

#include "pprof/profile_tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pprof/utf8.h"

/* More would not fit a record of the tables anyway; keeps the sums below from wrapping. */
enum { PARTS_MAX = 1 << 24 };

static int intern_type(struct profile *p, struct profile_value_type *to, struct profile_value_type from)
{
	to->type = profile_intern_text(p, from.type);
	to->unit = to->type ? profile_intern_text(p, from.unit) : NULL;
	return to->unit ? 0 : -errno;
}

static int fill_header(struct profile *p, const struct profile_value_type *types, size_t n_types,
                       struct profile_value_type period_type)
{
	int ret = 0;

	/* String 0 has to be "". */
	if (!profile_intern_text(p, ""))
		return -errno;
	p->types = pprof_arena_alloc(&p->arena, n_types * sizeof(*p->types));
	if (!p->types)
		return -errno;
	p->n_types = n_types;
	for (size_t i = 0; i < n_types && !ret; i++)
		ret = intern_type(p, &p->types[i], types[i]);
	return ret ? ret : intern_type(p, &p->period_type, period_type);
}

struct profile *profile_create(const struct profile_value_type *types, size_t n_types,
                               struct profile_value_type period_type, int64_t period, size_t max_bytes)
{
	struct profile *p = calloc(1, sizeof(*p));
	int ret;

	if (!p)
		return NULL;
	p->arena.max_bytes = max_bytes;
	p->strings.arena = p->mappings.arena = p->functions.arena = &p->arena;
	p->locations.arena = p->samples.arena = &p->arena;
	p->period = period;
	ret = fill_header(p, types, n_types, period_type);
	if (ret < 0) {
		profile_free(p);
		errno = -ret;
		return NULL;
	}
	return p;
}

static const char *intern_valid(struct profile *p, const char *text, size_t size)
{
	int64_t i = pprof_intern_add(&p->strings, text, size + 1, NULL);

	if (i < 0) {
		errno = (int)-i;
		return NULL;
	}
	return pprof_intern_get(&p->strings, (size_t)i);
}

const char *profile_intern_text(struct profile *p, const char *text)
{
	size_t size = text ? strlen(text) : 0;
	const char *interned;
	char *mended;

	if (utf8_is_text(text, size))
		return intern_valid(p, text ? text : "", size);
	mended = utf8_mended(text);
	if (!mended)
		return NULL; /* with errno set */
	interned = intern_valid(p, mended, strlen(mended));
	free(mended);
	return interned;
}

int profile_intern_optional(struct profile *p, const char *text, const char **out)
{
	*out = text && *text ? profile_intern_text(p, text) : NULL;
	return text && *text && !*out ? -errno : 0;
}

size_t profile_text_number(const char *interned)
{
	return interned ? pprof_intern_number(interned) : 0;
}

static int64_t id_of(int64_t number)
{
	return number < 0 ? number : number + 1;
}

/* Records are keys, so each is filled field by field over zeroed memory: no stray bytes in the padding. */
int64_t profile_put_mapping(struct profile *p, const struct profile_mapping_view *m)
{
	struct profile_mapping_view r;

	memset(&r, 0, sizeof(r));
	if (profile_intern_optional(p, m->file, &r.file) < 0 ||
	    profile_intern_optional(p, m->build_id, &r.build_id) < 0)
		return -errno;
	r.start = m->start;
	r.limit = m->limit;
	r.offset = m->offset;
	r.has_functions = m->has_functions;
	r.has_filenames = m->has_filenames;
	r.has_lines = m->has_lines;
	r.has_inlines = m->has_inlines;
	return id_of(pprof_intern_add(&p->mappings, &r, sizeof(r), NULL));
}

int64_t profile_put_function(struct profile *p, const struct profile_function *f)
{
	struct profile_function r;

	memset(&r, 0, sizeof(r));
	r.name = profile_intern_text(p, f->name);
	if (!r.name || profile_intern_optional(p, f->system_name, &r.system_name) < 0 ||
	    profile_intern_optional(p, f->file, &r.file) < 0)
		return -errno;
	r.start_line = f->start_line;
	return id_of(pprof_intern_add(&p->functions, &r, sizeof(r), NULL));
}

static void *scratch(struct profile *p, size_t bytes)
{
	void *grown = pprof_arena_grow(&p->arena, p->scratch, &p->scratch_capacity, bytes, 1);

	if (!grown)
		return NULL;
	p->scratch = grown;
	memset(grown, 0, bytes);
	return grown;
}

static size_t location_bytes(size_t n_frames)
{
	return sizeof(struct profile_location_record) +
	       n_frames * (sizeof(struct profile_frame) + sizeof(struct profile_line));
}

struct profile_location_record *profile_location_begin(struct profile *p, size_t n_frames)
{
	struct profile_location_record *r;

	if (n_frames > PARTS_MAX) {
		errno = E2BIG;
		return NULL;
	}
	r = scratch(p, location_bytes(n_frames));
	if (r)
		r->n_frames = (uint32_t)n_frames;
	return r;
}

const struct profile_line *profile_location_lines(const struct profile_location_record *r)
{
	return (const void *)(r->frames + r->n_frames);
}

void profile_location_set_frame(struct profile *p, struct profile_location_record *r, size_t i,
                                int64_t function_id, uint32_t line, int64_t column)
{
	const struct profile_function *f = pprof_intern_get(&p->functions, (size_t)function_id - 1);
	struct profile_line *extra = (void *)(r->frames + r->n_frames);

	r->frames[i].function = f->name;
	r->frames[i].system_name = f->system_name;
	r->frames[i].file = f->file;
	r->frames[i].line = line;
	extra[i].function_id = function_id;
	extra[i].column = column;
}

int64_t profile_location_commit(struct profile *p, struct profile_location_record *r)
{
	return id_of(pprof_intern_add(&p->locations, r, location_bytes(r->n_frames), NULL));
}

static size_t sample_bytes(size_t n_locations, size_t n_labels)
{
	return sizeof(struct profile_sample_record) + n_locations * sizeof(int64_t) +
	       n_labels * sizeof(struct profile_label);
}

struct profile_sample_record *profile_sample_begin(struct profile *p, size_t n_locations, size_t n_labels)
{
	struct profile_sample_record *r;

	if (n_locations > PARTS_MAX || n_labels > PARTS_MAX) {
		errno = E2BIG;
		return NULL;
	}
	r = scratch(p, sample_bytes(n_locations, n_labels));
	if (r) {
		r->n_locations = (uint32_t)n_locations;
		r->n_labels = (uint32_t)n_labels;
	}
	return r;
}

struct profile_label *profile_sample_labels(const struct profile_sample_record *r)
{
	return (void *)(r->location_ids + r->n_locations);
}

static int compare_text(const char *a, const char *b)
{
	return a == b ? 0 : strcmp(a ? a : "", b ? b : "");
}

static int compare_labels(const void *left, const void *right)
{
	const struct profile_label *a = left, *b = right;
	int order = compare_text(a->key, b->key);

	order = order ? order : compare_text(a->str, b->str);
	order = order ? order : (a->num > b->num) - (a->num < b->num);
	return order ? order : compare_text(a->unit, b->unit);
}

static int add_row(struct profile *p, size_t row, const int64_t *values)
{
	int64_t *to = p->values + row * p->n_types, sum;

	for (size_t i = 0; i < p->n_types; i++)
		if (__builtin_add_overflow(to[i], values[i], &sum))
			return -EOVERFLOW;
	for (size_t i = 0; i < p->n_types; i++)
		to[i] += values[i];
	return 0;
}

int profile_sample_commit(struct profile *p, struct profile_sample_record *r, const int64_t *values)
{
	size_t bytes = sample_bytes(r->n_locations, r->n_labels);
	int64_t *rows, i;
	bool is_new;

	if (r->n_labels > 1)
		qsort(profile_sample_labels(r), r->n_labels, sizeof(struct profile_label), compare_labels);
	/* Makes room for the values first, so that no sample is ever without them; an equal sample needs none. */
	rows = pprof_arena_grow(&p->arena, p->values, &p->values_capacity, (p->samples.n + 1) * p->n_types,
	                        sizeof(*rows));
	if (!rows) {
		int ret = -errno;

		i = pprof_intern_find(&p->samples, r, bytes);
		return i < 0 ? ret : add_row(p, (size_t)i, values);
	}
	p->values = rows;
	i = pprof_intern_add(&p->samples, r, bytes, &is_new);
	if (i < 0)
		return (int)i;
	if (!is_new)
		return add_row(p, (size_t)i, values);
	memcpy(rows + (size_t)i * p->n_types, values, p->n_types * sizeof(*values));
	return 0;
}
