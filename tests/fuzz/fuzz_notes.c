/*
 * Fuzzes the comments of a foreign profile, one line each: what is read must be the same after writing and reading
 * again.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "pprof/profile.h"
#include "profiler/format/checkpoint_rows.h"
#include "profiler/format/host_note.h"
#include "profiler/format/ledger_row.h"
#include "profiler/format/gpu_job_rows.h"
#include "profiler/format/request_rows.h"
#include "profiler/format/stamp.h"
#include "profiler/format/timeline.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct profile *new_profile(void)
{
	const struct profile_value_type type = { "delay", "nanoseconds" };

	return profile_new(&type, 1, type, 1, 1 << 24);
}

static void add_lines(struct profile *profile, const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), *line, *newline;

	if (!text)
		return;
	memcpy(text, data, size);
	text[size] = '\0';
	for (line = text; line; line = newline ? newline + 1 : NULL) {
		newline = strchr(line, '\n');
		if (newline)
			*newline = '\0';
		profile_add_note(profile, line);
	}
	free(text);
}

static void compare(struct ledger *first, struct ledger *second)
{
	if (ledger_count(first) != ledger_count(second))
		abort();
	for (size_t i = 0; i < ledger_count(first); i++) {
		const struct ledger_row *a = ledger_at(first, i), *b = ledger_at(second, i);

		if (strcmp(a->tag, b->tag) || strcmp(a->cause, b->cause) || strcmp(a->comm, b->comm) ||
		    a->ns != b->ns)
			abort();
	}
}

static void check_requests(const struct profile *profile)
{
	struct request_rows *rows = request_rows_new(), *rows_again = request_rows_new();
	struct profile *again = new_profile();
	size_t malformed = 0;

	if (!request_rows_from_notes(rows, profile, NULL) && !request_rows_to_notes(rows, again)) {
		if (request_rows_from_notes(rows_again, again, &malformed) || malformed ||
		    request_rows_count(rows) != request_rows_count(rows_again))
			abort();
		for (size_t i = 0; i < request_rows_count(rows); i++) {
			const struct request_row *a = request_rows_at(rows, i),
			                         *b = request_rows_at(rows_again, i);

			if (strcmp(a->device, b->device) || strcmp(a->class, b->class) || a->op != b->op ||
			    a->writeback != b->writeback || a->requests != b->requests ||
			    a->bytes != b->bytes || a->ns != b->ns)
				abort();
		}
	}
	request_rows_free(rows);
	request_rows_free(rows_again);
	profile_free(again);
}

/* The next lane that has points, from *lane on; NULL: there is none. */
static const struct timeline_point *next_points(const struct timeline *timeline, size_t *lane, size_t *n)
{
	for (; *lane < timeline_count(timeline); ++*lane) {
		const struct timeline_point *points = timeline_points(timeline, *lane, n);

		if (*n)
			return points;
	}
	*n = 0;
	return NULL;
}

static void compare_lanes(const struct timeline *a, const struct timeline *b)
{
	const struct timeline_point *points, *others;
	size_t i = 0, k = 0, n, n_other;

	for (;; i++, k++) {
		points = next_points(a, &i, &n);
		others = next_points(b, &k, &n_other);
		if (n != n_other || (n && memcmp(points, others, n * sizeof(*points)) != 0))
			abort();
		if (!points)
			return;
		if (strcmp(timeline_lane_at(a, i)->name, timeline_lane_at(b, k)->name) ||
		    timeline_lane_at(a, i)->bucket_ns != timeline_lane_at(b, k)->bucket_ns)
			abort();
	}
}

static void check_timeline(const struct profile *profile)
{
	struct timeline *timeline = timeline_new(256), *again = timeline_new(256);
	struct profile *copy = new_profile();
	size_t malformed = 0;

	timeline_from_notes(timeline, profile, NULL);
	if (!timeline_to_notes(timeline, copy)) {
		if (timeline_from_notes(again, copy, &malformed) || malformed)
			abort();
		compare_lanes(timeline, again);
	}
	timeline_free(timeline);
	timeline_free(again);
	profile_free(copy);
}

static void compare_jobs(const struct gpu_job_row *a, const struct gpu_job_row *b)
{
	if (strcmp(a->driver, b->driver) || strcmp(a->ring, b->ring) || strcmp(a->class, b->class) ||
	    a->jobs != b->jobs || a->total_ns != b->total_ns || a->p90_ns != b->p90_ns ||
	    a->long_tail != b->long_tail || a->faults != b->faults ||
	    memcmp(a->phase, b->phase, sizeof(a->phase)) != 0)
		abort();
}

static void check_gpu_jobs(const struct profile *profile)
{
	struct gpu_job_rows *rows = gpu_job_rows_new(), *rows_again = gpu_job_rows_new();
	struct profile *again = new_profile();
	size_t malformed = 0;

	if (!gpu_job_rows_from_notes(rows, profile, NULL) && !gpu_job_rows_to_notes(rows, again)) {
		if (gpu_job_rows_from_notes(rows_again, again, &malformed) || malformed ||
		    gpu_job_rows_count(rows) != gpu_job_rows_count(rows_again))
			abort();
		for (size_t i = 0; i < gpu_job_rows_count(rows); i++)
			compare_jobs(gpu_job_rows_at(rows, i), gpu_job_rows_at(rows_again, i));
	}
	gpu_job_rows_free(rows);
	gpu_job_rows_free(rows_again);
	profile_free(again);
}

static bool same_file(const struct checkpoint_file *a, const struct checkpoint_file *b)
{
	return !strcmp(a->path, b->path) && !strcmp(a->renamed_from, b->renamed_from) &&
	       !strcmp(a->device, b->device) && !strcmp(a->class, b->class) && a->inode == b->inode &&
	       a->begun_ns == b->begun_ns && a->writes == b->writes && a->error == b->error &&
	       a->synced == b->synced && a->durable_before_name == b->durable_before_name &&
	       a->reason == b->reason && a->n_ranges == b->n_ranges &&
	       (!a->n_ranges || !memcmp(a->ranges, b->ranges, a->n_ranges * sizeof(*a->ranges)));
}

static void check_checkpoints(const struct profile *profile)
{
	struct checkpoint_rows *rows = checkpoint_rows_new(), *rows_again = checkpoint_rows_new();
	struct profile *again = new_profile();
	size_t malformed = 0;

	if (!checkpoint_rows_from_notes(rows, profile, NULL) && !checkpoint_rows_to_notes(rows, again)) {
		if (checkpoint_rows_from_notes(rows_again, again, &malformed) || malformed ||
		    checkpoint_rows_count(rows) != checkpoint_rows_count(rows_again))
			abort();
		for (size_t i = 0; i < checkpoint_rows_count(rows); i++)
			if (!same_file(checkpoint_rows_at(rows, i), checkpoint_rows_at(rows_again, i)))
				abort();
	}
	checkpoint_rows_free(rows);
	checkpoint_rows_free(rows_again);
	profile_free(again);
}

static void check_host(const struct profile *profile)
{
	struct profile *copy = new_profile();
	char name[256], again[256];

	host_note_read(profile, name, sizeof(name));
	if (!host_note_add(copy, name)) {
		host_note_read(copy, again, sizeof(again));
		if (strcmp(name, again) != 0)
			abort();
	}
	profile_free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct profile *profile = new_profile(), *again = new_profile();
	struct ledger *ledger = ledger_new(0), *ledger_again = ledger_new(0);
	struct stamp *stamp = stamp_new(), *stamp_again = stamp_new();
	size_t malformed = 0;

	add_lines(profile, data, size);
	check_requests(profile);
	check_checkpoints(profile);
	check_timeline(profile);
	check_gpu_jobs(profile);
	check_host(profile);
	if (!stamp_from_notes(stamp, profile, NULL) && !ledger_from_notes(ledger, profile, NULL) &&
	    !stamp_to_notes(stamp, again) && !ledger_to_notes(ledger, again)) {
		if (stamp_from_notes(stamp_again, again, &malformed) ||
		    ledger_from_notes(ledger_again, again, &malformed) || malformed)
			abort();
		compare(ledger, ledger_again);
		if (stamp_hook_count(stamp) != stamp_hook_count(stamp_again) ||
		    stamp_counter_count(stamp) != stamp_counter_count(stamp_again))
			abort();
	}
	stamp_free(stamp);
	stamp_free(stamp_again);
	ledger_free(ledger);
	ledger_free(ledger_again);
	profile_free(profile);
	profile_free(again);
	return 0;
}
