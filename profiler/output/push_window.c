/* Cuts a window into series and parts, and encodes each as one push request. */

#include "profiler/output/push_window.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pprof/profile.h"
#include "profiler/output/series.h"
#include "profiler/output/series_labels.h"

/* Pyroscope's defaults: 16,000 samples and 4 MiB a profile, and never a burst of over 2 MB. */
#define PUSH_SAMPLES_MAX 16000
#define PUSH_BYTES_MAX   (1800 * 1024)
#define PROFILE_BYTES    (1ULL << 30)

struct packing {
	struct push_window *window;
	struct push_debts *debts;
	const char *what; /* fails */
};

int push_window_add(struct push_window *window, const struct series *series, void *body, size_t len)
{
	if (window->n == window->room) {
		size_t room = window->room ? 2 * window->room : 4;
		struct push_request *more = reallocarray(window->request, room, sizeof(*more));

		if (!more)
			return -ENOMEM;
		window->request = more;
		window->room = room;
	}
	window->request[window->n++] = (struct push_request){ .series = series, .body = body, .len = len };
	return 0;
}

static int pack_part(struct packing *p, const struct series *series, const struct profile *part)
{
	void *body;
	size_t len;
	int result = profile_encode(part, 0, true, &body, &len);

	p->what = "cannot encode a profile to push";
	if (result)
		return result;
	result = push_window_add(p->window, series, body, len);
	if (result)
		free(body);
	return result;
}

static int pack_parts(struct packing *p, const struct series *series, const struct profile *cut)
{
	struct profile **parts = NULL;
	size_t n = 0, i;
	int result = profile_split(cut, 0, PUSH_SAMPLES_MAX, PUSH_BYTES_MAX, &parts, &n);

	p->what = "cannot cut a profile into parts that the server takes";
	if (result)
		return result;
	for (i = 0; i < n && !result; i++)
		result = pack_part(p, series, parts[i]);
	profile_parts_free(parts, n);
	return result;
}

static int pack_series(struct packing *p, const struct series *series, const struct profile *profile,
                       uint64_t clock_hz)
{
	int64_t period = clock_hz && !strcmp(series->types[0], "cpu") ? 1000000000 / clock_hz : 1;
	struct profile *cut;
	int result;

	if (series->optional && profile_find_type(profile, series->types[0]) < 0)
		return 0;
	result = series_extract(profile, series, period, p->debts, PROFILE_BYTES, &cut);
	p->what = "cannot make the profile to push";
	if (result || !cut)
		return result;
	result = pack_parts(p, series, cut);
	profile_free(cut);
	return result;
}

struct push_window *push_window_new(const struct profile *profile, const struct series_labels *labels,
                                    uint64_t clock_hz, struct push_debts *debts, char *err, size_t err_len)
{
	struct packing p = { .window = calloc(1, sizeof(*p.window)), .debts = debts };
	unsigned int i;

	if (p.window)
		p.window->labels = series_labels_now(labels);
	if (!p.window || !p.window->labels) {
		free(p.window);
		return NULL;
	}
	for (i = 0; i < series_table_len; i++) {
		int result = pack_series(&p, &series_table[i], profile, clock_hz);

		if (!result)
			continue;
		p.window->failed = true;
		snprintf(err, err_len, "%s: %s", p.what, strerror(-result));
	}
	return p.window;
}

void push_window_unload(struct push_window *window)
{
	if (!window)
		return;
	while (window->n)
		free(window->request[--window->n].body);
	free(window->request);
	free(window->labels);
	window->request = NULL;
	window->labels = NULL;
	window->room = 0;
}

void push_window_free(struct push_window *window)
{
	push_window_unload(window);
	free(window);
}

size_t push_window_bytes(const struct push_window *window)
{
	size_t bytes = sizeof(*window) + window->room * sizeof(*window->request), i;

	bytes += window->labels ? window->labels->bytes : 0;
	for (i = 0; i < window->n; i++)
		bytes += window->request[i].len;
	return bytes;
}

void push_window_advance(struct push_window *window)
{
	window->at++;
	window->unanswered = 0;
}

void push_window_skip_series(struct push_window *window)
{
	const struct series *series = window->request[window->at].series;

	window->failed = true;
	while (window->at < window->n && window->request[window->at].series == series)
		push_window_advance(window);
}
