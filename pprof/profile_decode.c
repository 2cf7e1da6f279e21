/*
 * Bytes -> (gunzip) -> messages -> checks -> profile. Ids of the input may be any numbers; they are looked up
 * in tables whose record numbers are the messages' indices, and become the ids 1, 2, 3 ... of the new
 * profile.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pprof/pprof_gzip.h"
#include "pprof/profile.h"
#include "pprof/profile_message.h"
#include "pprof/profile_tables.h"

struct id_table {
	struct pprof_intern given; /* the ids of the input, by index of their message */
	int64_t *own;              /* the new profile's */
};

struct decoder {
	struct pprof_arena arena; /* all that lives only while decoding */
	struct profile *p;
	const pb_profile *m;
	const char **texts; /* those of m that the new profile has */
	struct id_table mappings, functions, locations;
	/* What is being read, for errors: "sample" 3 of 10. */
	const char *what;
	size_t index, count;
	char *err;
	size_t err_len;
};

static int bad(struct decoder *d, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int bad(struct decoder *d, const char *format, ...)
{
	size_t used = 0;
	va_list args;

	if (!d->err_len)
		return -EBADMSG;
	if (d->what)
		used = (size_t)snprintf(d->err, d->err_len, "%s %zu of %zu: ", d->what, d->index + 1,
		                        d->count);
	va_start(args, format);
	if (used < d->err_len)
		vsnprintf(d->err + used, d->err_len - used, format, args);
	va_end(args);
	return -EBADMSG;
}

/* The new profile's copy of a text of the input; NULL with errno set. */
static const char *text(struct decoder *d, int64_t index)
{
	if ((uint64_t)index >= d->m->n_string_table) {
		bad(d, "string %" PRId64 " is outside the string table, which has %zu", index,
		    d->m->n_string_table);
		errno = EBADMSG;
		return NULL;
	}
	if (!d->texts[index])
		d->texts[index] = profile_intern_text(d->p, d->m->string_table[index]);
	return d->texts[index];
}

/* As text(), but "" becomes a NULL in *out. */
static int optional_text(struct decoder *d, int64_t index, const char **out)
{
	const char *found = text(d, index);

	*out = found && *found ? found : NULL;
	return found ? 0 : -errno;
}

/* --- ids ---------------------------------------------------------------------------------------------- */

static int id_table_init(struct decoder *d, struct id_table *t, size_t n)
{
	t->given.arena = &d->arena;
	t->own = pprof_arena_alloc(&d->arena, n * sizeof(*t->own));
	return t->own ? 0 : -errno;
}

static int add_id(struct decoder *d, struct id_table *t, uint64_t given, int64_t own)
{
	bool is_new;
	int64_t i;

	if (own < 0)
		return (int)own;
	if (!given)
		return bad(d, "its id is 0, which is reserved");
	i = pprof_intern_add(&t->given, &given, sizeof(given), &is_new);
	if (i < 0)
		return (int)i;
	if (!is_new)
		return bad(d, "its id %" PRIu64 " is also that of number %" PRId64, given, i + 1);
	t->own[i] = own;
	return 0;
}

static int64_t find_id(struct decoder *d, const struct id_table *t, const char *kind, uint64_t given)
{
	int64_t i = pprof_intern_find(&t->given, &given, sizeof(given));

	if (i < 0)
		return bad(d, "%s %" PRIu64 " is not in the profile", kind, given);
	return t->own[i];
}

/* --- tables ------------------------------------------------------------------------------------------- */

static int read_mapping(struct decoder *d, const pb_mapping *m)
{
	struct profile_mapping_view v = {
		.start = m->memory_start,
		.limit = m->memory_limit,
		.offset = m->file_offset,
		.has_functions = m->has_functions,
		.has_filenames = m->has_filenames,
		.has_lines = m->has_line_numbers,
		.has_inlines = m->has_inline_frames,
	};

	if (optional_text(d, m->filename, &v.file) < 0 || optional_text(d, m->build_id, &v.build_id) < 0)
		return -errno;
	return add_id(d, &d->mappings, m->id, profile_put_mapping(d->p, &v));
}

static int read_function(struct decoder *d, const pb_function *m)
{
	struct profile_function f = { .start_line = m->start_line };

	f.name = text(d, m->name);
	if (!f.name || optional_text(d, m->system_name, &f.system_name) < 0 ||
	    optional_text(d, m->filename, &f.file) < 0)
		return -errno;
	return add_id(d, &d->functions, m->id, profile_put_function(d->p, &f));
}

static int read_line(struct decoder *d, struct profile_location_record *r, size_t i, const pb_line *m)
{
	int64_t function = find_id(d, &d->functions, "function", m->function_id);
	uint32_t line = m->line < 0 || m->line > UINT32_MAX ? 0 : (uint32_t)m->line;

	if (function < 0)
		return (int)function;
	profile_location_set_frame(d->p, r, i, function, line, m->column);
	return 0;
}

static int read_location(struct decoder *d, const pb_location *m)
{
	int64_t mapping = m->mapping_id ? find_id(d, &d->mappings, "mapping", m->mapping_id) : 0;
	struct profile_location_record *r;
	int ret = 0;

	if (mapping < 0)
		return (int)mapping;
	r = profile_location_begin(d->p, m->n_line);
	if (!r)
		return -errno;
	r->mapping_id = (uint32_t)mapping;
	r->address = m->address;
	r->is_folded = m->is_folded != 0;
	for (size_t i = 0; i < m->n_line && !ret; i++)
		ret = read_line(d, r, i, m->line[i]);
	return ret < 0 ? ret : add_id(d, &d->locations, m->id, profile_location_commit(d->p, r));
}

/* --- samples ------------------------------------------------------------------------------------------ */

static int read_label(struct decoder *d, struct profile_label *to, const pb_label *m)
{
	to->num = m->num;
	to->key = text(d, m->key);
	if (!to->key || optional_text(d, m->str, &to->str) < 0 ||
	    optional_text(d, m->num_unit, &to->unit) < 0)
		return -errno;
	if (to->str && m->num)
		return bad(d, "a label has both a text and a number");
	if (to->str && to->unit)
		return bad(d, "a label has a unit beside a text");
	return 0;
}

/* pprof's readers pass over labels that say nothing. */
static bool says_something(const struct profile_label *l)
{
	return l->str || l->num || l->unit;
}

static int read_labels(struct decoder *d, struct profile_sample_record *r, const pb_sample *m)
{
	struct profile_label *to = profile_sample_labels(r);

	r->n_labels = 0;
	for (size_t i = 0; i < m->n_label; i++) {
		int ret = read_label(d, &to[r->n_labels], m->label[i]);

		if (ret < 0)
			return ret;
		r->n_labels += says_something(&to[r->n_labels]);
	}
	return 0;
}

static int read_sample(struct decoder *d, const pb_sample *m)
{
	struct profile_sample_record *r;
	int ret;

	if (m->n_value != d->m->n_sample_type)
		return bad(d, "its values number %zu, but the sample types %zu", m->n_value,
		           d->m->n_sample_type);
	if (!m->n_value)
		return bad(d, "the profile has no sample types");
	r = profile_sample_begin(d->p, m->n_location_id, m->n_label);
	if (!r)
		return -errno;
	for (size_t i = 0; i < m->n_location_id; i++) {
		r->location_ids[i] = find_id(d, &d->locations, "location", m->location_id[i]);
		if (r->location_ids[i] < 0)
			return (int)r->location_ids[i];
	}
	ret = read_labels(d, r, m);
	return ret < 0 ? ret : profile_sample_commit(d->p, r, m->value);
}

/* --- the whole ---------------------------------------------------------------------------------------- */

static void begin(struct decoder *d, const char *what, size_t count)
{
	d->what = what;
	d->index = 0;
	d->count = count;
}

static int read_records(struct decoder *d)
{
	const pb_profile *m = d->m;
	int ret = 0;

	for (begin(d, "mapping", m->n_mapping); d->index < d->count; d->index++)
		if ((ret = read_mapping(d, m->mapping[d->index])) < 0)
			return ret;
	for (begin(d, "function", m->n_function); d->index < d->count; d->index++)
		if ((ret = read_function(d, m->function[d->index])) < 0)
			return ret;
	for (begin(d, "location", m->n_location); d->index < d->count; d->index++)
		if ((ret = read_location(d, m->location[d->index])) < 0)
			return ret;
	for (begin(d, "sample", m->n_sample); d->index < d->count; d->index++)
		if ((ret = read_sample(d, m->sample[d->index])) < 0)
			return ret;
	begin(d, NULL, 0);
	return 0;
}

/* Texts of types have to be checked before there is a profile that could intern them. */
static int read_type(struct decoder *d, const pb_value_type *m, struct profile_value_type *out)
{
	uint64_t n = d->m->n_string_table;

	*out = (struct profile_value_type){ "", "" };
	if (!m)
		return 0;
	if ((uint64_t)m->type >= n || (uint64_t)m->unit >= n)
		return bad(d, "string %" PRId64 " is outside the string table, which has %" PRIu64,
		           (uint64_t)m->type >= n ? m->type : m->unit, n);
	out->type = d->m->string_table[m->type];
	out->unit = d->m->string_table[m->unit];
	return 0;
}

static int read_types(struct decoder *d, size_t max_bytes)
{
	struct profile_value_type *types, period;
	int ret;

	types = pprof_arena_alloc(&d->arena, d->m->n_sample_type * sizeof(*types));
	if (!types)
		return -errno;
	for (begin(d, "sample type", d->m->n_sample_type); d->index < d->count; d->index++)
		if ((ret = read_type(d, d->m->sample_type[d->index], &types[d->index])) < 0)
			return ret;
	begin(d, "period type", 1);
	ret = read_type(d, d->m->period_type, &period);
	if (ret < 0)
		return ret;
	begin(d, NULL, 0);
	d->p = profile_create(types, d->m->n_sample_type, period, d->m->period, max_bytes);
	return d->p ? 0 : -errno;
}

static int read_header(struct decoder *d)
{
	const pb_profile *m = d->m;
	const char *default_type;

	profile_set_time(d->p, m->time_nanos, m->duration_nanos);
	if (optional_text(d, m->drop_frames, &d->p->drop_frames) < 0 ||
	    optional_text(d, m->keep_frames, &d->p->keep_frames) < 0 ||
	    optional_text(d, m->doc_url, &d->p->doc_url) < 0 ||
	    optional_text(d, m->default_sample_type, &default_type) < 0)
		return -errno;
	if (default_type)
		profile_set_default_type(d->p, default_type); /* readers ignore one that is no type */
	for (begin(d, "comment", m->n_comment); d->index < d->count; d->index++) {
		const char *comment = text(d, m->comment[d->index]);
		int ret = comment ? profile_add_comment(d->p, comment) : -errno;

		if (ret < 0)
			return ret;
	}
	begin(d, NULL, 0);
	return 0;
}

static int read_notes(struct decoder *d)
{
	int ret = 0;

	for (size_t i = 0; i < d->m->n_note && !ret; i++)
		ret = profile_add_note_bytes(d->p,
		                             d->m->note[i].len ? d->m->note[i].data : (const uint8_t *)"",
		                             d->m->note[i].len);
	return ret;
}

static int read_profile(struct decoder *d, size_t max_bytes)
{
	const pb_profile *m = d->m;
	int ret;

	if (!m->n_string_table)
		return bad(d, "the string table is empty");
	if (*m->string_table[0])
		return bad(d, "string 0 is not empty");
	d->texts = pprof_arena_alloc(&d->arena, m->n_string_table * sizeof(*d->texts));
	if (!d->texts || id_table_init(d, &d->mappings, m->n_mapping) < 0 ||
	    id_table_init(d, &d->functions, m->n_function) < 0 ||
	    id_table_init(d, &d->locations, m->n_location) < 0)
		return -errno;
	ret = read_types(d, max_bytes);
	ret = ret < 0 ? ret : read_header(d);
	ret = ret < 0 ? ret : read_notes(d);
	return ret < 0 ? ret : read_records(d);
}

/* protobuf-c allocates from the arena: bounded, and freed at once. */
static void *message_alloc(void *arena, size_t bytes)
{
	return pprof_arena_alloc(arena, bytes);
}

static void message_free(void *arena, void *piece)
{
	(void)arena;
	(void)piece;
}

static int unpack(struct decoder *d, const void *buf, size_t len)
{
	ProtobufCAllocator from_arena = { message_alloc, message_free, &d->arena };

	if (!len)
		return bad(d, "there is nothing in it");
	errno = 0;
	d->m = perftools__profiles__profile__unpack(&from_arena, len, buf);
	if (d->m)
		return 0;
	return errno ? -errno : bad(d, "not a pprof profile, or one cut short");
}

static int decode(struct decoder *d, const void *buf, size_t len, size_t max_bytes)
{
	const char *what = NULL;
	void *plain = NULL;
	int ret = 0;

	if (pprof_is_gzip(buf, len)) {
		ret = pprof_gzip_unpack(buf, len, max_bytes, &plain, &len, &what);
		if (what)
			bad(d, "%s", what);
		buf = plain;
	}
	if (!ret)
		ret = pprof_arena_charge(&d->arena, plain ? len : 0);
	if (!ret)
		ret = unpack(d, buf, len);
	if (!ret)
		ret = read_profile(d, max_bytes);
	free(plain);
	return ret;
}

static void explain(struct decoder *d, int ret, size_t max_bytes)
{
	if (ret == -ENOSPC)
		bad(d, "the profile needs more than the %zu bytes of memory allowed", max_bytes);
	else if (ret == -EOVERFLOW)
		bad(d, "the values of equal samples sum to more than 64 bits hold");
	else if (ret != -EBADMSG)
		bad(d, "%s", strerror(-ret));
}

int profile_decode(const void *buf, size_t len, size_t max_bytes, struct profile **out, char *err,
                   size_t err_len)
{
	struct decoder d = { .arena.max_bytes = max_bytes, .err = err, .err_len = err_len };
	int ret = decode(&d, buf, len, max_bytes);

	*out = NULL;
	if (ret < 0) {
		explain(&d, ret, max_bytes);
		profile_free(d.p);
	} else {
		*out = d.p;
	}
	pprof_intern_free(&d.mappings.given);
	pprof_intern_free(&d.functions.given);
	pprof_intern_free(&d.locations.given);
	pprof_arena_clear(&d.arena);
	return ret;
}
