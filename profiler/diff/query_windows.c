/* Asks Pyroscope for the series of a query, window by window, and gives their profiles the labels back. */

#include "profiler/diff/query_windows.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pprof/profile.h"
#include "profiler/diff/query.pb-c.h"
#include "profiler/loaded/loaded_bound.h"

static const struct {
	const char *type, *unit, *id;
} types[] = {
	{ "delay", "nanoseconds", "block:delay:nanoseconds:contentions:count" },
	{ "contentions", "count", "block:contentions:count:contentions:count" },
	{ "cpu", "nanoseconds", "process_cpu:cpu:nanoseconds:cpu:nanoseconds" },
	{ "recovery", "nanoseconds", "recovery:recovery:nanoseconds:recovery:nanoseconds" },
};

static const char *const names[] = { "stall", "ai_tag", "device" };

#define NAMES (sizeof(names) / sizeof(names[0]))

typedef Stallprof__Query__SeriesAnswer series_answer;
typedef Stallprof__Query__LabelSet label_set;

struct fetch {
	struct query_windows *windows;
	const struct diff_query *query;
	struct query_client *client;
	size_t type; /* its index in types */
	int64_t *ids;
	char *err;
	size_t err_size;
};

static int no_memory(struct fetch *fetch)
{
	snprintf(fetch->err, fetch->err_size, "no memory left");
	return -ENOMEM;
}

/* --- which series there are ------------------------------------------------------------------------------- */

static char *in_braces(const char *conditions)
{
	char *text = NULL;

	return asprintf(&text, "{%s}", conditions) < 0 ? NULL : text;
}

static int ask_series(struct fetch *fetch, series_answer **series)
{
	Stallprof__Query__Series ask = STALLPROF__QUERY__SERIES__INIT;
	char *typed = diff_query_and(fetch->query->conditions, "__profile_type__", types[fetch->type].id);
	char *selector = typed ? in_braces(typed) : NULL;
	struct query_answer answer;
	uint8_t *body;
	size_t size;
	int err;

	free(typed);
	ask.n_selectors = 1;
	ask.selectors = &selector;
	ask.n_names = NAMES;
	ask.names = (char **)names;
	ask.from_ms = fetch->query->from_ms;
	ask.to_ms = fetch->query->to_ms;
	size = selector ? stallprof__query__series__get_packed_size(&ask) : 0;
	body = selector ? malloc(size + 1) : NULL;
	if (!body) {
		free(selector);
		return no_memory(fetch);
	}
	stallprof__query__series__pack(&ask, body);
	err = query_client_post(fetch->client, "Series", body, size, &answer, fetch->err, fetch->err_size);
	free(body);
	free(selector);
	if (err)
		return err;
	*series = stallprof__query__series_answer__unpack(NULL, answer.size, answer.bytes);
	if (*series)
		return 0;
	snprintf(fetch->err, fetch->err_size, "%s: its list of series cannot be read", fetch->query->url);
	return -EBADMSG;
}

/* --- one series in one window ----------------------------------------------------------------------------- */

static const char *value_of(const label_set *set, const char *name)
{
	for (size_t i = 0; i < set->n_labels; i++)
		if (!strcmp(set->labels[i]->name, name))
			return set->labels[i]->value;
	return "";
}

/* The conditions that choose this series among those of the query. */
static char *narrow(const char *conditions, const label_set *set)
{
	char *text = strdup(conditions), *next;

	for (size_t i = 0; i < NAMES && text; i++) {
		next = diff_query_and(text, names[i], value_of(set, names[i]));
		free(text);
		text = next;
	}
	return text;
}

/* *out: NULL without an answer; the caller frees it, also when this fails. */
static int ask_profile(struct fetch *fetch, const char *conditions, size_t window, struct profile **out)
{
	Stallprof__Query__Select ask = STALLPROF__QUERY__SELECT__INIT;
	int64_t span = fetch->query->to_ms - fetch->query->from_ms, n = (int64_t)fetch->windows->count;
	struct query_answer answer;
	uint8_t *body;
	size_t size;
	int err;

	*out = NULL;
	ask.type = (char *)types[fetch->type].id;
	ask.selector = in_braces(conditions);
	ask.from_ms = fetch->query->from_ms + span * (int64_t)window / n;
	/* Both ends belong to a query. */
	ask.to_ms = fetch->query->from_ms + span * (int64_t)(window + 1) / n - 1;
	size = stallprof__query__select__get_packed_size(&ask);
	body = ask.selector ? malloc(size + 1) : NULL;
	if (!body) {
		free(ask.selector);
		return no_memory(fetch);
	}
	stallprof__query__select__pack(&ask, body);
	err = query_client_post(fetch->client, "SelectMergeProfile", body, size, &answer, fetch->err,
	                        fetch->err_size);
	fetch->windows->requests++;
	free(body);
	free(ask.selector);
	if (err || !answer.size)
		return err;
	return profile_decode(answer.bytes, answer.size, loaded_bytes_max(""), out, fetch->err,
	                      fetch->err_size);
}

static struct profile *new_window(struct fetch *fetch, size_t window)
{
	const struct profile_value_type type = { types[fetch->type].type, types[fetch->type].unit };
	struct profile *profile = profile_new(&type, 1, type, 1, loaded_bytes_max(""));
	int64_t span = (fetch->query->to_ms - fetch->query->from_ms) / (int64_t)fetch->windows->count;

	if (profile)
		profile_set_time(profile, (fetch->query->from_ms + span * (int64_t)window) * 1000000,
		                 span * 1000000);
	return profile;
}

static int64_t copy_location(struct profile *to, const struct profile *from, int64_t id)
{
	struct profile_location_view view;
	const struct profile_mapping_view *m;
	int64_t mapping = 0;

	if (!profile_get_location(from, id, &view))
		return -EINVAL;
	m = profile_get_mapping(from, view.mapping_id);
	if (m)
		mapping = profile_mapping(to, m->start, m->limit, m->offset, m->file, m->build_id,
		                          m->has_functions, m->has_lines);
	return mapping < 0 ? mapping
	                   : profile_location(to, mapping, view.address, view.frames, view.n_frames);
}

static int copy_sample(struct fetch *fetch, struct profile *to, const struct profile *from,
                       const struct profile_sample_view *view, const label_set *set)
{
	struct profile_label labels[NAMES];
	int64_t *ids = realloc(fetch->ids, (view->n_locations + 1) * sizeof(*ids));

	if (!ids)
		return -ENOMEM;
	fetch->ids = ids;
	for (size_t i = 0; i < view->n_locations; i++) {
		ids[i] = copy_location(to, from, view->location_ids[i]);
		if (ids[i] < 0)
			return (int)ids[i];
	}
	for (size_t i = 0; i < NAMES; i++)
		labels[i] = (struct profile_label){ .key = names[i], .str = value_of(set, names[i]) };
	return profile_add_sample(to, ids, view->n_locations, view->values, labels, NAMES);
}

static int take_profile(struct fetch *fetch, const struct profile *from, size_t window, const label_set *set)
{
	struct profile **to = &fetch->windows->profile[window];
	struct profile_sample_view view;
	int err = 0;

	if (!*to)
		*to = new_window(fetch, window);
	if (!*to)
		return no_memory(fetch);
	for (size_t i = 0; !err && profile_get_sample(from, i, &view); i++)
		if (view.n_locations)
			err = copy_sample(fetch, *to, from, &view, set);
	if (err)
		snprintf(fetch->err, fetch->err_size, "%s: its profile cannot be used: %s", fetch->query->url,
		         loaded_reason(-err));
	return err;
}

static int take_series(struct fetch *fetch, const label_set *set)
{
	char *conditions = narrow(fetch->query->conditions, set);
	int err = conditions ? 0 : no_memory(fetch);

	for (size_t w = 0; w < fetch->windows->count && !err; w++) {
		struct profile *profile;

		err = ask_profile(fetch, conditions, w, &profile);
		if (!err && profile && profile_n_types(profile) == 1)
			err = take_profile(fetch, profile, w, set);
		profile_free(profile);
	}
	free(conditions);
	return err;
}

/* --- all of it -------------------------------------------------------------------------------------------- */

static int count_windows(struct fetch *fetch, size_t series)
{
	size_t n = (size_t)((fetch->query->to_ms - fetch->query->from_ms) / QUERY_WINDOW_MS_MIN);

	n = n > QUERY_WINDOWS_MAX ? QUERY_WINDOWS_MAX : n ? n : 1;
	while (n > 1 && n * series > QUERY_REQUESTS_MAX)
		n--;
	fetch->windows->count = n;
	fetch->windows->series = series;
	if (n * series > QUERY_REQUESTS_MAX) {
		snprintf(fetch->err, fetch->err_size,
		         "%s: %zu series match, more than %d: ask for fewer by labels, such as "
		         "{stall=\"throttle\"}",
		         fetch->query->url, series, QUERY_REQUESTS_MAX);
		return -EINVAL;
	}
	if (series)
		return 0;
	snprintf(fetch->err, fetch->err_size, "%s: nothing is there of {%s} and type %s in that time",
	         fetch->query->url, fetch->query->conditions, types[fetch->type].type);
	return -ENODATA;
}

static int fetch_all(struct fetch *fetch)
{
	series_answer *series = NULL;
	int err = ask_series(fetch, &series);

	if (err)
		return err;
	err = count_windows(fetch, series->n_sets);
	for (size_t i = 0; i < series->n_sets && !err; i++)
		err = take_series(fetch, series->sets[i]);
	stallprof__query__series_answer__free_unpacked(series, NULL);
	/* A window in which nothing was pushed is one of no stalls. */
	for (size_t w = 0; w < fetch->windows->count && !err; w++) {
		if (!fetch->windows->profile[w])
			fetch->windows->profile[w] = new_window(fetch, w);
		err = fetch->windows->profile[w] ? 0 : no_memory(fetch);
	}
	return err;
}

int query_windows_fetch(struct query_windows *windows, const struct diff_query *query,
                        const struct query_access *access, const char *type, char *err, size_t err_size)
{
	struct fetch fetch = { .windows = windows, .query = query, .err = err, .err_size = err_size };
	int result = -EINVAL;

	*windows = (struct query_windows){ .count = 0 };
	while (fetch.type < sizeof(types) / sizeof(types[0]) && type &&
	       strcmp(types[fetch.type].type, type) != 0)
		fetch.type++;
	if (fetch.type == sizeof(types) / sizeof(types[0])) {
		snprintf(err, err_size,
		         "Pyroscope has no sample type '%s' of stallprof; there are: delay, contentions, "
		         "cpu, recovery",
		         type);
		return -EINVAL;
	}
	fetch.client = query_client_new(query->url, access, err, err_size);
	result = fetch.client ? fetch_all(&fetch) : -errno;
	query_client_free(fetch.client);
	free(fetch.ids);
	if (result)
		query_windows_release(windows);
	return result;
}

void query_windows_release(struct query_windows *windows)
{
	for (size_t i = 0; i < windows->count; i++)
		profile_free(windows->profile[i]);
	*windows = (struct query_windows){ .count = 0 };
}
