/* Read access to a profile: its header, samples, locations and mappings. */

#include <errno.h>
#include <string.h>

#include "pprof/profile.h"
#include "pprof/profile_tables.h"

size_t profile_n_types(const struct profile *p)
{
	return p->n_types;
}

struct profile_value_type profile_type(const struct profile *p, size_t i)
{
	return p->types[i];
}

int profile_find_type(const struct profile *p, const char *type)
{
	for (size_t i = 0; i < p->n_types; i++)
		if (strcmp(p->types[i].type, type) == 0)
			return (int)i;
	return -ENOENT;
}

const char *profile_default_type(const struct profile *p)
{
	if (p->default_type)
		return p->default_type;
	return p->n_types ? p->types[p->n_types - 1].type : "";
}

struct profile_value_type profile_period_type(const struct profile *p)
{
	return p->period_type;
}

int64_t profile_period(const struct profile *p)
{
	return p->period;
}

int64_t profile_time_ns(const struct profile *p)
{
	return p->time_ns;
}

int64_t profile_duration_ns(const struct profile *p)
{
	return p->duration_ns;
}

size_t profile_n_notes(const struct profile *p)
{
	return p->n_notes;
}

const char *profile_note(const struct profile *p, size_t i)
{
	return p->notes[i];
}

size_t profile_n_comments(const struct profile *p)
{
	return p->n_comments;
}

const char *profile_comment(const struct profile *p, size_t i)
{
	return p->comments[i];
}

size_t profile_bytes(const struct profile *p)
{
	return p->arena.used_bytes;
}

size_t profile_n_samples(const struct profile *p)
{
	return p->samples.n;
}

bool profile_get_sample(const struct profile *p, size_t i, struct profile_sample_view *out)
{
	if (i >= p->samples.n)
		return false;

	const struct profile_sample_record *r = pprof_intern_get(&p->samples, i);

	*out = (struct profile_sample_view){
		.location_ids = r->location_ids,
		.n_locations = r->n_locations,
		.values = p->values + i * p->n_types,
		.labels = profile_sample_labels(r),
		.n_labels = r->n_labels,
	};
	return true;
}

size_t profile_n_locations(const struct profile *p)
{
	return p->locations.n;
}

bool profile_get_location(const struct profile *p, int64_t id, struct profile_location_view *out)
{
	if (id < 1 || (uint64_t)id > p->locations.n)
		return false;

	const struct profile_location_record *r = pprof_intern_get(&p->locations, (size_t)id - 1);

	*out = (struct profile_location_view){
		.mapping_id = r->mapping_id,
		.address = r->address,
		.frames = r->frames,
		.n_frames = r->n_frames,
		.is_folded = r->is_folded,
	};
	return true;
}

size_t profile_n_mappings(const struct profile *p)
{
	return p->mappings.n;
}

const struct profile_mapping_view *profile_get_mapping(const struct profile *p, int64_t id)
{
	if (id < 1 || (uint64_t)id > p->mappings.n)
		return NULL;
	return pprof_intern_get(&p->mappings, (size_t)id - 1);
}
