/* A window with its labels and requests, as push_window_new() would make it, for tests of the spool. */
#ifndef TESTS_UNIT_SPOOL_WINDOW_H
#define TESTS_UNIT_SPOOL_WINDOW_H

#include <stdlib.h>
#include <string.h>

#include "profiler/output/push_window.h"
#include "profiler/output/series.h"
#include "profiler/output/series_labels.h"

/* NULL: no memory. */
static struct push_window *spool_window(const char *job, const char *const *bodies, size_t n)
{
	const struct push_label label[] = { { "service_name", "train" }, { "job", job }, { "empty", "" } };
	struct push_window *window = calloc(1, sizeof(*window));
	int err = -1;

	if (window)
		window->labels = series_labels_new(label, 3);
	err = window && window->labels ? 0 : -1;
	for (size_t i = 0; i < n && !err; i++) {
		char *body = strdup(bodies[i]);

		err = body ? push_window_add(window, &series_table[i % series_table_len], body, strlen(body))
		           : -1;
		if (err)
			free(body);
	}
	if (!err)
		return window;
	push_window_free(window);
	return NULL;
}

#endif
