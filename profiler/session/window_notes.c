/* Adds the notes of a window's profile beside its ledger: requests, jobs of GPUs, checkpoint files, timeline and stamp. */

#include "profiler/session/window_notes.h"

#include <errno.h>

#include "profiler/format/checkpoint_rows.h"
#include "profiler/format/gpu_job_rows.h"
#include "profiler/format/host_note.h"
#include "profiler/format/request_rows.h"
#include "profiler/format/stamp.h"
#include "profiler/format/timeline.h"
#include "profiler/session/checkpoint_files.h"
#include "profiler/session/gpu_jobs.h"
#include "profiler/session/window_state.h"
#include "profiler/tags/tag_class.h"

static int add_gpu_jobs(struct window *window)
{
	struct gpu_job_rows *rows;
	int err = -ENOMEM;

	if (!window->gpu_jobs)
		return 0;
	rows = gpu_job_rows_new();
	if (rows)
		err = gpu_jobs_take(window->gpu_jobs, rows);
	if (!err)
		err = gpu_job_rows_to_notes(rows, window->profile);
	gpu_job_rows_free(rows);
	return err;
}

static int add_checkpoints(struct window *window)
{
	struct checkpoint_rows *rows = window->deps.checkpoints ? checkpoint_rows_new() : NULL;
	int err = window->deps.checkpoints && !rows ? -ENOMEM : 0;

	if (rows)
		err = checkpoint_files_rows(window->deps.checkpoints, rows);
	if (rows && !err)
		err = checkpoint_rows_to_notes(rows, window->profile);
	checkpoint_rows_free(rows);
	return err;
}

static int add_counters(struct window *window, struct stamp *stamp)
{
	const struct {
		const char *name;
		uint64_t value;
	} counters[] = {
		{ "timeline_refused", window->timeline.refused },
		{ "samples", window->n_samples },
		{ "samples_lost", window->n_lost },
		{ "samples_lost_ns", window->lost_ns },
		{ "samples_without_row", window->n_without_row },
		{ "stacks_of_like_waits_ns", window->estimated_ns },
		{ "tag_classes_refused", tag_classes_take_refused(window->deps.classes) },
		{ "rows_refused", window->rows_refused },
		{ "rows_refused_ns", window->rows_refused_ns },
		{ "requests_refused", window->requests_refused },
		{ "gpu_jobs_refused", window->gpu_jobs_refused },
	};
	int err = 0;

	for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]) && !err; i++)
		err = stamp_add_counter(stamp, counters[i].name, counters[i].value);
	return err;
}

int window_notes_add(struct window *window, struct stamp *stamp)
{
	int err = host_note_add(window->profile, NULL);

	if (!err)
		err = request_rows_to_notes(window->requests, window->profile);
	if (!err)
		err = add_gpu_jobs(window);
	if (!err)
		err = add_checkpoints(window);
	if (!err)
		err = timeline_to_notes(window->timeline.timeline, window->profile);
	if (!err)
		err = add_counters(window, stamp);
	return err ? err : stamp_to_notes(stamp, window->profile);
}
