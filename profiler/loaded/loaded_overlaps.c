/* Compares the times that profiles cover. */

#include "profiler/loaded/loaded_overlaps.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/format/host_note.h"
#include "profiler/format/stamp.h"
#include "profiler/format/text_cells.h"
#include "symbolizer/base/growing_array.h"

#define WINDOWS_MAX (1u << 20)

void loaded_windows_free(struct loaded_windows *windows)
{
	free(windows->windows);
	*windows = (struct loaded_windows){ .n = 0 };
}

static bool is_same(const struct loaded_window *a, const struct loaded_window *b)
{
	return a->first_ns == b->first_ns && a->last_ns == b->last_ns && a->booted_ns == b->booted_ns &&
	       !strcmp(a->host, b->host);
}

static bool overlap(const struct loaded_window *a, const struct loaded_window *b)
{
	uint64_t from_ns = a->first_ns > b->first_ns ? a->first_ns : b->first_ns;
	uint64_t to_ns = a->last_ns < b->last_ns ? a->last_ns : b->last_ns;

	return to_ns > from_ns && to_ns - from_ns > LOADED_OVERLAP_NS;
}

static bool is_of_another_host(const struct loaded_window *a, const struct loaded_window *b)
{
	return *a->host && *b->host && strcmp(a->host, b->host) != 0;
}

/* By how much the clocks differ by which the machine was booted; 0: that is not known. */
static uint64_t clocks_apart(const struct loaded_window *a, const struct loaded_window *b)
{
	uint64_t apart =
	        a->booted_ns > b->booted_ns ? a->booted_ns - b->booted_ns : b->booted_ns - a->booted_ns;

	return a->booted_ns && b->booted_ns && apart > STAMP_CLOCKS_DRIFT_NS ? apart : 0;
}

/* Counts the window once for each reason. */
static void count(struct loaded_overlaps *overlaps, const struct loaded_windows *windows,
                  const struct loaded_window *window)
{
	const struct loaded_window *other_host = NULL;
	uint64_t apart_ns = 0;

	for (size_t i = 0; i < windows->n; i++) {
		const struct loaded_window *known = &windows->windows[i];
		uint64_t apart = clocks_apart(known, window);

		if (!overlap(known, window))
			continue;
		if (is_of_another_host(known, window))
			other_host = other_host ? other_host : known;
		else if (apart > apart_ns)
			apart_ns = apart;
	}
	if (other_host && !overlaps->hosts++) {
		memcpy(overlaps->host[0], other_host->host, LOADED_HOST_BYTES);
		memcpy(overlaps->host[1], window->host, LOADED_HOST_BYTES);
	}
	overlaps->clock += apart_ns > 0;
	overlaps->clock_ns = apart_ns > overlaps->clock_ns ? apart_ns : overlaps->clock_ns;
}

int loaded_windows_add(struct loaded_windows *windows, const struct profile *profile,
                       struct loaded_overlaps *overlaps)
{
	struct stamp_coverage covered;
	struct loaded_window window;
	int err = stamp_coverage_from_notes(profile, &covered);

	if (err || !covered.windows)
		return err;
	window = (struct loaded_window){ .first_ns = covered.first_ns,
		                         .last_ns = covered.last_ns,
		                         .booted_ns = covered.booted_ns };
	host_note_read(profile, window.host, sizeof(window.host));
	for (size_t i = 0; i < windows->n; i++)
		if (is_same(&windows->windows[i], &window)) {
			overlaps->twice++;
			return 1;
		}
	err = growing_array_reserve((void **)&windows->windows, windows->n + 1, &windows->room,
	                            sizeof(window), WINDOWS_MAX);
	if (err)
		return -ENOMEM;
	count(overlaps, windows, &window);
	windows->windows[windows->n++] = window;
	return 0;
}

void loaded_overlaps_text(FILE *out, const struct loaded_overlaps *overlaps, const char *before,
                          const char *behind)
{
	char time[TEXT_DURATION_BYTES];

	if (overlaps->hosts) {
		fprintf(out, "%sAt the same time %zu window%s of several hosts (", before, overlaps->hosts,
		        overlaps->hosts == 1 ? " is" : "s are");
		text_print_clean(out, overlaps->host[0], 0);
		fputs(", ", out);
		text_print_clean(out, overlaps->host[1], 0);
		fprintf(out, "): what they lost is summed, and devices of one name are told as one.%s",
		        behind);
	}
	if (overlaps->clock)
		fprintf(out,
		        "%s%zu window%s another one of the same time, but not by the clock since boot: "
		        "it was set by up to %s, or they are of another host. "
		        "What happened at two moments is told as of one.%s",
		        before, overlaps->clock, overlaps->clock == 1 ? " overlaps" : "s overlap",
		        text_short_duration(time, overlaps->clock_ns), behind);
}
