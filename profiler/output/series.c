/* The table of Pyroscope series, and the extraction of one series from a profile. */

#include "profiler/output/series.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "profiler/output/push_debts.h"

const struct series series_table[] = {
	{ "block", { "contentions", "delay" }, { "contentions", "count" }, false },
	{ "process_cpu", { "cpu", NULL }, { "cpu", "nanoseconds" }, false },
	{ "recovery", { "recovery", NULL }, { "recovery", "nanoseconds" }, true },
};

const unsigned int series_table_len = sizeof(series_table) / sizeof(series_table[0]);

struct extraction {
	const struct profile *from;
	struct profile *to;
	struct push_debts *debts; /* may be NULL */
	int type[2];              /* indices in `from` */
	size_t n_types;
	int64_t *mapping, *location; /* by id in `from`: id in `to`, 0 not yet */
	int64_t *ids;
	size_t ids_room;
	struct profile_label *labels;
	size_t labels_room;
};

static int find_types(struct extraction *x, const struct series *series)
{
	for (x->n_types = 0; x->n_types < 2 && series->types[x->n_types]; x->n_types++) {
		x->type[x->n_types] = profile_find_type(x->from, series->types[x->n_types]);
		if (x->type[x->n_types] < 0)
			return -ENOENT;
	}
	return 0;
}

static int64_t copy_mapping(struct extraction *x, int64_t id)
{
	const struct profile_mapping_view *m;

	if (!id || x->mapping[id])
		return id ? x->mapping[id] : 0;
	m = profile_get_mapping(x->from, id);
	x->mapping[id] = profile_mapping(x->to, m->start, m->limit, m->offset, m->file, m->build_id,
	                                 m->has_functions, m->has_lines && m->has_inlines);
	return x->mapping[id];
}

static int64_t copy_location(struct extraction *x, int64_t id)
{
	struct profile_location_view view;
	int64_t mapping;

	if (x->location[id])
		return x->location[id];
	if (!profile_get_location(x->from, id, &view))
		return -EINVAL;
	mapping = copy_mapping(x, view.mapping_id);
	if (mapping < 0)
		return mapping;
	x->location[id] = profile_location(x->to, mapping, view.address, view.frames, view.n_frames);
	return x->location[id];
}

static int grow(struct extraction *x, size_t n_ids, size_t n_labels)
{
	int64_t *ids = n_ids > x->ids_room ? reallocarray(x->ids, n_ids, sizeof(*ids)) : x->ids;
	struct profile_label *labels =
	        n_labels > x->labels_room ? reallocarray(x->labels, n_labels, sizeof(*labels)) : x->labels;

	if (ids && n_ids > x->ids_room)
		x->ids_room = n_ids;
	if (labels && n_labels > x->labels_room)
		x->labels_room = n_labels;
	x->ids = ids ? ids : x->ids;
	x->labels = labels ? labels : x->labels;
	return n_ids <= x->ids_room && n_labels <= x->labels_room ? 0 : -ENOMEM;
}

/* Fills x->labels; returns how many. Samples that only numbers tell apart become one. */
static size_t choose_labels(struct extraction *x, const struct profile_sample_view *sample)
{
	size_t n = 0;

	for (size_t i = 0; i < sample->n_labels; i++)
		if (sample->labels[i].str)
			x->labels[n++] = sample->labels[i];
	return n;
}

static int copy_sample(struct extraction *x, const struct profile_sample_view *sample)
{
	int64_t values[2] = { 0 };
	bool any = false;
	size_t i;

	for (i = 0; i < x->n_types; i++) {
		values[i] =
		        x->debts ? push_debts_pay(x->debts, sample, x->type[i]) : sample->values[x->type[i]];
		any |= values[i] != 0;
	}
	if (!any)
		return 0;
	if (grow(x, sample->n_locations, sample->n_labels))
		return -ENOMEM;
	for (i = 0; i < sample->n_locations; i++) {
		x->ids[i] = copy_location(x, sample->location_ids[i]);
		if (x->ids[i] < 0)
			return x->ids[i];
	}
	return profile_add_sample(x->to, x->ids, sample->n_locations, values, x->labels,
	                          choose_labels(x, sample));
}

static int copy_comments(struct extraction *x)
{
	size_t i;
	int err = 0;

	for (i = 0; i < profile_n_comments(x->from) && !err; i++)
		err = profile_add_comment(x->to, profile_comment(x->from, i));
	return err;
}

static int copy_all(struct extraction *x)
{
	struct profile_sample_view sample;
	int64_t main_binary = 0;
	size_t i;
	int err;

	if (profile_n_mappings(x->from))
		main_binary = copy_mapping(x, 1);
	if (main_binary < 0)
		return main_binary;
	err = copy_comments(x);
	if (x->debts && !err)
		err = push_debts_begin(x->debts, x->from, x->type, x->n_types);
	for (i = 0; i < profile_n_samples(x->from) && !err; i++) {
		profile_get_sample(x->from, i, &sample);
		err = copy_sample(x, &sample);
	}
	return err;
}

int series_extract(const struct profile *from, const struct series *series, int64_t period,
                   struct push_debts *debts, size_t max_bytes, struct profile **out)
{
	struct profile_value_type types[2];
	struct extraction x = { .from = from, .debts = debts };
	int err = find_types(&x, series);
	size_t i;

	*out = NULL;
	if (err)
		return err;
	for (i = 0; i < x.n_types; i++)
		types[i] = profile_type(from, x.type[i]);
	x.mapping = calloc(profile_n_mappings(from) + 1, sizeof(*x.mapping));
	x.location = calloc(profile_n_locations(from) + 1, sizeof(*x.location));
	x.to = profile_new(types, x.n_types, series->period_type, period, max_bytes);
	err = !x.mapping || !x.location || !x.to ? -ENOMEM : 0;
	if (!err) {
		profile_set_time(x.to, profile_time_ns(from), profile_duration_ns(from));
		profile_set_default_type(x.to, types[x.n_types - 1].type);
		err = copy_all(&x);
	}
	free(x.mapping);
	free(x.location);
	free(x.ids);
	free(x.labels);
	if (err || !profile_n_samples(x.to))
		profile_free(x.to);
	else
		*out = x.to;
	return err;
}
