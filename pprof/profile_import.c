/* Copies samples with all they refer to from one profile into another. */

#include "pprof/profile_import.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool is_kept(uint32_t types, size_t i)
{
	return !types || (i < 32 && (types >> i & 1));
}

bool profile_sample_is_zero(const struct profile *p, size_t i, uint32_t types)
{
	const int64_t *values = p->values + i * p->n_types;

	for (size_t t = 0; t < p->n_types; t++)
		if (values[t] && is_kept(types, t))
			return false;
	return true;
}

/* Finds the text of `into` that is equal to a text of `from`; NULL for NULL. 0 or -errno. */
static int import_text(struct profile_import *im, const char *text, const char **out)
{
	const char **known = &im->texts[profile_text_number(text)];

	*out = NULL;
	if (!text)
		return 0;
	if (!*known)
		*known = profile_intern_text(im->into, text);
	*out = *known;
	return *known ? 0 : -errno;
}

/* Mappings with equal keys become one when merging. */
struct mapping_key {
	uint64_t size, offset;
	const char *identity; /* a text of `into`; NULL for mappings that have no name */
};

enum { PAGE = 4096 };

static void fill_key(struct mapping_key *key, const struct profile_mapping_view *m, const char *identity)
{
	memset(key, 0, sizeof(*key));
	key->size = (m->limit - m->start + PAGE - 1) & ~(uint64_t)(PAGE - 1);
	key->offset = m->offset;
	key->identity = identity;
}

/* The id in `into` of each key there; where several mappings have one key, of the first. */
struct mapping_index {
	struct pprof_arena arena;
	struct pprof_intern keys;
	int64_t *ids; /* by number of the key */
};

static int index_mapping(struct mapping_index *x, const struct mapping_key *key, int64_t id)
{
	bool is_new;
	int64_t i = pprof_intern_add(&x->keys, key, sizeof(*key), &is_new);

	if (is_new)
		x->ids[i] = id;
	return i < 0 ? (int)i : 0;
}

static int index_mappings(struct mapping_index *x, const struct profile *p)
{
	int ret = 0;

	for (size_t i = 0; i < p->mappings.n && !ret; i++) {
		const struct profile_mapping_view *m = pprof_intern_get(&p->mappings, i);
		struct mapping_key key;

		fill_key(&key, m, m->build_id ? m->build_id : m->file);
		ret = index_mapping(x, &key, (int64_t)i + 1);
	}
	return ret;
}

static int merge_mapping(struct profile_import *im, struct mapping_index *x, size_t number)
{
	const struct profile_mapping_view *m = pprof_intern_get(&im->from->mappings, number), *found;
	struct profile_mapping_image *image = &im->mappings[number];
	const char *identity;
	struct mapping_key key;
	int64_t i;

	if (import_text(im, m->build_id ? m->build_id : m->file, &identity) < 0)
		return -errno;
	fill_key(&key, m, identity);
	i = pprof_intern_find(&x->keys, &key, sizeof(key));
	image->id = i < 0 ? profile_put_mapping(im->into, m) : x->ids[i];
	if (image->id < 0)
		return (int)image->id;
	found = pprof_intern_get(&im->into->mappings, (size_t)image->id - 1);
	image->shift = found->start - m->start;
	return i < 0 ? index_mapping(x, &key, image->id) : 0;
}

static int merge_mappings(struct profile_import *im)
{
	struct mapping_index x = { .arena.max_bytes = SIZE_MAX };
	int ret = -ENOMEM;

	x.keys.arena = &x.arena;
	x.ids = calloc(im->into->mappings.n + im->from->mappings.n + 1, sizeof(*x.ids));
	if (x.ids)
		ret = index_mappings(&x, im->into);
	for (size_t i = 0; i < im->from->mappings.n && !ret; i++)
		ret = merge_mapping(im, &x, i);
	pprof_intern_free(&x.keys);
	pprof_arena_clear(&x.arena);
	free(x.ids);
	return ret;
}

static int import_mapping(struct profile_import *im, size_t number)
{
	if (!im->mappings[number].id)
		im->mappings[number].id =
		        profile_put_mapping(im->into, pprof_intern_get(&im->from->mappings, number));
	return im->mappings[number].id < 0 ? (int)im->mappings[number].id : 0;
}

int profile_import_begin(struct profile_import *im, struct profile *into, const struct profile *from,
                         uint32_t types, enum profile_mapping_rule rule)
{
	*im = (struct profile_import){ .into = into, .from = from, .types = types };
	im->functions = calloc(from->functions.n + 1, sizeof(*im->functions));
	im->locations = calloc(from->locations.n + 1, sizeof(*im->locations));
	im->mappings = calloc(from->mappings.n + 1, sizeof(*im->mappings));
	im->texts = calloc(from->strings.n + 1, sizeof(*im->texts));
	im->row = calloc(from->n_types + 1, sizeof(*im->row));
	if (!im->functions || !im->locations || !im->mappings || !im->texts || !im->row)
		return -ENOMEM;
	if (rule == PROFILE_MAPPINGS_MERGE)
		return merge_mappings(im);
	/* The main binary stays the first, whoever refers to it. */
	return from->mappings.n ? import_mapping(im, 0) : 0;
}

void profile_import_end(struct profile_import *im)
{
	free(im->functions);
	free(im->locations);
	free(im->mappings);
	free(im->texts);
	free(im->row);
}

static int64_t import_function(struct profile_import *im, int64_t id)
{
	int64_t *known = &im->functions[id - 1];

	if (!*known)
		*known = profile_put_function(im->into,
		                              pprof_intern_get(&im->from->functions, (size_t)id - 1));
	return *known;
}

static int64_t copy_location(struct profile_import *im, const struct profile_location_record *from)
{
	const struct profile_line *lines = profile_location_lines(from);
	struct profile_location_record *to;

	if (from->mapping_id && import_mapping(im, from->mapping_id - 1) < 0)
		return im->mappings[from->mapping_id - 1].id;
	to = profile_location_begin(im->into, from->n_frames);
	if (!to)
		return -errno;
	to->address = from->address;
	to->is_folded = from->is_folded;
	if (from->mapping_id) {
		to->mapping_id = (uint32_t)im->mappings[from->mapping_id - 1].id;
		to->address += im->mappings[from->mapping_id - 1].shift;
	}
	for (size_t i = 0; i < from->n_frames; i++) {
		int64_t function = import_function(im, lines[i].function_id);

		if (function < 0)
			return function;
		profile_location_set_frame(im->into, to, i, function, from->frames[i].line, lines[i].column);
	}
	return profile_location_commit(im->into, to);
}

static int64_t import_location(struct profile_import *im, int64_t id)
{
	int64_t *known = &im->locations[id - 1];

	if (!*known)
		*known = copy_location(im, pprof_intern_get(&im->from->locations, (size_t)id - 1));
	return *known;
}

static int import_label(struct profile_import *im, struct profile_label *to, const struct profile_label *from)
{
	to->num = from->num;
	if (import_text(im, from->key, &to->key) < 0 || import_text(im, from->str, &to->str) < 0 ||
	    import_text(im, from->unit, &to->unit) < 0)
		return -errno;
	return 0;
}

static const int64_t *kept_values(struct profile_import *im, size_t i)
{
	const int64_t *values = im->from->values + i * im->from->n_types;
	size_t n = 0;

	for (size_t t = 0; t < im->from->n_types; t++)
		if (is_kept(im->types, t))
			im->row[n++] = values[t];
	return im->row;
}

int profile_import_sample(struct profile_import *im, size_t i)
{
	const struct profile_sample_record *from = pprof_intern_get(&im->from->samples, i);
	const struct profile_label *labels = profile_sample_labels(from);
	struct profile_sample_record *to;

	/* Locations are built in the place where the sample will be, so all of them first. */
	for (size_t l = 0; l < from->n_locations; l++) {
		int64_t id = import_location(im, from->location_ids[l]);

		if (id < 0)
			return (int)id;
	}
	to = profile_sample_begin(im->into, from->n_locations, from->n_labels);
	if (!to)
		return -errno;
	for (size_t l = 0; l < from->n_locations; l++)
		to->location_ids[l] = im->locations[from->location_ids[l] - 1];
	for (size_t l = 0; l < from->n_labels; l++)
		if (import_label(im, &profile_sample_labels(to)[l], &labels[l]) < 0)
			return -errno;
	return profile_sample_commit(im->into, to, kept_values(im, i));
}

static int copy_texts(struct profile *to, const struct profile *from)
{
	int ret = 0;

	for (size_t i = 0; i < from->n_comments && !ret; i++)
		ret = profile_add_comment(to, from->comments[i]);
	for (size_t i = 0; i < from->n_notes && !ret; i++)
		ret = profile_add_note(to, from->notes[i]);
	if (ret < 0 || profile_intern_optional(to, from->drop_frames, &to->drop_frames) < 0 ||
	    profile_intern_optional(to, from->keep_frames, &to->keep_frames) < 0 ||
	    profile_intern_optional(to, from->doc_url, &to->doc_url) < 0)
		return ret < 0 ? ret : -errno;
	return 0;
}

/* An empty profile with the header and comments of `p` and the types of the mask. NULL with errno set. */
static struct profile *copy_header(const struct profile *p, uint32_t types, size_t max_bytes)
{
	struct profile_value_type *kept = calloc(p->n_types + 1, sizeof(*kept));
	struct profile *copy = NULL;
	size_t n = 0;
	int ret;

	if (!kept)
		return NULL;
	for (size_t i = 0; i < p->n_types; i++)
		if (is_kept(types, i))
			kept[n++] = p->types[i];
	copy = profile_create(kept, n, p->period_type, p->period, max_bytes);
	free(kept);
	if (!copy)
		return NULL;
	profile_set_time(copy, p->time_ns, p->duration_ns);
	if (p->default_type)
		profile_set_default_type(copy, p->default_type); /* not when its type is left out */
	ret = copy_texts(copy, p);
	if (ret < 0) {
		profile_free(copy);
		errno = -ret;
		return NULL;
	}
	return copy;
}

int profile_copy_nonzero(const struct profile *p, uint32_t types, size_t first, size_t end,
                         struct profile **out)
{
	struct profile_import im;
	struct profile *copy;
	int ret;

	if (p->n_types < 32 && types >> p->n_types)
		return -EINVAL;
	copy = copy_header(p, types, SIZE_MAX);
	if (!copy)
		return -errno;
	ret = profile_import_begin(&im, copy, p, types, PROFILE_MAPPINGS_EXACT);
	for (size_t i = first; i < end && !ret; i++)
		if (!profile_sample_is_zero(p, i, types))
			ret = profile_import_sample(&im, i);
	profile_import_end(&im);
	if (ret < 0) {
		profile_free(copy);
		return ret;
	}
	*out = copy;
	return 0;
}
