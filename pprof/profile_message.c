/* Turns a profile's tables into the protobuf-c messages that are packed. */

#include "pprof/profile_message.h"

#include <string.h>

#include "pprof/profile_tables.h"

/* An array of pointers to `n` messages, and the messages behind it, not yet initialised. */
static void **message_array(struct pprof_arena *a, size_t n, size_t size)
{
	void **array = pprof_arena_alloc(a, n * (sizeof(*array) + size));

	for (size_t i = 0; array && i < n; i++)
		array[i] = (char *)(array + n) + i * size;
	return array;
}

static int64_t text(const char *interned)
{
	return (int64_t)profile_text_number(interned);
}

static void fill_type(pb_value_type *m, struct profile_value_type t)
{
	perftools__profiles__value_type__init(m);
	m->type = text(t.type);
	m->unit = text(t.unit);
}

static bool fill_header(pb_profile *m, const struct profile *p, struct pprof_arena *a)
{
	m->n_sample_type = p->n_types;
	m->sample_type = (void *)message_array(a, p->n_types, sizeof(pb_value_type));
	m->period_type = pprof_arena_alloc(a, sizeof(*m->period_type));
	m->n_comment = p->n_comments;
	m->comment = pprof_arena_alloc(a, p->n_comments * sizeof(*m->comment));
	if (!m->sample_type || !m->period_type || !m->comment)
		return false;
	for (size_t i = 0; i < p->n_types; i++)
		fill_type(m->sample_type[i], p->types[i]);
	fill_type(m->period_type, p->period_type);
	for (size_t i = 0; i < p->n_comments; i++)
		m->comment[i] = text(p->comments[i]);
	m->period = p->period;
	m->time_nanos = p->time_ns;
	m->duration_nanos = p->duration_ns;
	m->default_sample_type = p->default_type ? text(p->default_type) : 0;
	if (!p->default_type && p->n_types)
		m->default_sample_type = text(p->types[p->n_types - 1].type);
	m->drop_frames = text(p->drop_frames);
	m->keep_frames = text(p->keep_frames);
	m->doc_url = text(p->doc_url);
	return true;
}

static bool fill_notes(pb_profile *m, const struct profile *p, struct pprof_arena *a)
{
	m->n_note = p->n_notes;
	m->note = pprof_arena_alloc(a, p->n_notes * sizeof(*m->note));
	for (size_t i = 0; m->note && i < p->n_notes; i++)
		m->note[i] =
		        (ProtobufCBinaryData){ .len = strlen(p->notes[i]), .data = (uint8_t *)p->notes[i] };
	return m->note;
}

static bool fill_strings(pb_profile *m, const struct profile *p, struct pprof_arena *a)
{
	m->n_string_table = p->strings.n;
	m->string_table = pprof_arena_alloc(a, p->strings.n * sizeof(*m->string_table));
	for (size_t i = 0; m->string_table && i < p->strings.n; i++)
		m->string_table[i] = (char *)pprof_intern_get(&p->strings, i);
	return m->string_table;
}

static bool fill_mappings(pb_profile *m, const struct profile *p, struct pprof_arena *a)
{
	m->n_mapping = p->mappings.n;
	m->mapping = (void *)message_array(a, p->mappings.n, sizeof(pb_mapping));
	for (size_t i = 0; m->mapping && i < p->mappings.n; i++) {
		const struct profile_mapping_view *from = pprof_intern_get(&p->mappings, i);
		pb_mapping *to = m->mapping[i];

		perftools__profiles__mapping__init(to);
		to->id = i + 1;
		to->memory_start = from->start;
		to->memory_limit = from->limit;
		to->file_offset = from->offset;
		to->filename = text(from->file);
		to->build_id = text(from->build_id);
		to->has_functions = from->has_functions;
		to->has_filenames = from->has_filenames;
		to->has_line_numbers = from->has_lines;
		to->has_inline_frames = from->has_inlines;
	}
	return m->mapping;
}

static bool fill_functions(pb_profile *m, const struct profile *p, struct pprof_arena *a)
{
	m->n_function = p->functions.n;
	m->function = (void *)message_array(a, p->functions.n, sizeof(pb_function));
	for (size_t i = 0; m->function && i < p->functions.n; i++) {
		const struct profile_function *from = pprof_intern_get(&p->functions, i);
		pb_function *to = m->function[i];

		perftools__profiles__function__init(to);
		to->id = i + 1;
		to->name = text(from->name);
		to->system_name = text(from->system_name);
		to->filename = text(from->file);
		to->start_line = from->start_line;
	}
	return m->function;
}

static bool fill_lines(pb_location *to, const struct profile_location_record *from, struct pprof_arena *a)
{
	const struct profile_line *lines = profile_location_lines(from);

	to->n_line = from->n_frames;
	to->line = (void *)message_array(a, from->n_frames, sizeof(pb_line));
	for (size_t i = 0; to->line && i < from->n_frames; i++) {
		perftools__profiles__line__init(to->line[i]);
		to->line[i]->function_id = (uint64_t)lines[i].function_id;
		to->line[i]->line = from->frames[i].line;
		to->line[i]->column = lines[i].column;
	}
	return to->line;
}

static bool fill_locations(pb_profile *m, const struct profile *p, struct pprof_arena *a)
{
	m->n_location = p->locations.n;
	m->location = (void *)message_array(a, p->locations.n, sizeof(pb_location));
	for (size_t i = 0; m->location && i < p->locations.n; i++) {
		const struct profile_location_record *from = pprof_intern_get(&p->locations, i);
		pb_location *to = m->location[i];

		perftools__profiles__location__init(to);
		to->id = i + 1;
		to->mapping_id = from->mapping_id;
		to->address = from->address;
		to->is_folded = from->is_folded;
		if (!fill_lines(to, from, a))
			return false;
	}
	return m->location;
}

static bool fill_labels(pb_sample *to, const struct profile_sample_record *from, struct pprof_arena *a)
{
	const struct profile_label *labels = profile_sample_labels(from);

	to->n_label = from->n_labels;
	to->label = (void *)message_array(a, from->n_labels, sizeof(pb_label));
	for (size_t i = 0; to->label && i < from->n_labels; i++) {
		perftools__profiles__label__init(to->label[i]);
		to->label[i]->key = text(labels[i].key);
		to->label[i]->str = text(labels[i].str);
		to->label[i]->num = labels[i].num;
		to->label[i]->num_unit = text(labels[i].unit);
	}
	return to->label;
}

static bool fill_samples(pb_profile *m, const struct profile *p, struct pprof_arena *a)
{
	m->n_sample = p->samples.n;
	m->sample = (void *)message_array(a, p->samples.n, sizeof(pb_sample));
	for (size_t i = 0; m->sample && i < p->samples.n; i++) {
		const struct profile_sample_record *from = pprof_intern_get(&p->samples, i);
		pb_sample *to = m->sample[i];

		perftools__profiles__sample__init(to);
		to->n_location_id = from->n_locations;
		to->location_id = (uint64_t *)from->location_ids; /* positive, so the same in both types */
		to->n_value = p->n_types;
		to->value = p->values + i * p->n_types;
		if (!fill_labels(to, from, a))
			return false;
	}
	return m->sample;
}

pb_profile *profile_message(const struct profile *p, struct pprof_arena *arena)
{
	pb_profile *m = pprof_arena_alloc(arena, sizeof(*m));

	if (!m)
		return NULL;
	perftools__profiles__profile__init(m);
	if (!fill_header(m, p, arena) || !fill_notes(m, p, arena) || !fill_strings(m, p, arena) ||
	    !fill_mappings(m, p, arena) || !fill_functions(m, p, arena) || !fill_locations(m, p, arena) ||
	    !fill_samples(m, p, arena))
		return NULL;
	return m;
}
