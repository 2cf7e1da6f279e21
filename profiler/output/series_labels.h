/*
 * The labels that all series of a window have: service_name, host, and those of the configuration. Each window has a
 * copy of its own, as the configuration may be another one by the time it is sent. Not among them: __name__, which
 * tells series apart.
 */
#ifndef STALLPROF_PROFILER_SERIES_LABELS_H
#define STALLPROF_PROFILER_SERIES_LABELS_H

#include <stdbool.h>
#include <stddef.h>

#include "profiler/output/push_labels.h"

struct config;

struct series_labels {
	size_t bytes;  /* of all of it: one block of memory, free() it */
	bool own_host; /* the label host is the name that this host had */
	size_t n;      /* PUSH_LABELS_MAX - 1 at most */
	struct push_label label[];
};

/* NULL: no memory, or more labels than a series can have. */
struct series_labels *series_labels_new(const struct push_label *label, size_t n);
/* Of what is recorded now; a label host of the configuration takes the place of ours. NULL: no memory. */
struct series_labels *series_labels_of(const struct config *config);
/* A copy for a window that is recorded now: by the name that the host has by now. NULL: no memory. */
struct series_labels *series_labels_now(const struct series_labels *labels);
/* Whether a server takes them: 0, or -EINVAL with one line in `err` that names the label (push_labels.h). */
int series_labels_check(const struct series_labels *labels, char *err, size_t err_len);

#endif
