/* The inside of a window (window.h): rows come in window.c, events in window_events.c; made into a profile in window_profile.c. */
#ifndef STALLPROF_PROFILER_WINDOW_STATE_H
#define STALLPROF_PROFILER_WINDOW_STATE_H

#include <stdbool.h>

#include "profiler/session/stack_resolve.h"
#include "profiler/session/window.h"
#include "profiler/session/window_room.h"
#include "profiler/session/window_samples.h"
#include "profiler/session/window_timeline.h"

struct gpu_jobs;
struct profile;
struct request_rows;
struct stack_memo;
struct stack_pools;

struct window {
	struct window_deps deps;
	struct profile *profile;
	struct window_room room;
	struct row *rows;
	struct request_rows *requests;
	struct host_users *users;  /* NULL: it is not told who uses the host */
	struct gpu_jobs *gpu_jobs; /* NULL: none is told */
	uint64_t gpu_jobs_refused; /* of rows beyond GPU_JOB_ROWS_MAX, or without memory */
	uint64_t n_samples, n_lost, lost_ns, n_without_row;
	uint64_t rows_refused, rows_refused_ns; /* times and nanoseconds of rows beyond the maximum */
	uint64_t requests_refused;              /* of rows beyond REQUEST_ROWS_MAX, or without memory */
	struct window_timeline timeline;
	uint64_t slice_ns;
	uint64_t rows_from_ns; /* when the time begins that rows are added of (window_rows_taken) */
	struct stack_pools *pools;
	struct stack_memo *user_stacks;
	uint64_t estimated_ns; /* of rows that got the stack of a similar row */
	bool has_main_binary;
	int64_t ids[STACK_FRAMES_MAX];
};

/* The row with that key, a new one if there is none. NULL with errno ENOSPC or ENOMEM. */
struct row *window_row(struct window *window, const struct abi_ledger_key *key);
/* Copies the name of the row's tag while the tracer has it. */
void window_name_row(struct window *window, struct row *row);
/* The class of a tag's key, which may be nobody's. Lives as long as the classes. */
const char *window_class(struct window *window, uint64_t tag);
/* The slice of time in which a moment lies. Where there would be too many, slices become twice as long. */
uint32_t window_slice(struct window *window, uint64_t time_ns);

#endif
