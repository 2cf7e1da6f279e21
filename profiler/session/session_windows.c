/* Sorts events and ledger rows into windows, and ends a window. */

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/base/clock.h"
#include "profiler/symbols/debuginfod.h"
#include "profiler/tracer/host_steal.h"
#include "profiler/process/process_table.h"
#include "profiler/process/python_processes.h"
#include "profiler/session/fault_line.h"
#include "profiler/session/inherited_waits.h"
#include "profiler/session/session_state.h"
#include "profiler/session/silent_mounts.h"
#include "profiler/session/stack_resolve.h"
#include "profiler/format/stamp.h"
#include "profiler/signals/host_signals.h"
#include "profiler/symbols/symbol_cache.h"
#include "profiler/tags/tag_names.h"
#include "profiler/tags/tag_watch.h"
#include "profiler/tracer/tracer.h"

#define LAST_DRAIN_NS   (600 * 1000000ULL) /* of a window */
#define WINDOWS_TO_REST 6 /* profiles are freed after their window, tables age for some more */

/* --- what comes in -------------------------------------------------------------------------------- */

/* What comes of window `number` belongs to it. */
static struct window **window_of(struct session *session, uint64_t number)
{
	struct window **window = session->first_of_next && number >= session->first_of_next
	                                 ? &session->next
	                                 : &session->current;

	if (!*window)
		*window = window_new(&session->deps);
	return window;
}

static void take_gpu_job(struct session *session, const struct abi_gpu_job *job)
{
	struct window *window = *window_of(session, job->window);

	if (window)
		window_add_gpu_job(window, job);
	else
		session->lost_events++;
}

void session_on_event(void *ctx, const struct abi_event *event)
{
	struct session *session = ctx;
	struct window *window;
	char line[160];

	if (event->kind == ABI_EVENT_TAGGED || event->kind == ABI_EVENT_EXEC) {
		tag_watch_met(session->watch, event->tgid, event->kind == ABI_EVENT_EXEC);
		return;
	}
	if (event->kind == ABI_EVENT_IOMMU_FAULT) {
		fault_line(event, line, sizeof(line));
		session->say(line);
		return;
	}
	if (event->kind == ABI_EVENT_GPU_JOB) {
		take_gpu_job(session, (const struct abi_gpu_job *)event);
		return;
	}
	window = *window_of(session, event->window);
	if (!window)
		session->lost_events++;
	else if (session->too_late)
		window_lose_event(window, event);
	else
		window_add_event(window, event);
}

int session_on_row(void *ctx, const struct abi_ledger_key *key, const struct abi_ledger_value *value)
{
	struct session *session = ctx;

	if (!session->current)
		session->current = window_new(&session->deps);
	if (key->state == ABI_ONCPU)
		host_signals_follow(session->signals, key->tgid);
	if (session->current)
		return window_add_row(session->current, key, value);
	session->lost_row_ns += (uint64_t)llabs((int64_t)value->ns);
	return 0;
}

void session_taken(struct session *session, uint64_t now)
{
	if (session->current)
		window_rows_taken(session->current, session->taken_ns, now);
	session->taken_ns = now;
}

int session_take_ledger(struct session *session)
{
	int result = tracer_take_ledger(session->tracer, ++session->number, session_on_row, session);

	tag_names_after_take(session->tags, session->tracer);
	session_taken(session, monotonic_ns());
	return result;
}

/* --- the end of a window -------------------------------------------------------------------------- */

static struct stamp *describe(struct session *session)
{
	struct stamp *stamp = stamp_new();

	if (!stamp)
		return NULL;
	if (tracer_describe(session->tracer, stamp) || stack_resolver_describe(session->resolver, stamp) ||
	    python_processes_describe(session->pythons, stamp) ||
	    debuginfod_describe(session->debuginfod, stamp) || tag_watch_describe(session->watch, stamp) ||
	    stamp_add_counter(stamp, "events_without_memory", session->lost_events) ||
	    stamp_add_counter(stamp, "ledger_without_memory_ns", session->lost_row_ns) ||
	    stamp_add_counter(stamp, "window_walks_failed", session->walks_failed) ||
	    stamp_add_counter(stamp, "file_systems_silent", silent_mounts_take(session->opts.mounts)) ||
	    session_files_describe(session, stamp) || host_steal_describe(&session->steal_ns, stamp) ||
	    stamp_add_growth(stamp, "hooks_late_ns", &session->hooks_late_ns, session->attachment.late_ns) ||
	    host_signals_describe(session->signals, stamp) ||
	    (session->inherited && stamp_add_growth(stamp, "waiters_dropped", &session->waiters_dropped,
	                                            inherited_waits_dropped(session->inherited)))) {
		stamp_free(stamp);
		return NULL;
	}
	session->lost_events = session->lost_row_ns = session->walks_failed = 0;
	stamp_set_threshold(stamp, sampling_threshold_take(&session->threshold, ABI_WAITS_STALL));
	if (config_long_waits(session->config, session->opts.local))
		stamp_set_blocked_threshold(stamp,
		                            sampling_threshold_take(&session->threshold, ABI_WAITS_BLOCKED));
	return stamp;
}

/* Resolves all events that have come, as far as time allows; the rest is counted as lost. */
static int drain(struct session *session)
{
	int result = tracer_poll(session->tracer, true, monotonic_ns() + LAST_DRAIN_NS);

	session->too_late = true;
	if (result > 0)
		result = tracer_poll(session->tracer, true, monotonic_ns() + SESSION_DRAIN_NS);
	session->too_late = false;
	return result;
}

/* What is in the maps and the ring goes to the window that ends, what comes from now on to the next. */
static struct profile *finish_window(struct session *session, uint64_t covered_ns)
{
	struct profile *profile = NULL;
	struct stamp *stamp = NULL;
	int result = session_take_ledger(session);

	session->first_of_next = session->number;
	if (result >= 0)
		result = drain(session);
	if (!session->current)
		session->current = window_new(&session->deps);
	if (result >= 0 && session->current) {
		window_take_signals(session->current, session->signals);
		stamp = describe(session);
		errno = ENOMEM;
		if (stamp)
			profile = window_finish(session->current, stamp, session->begin_unix_ns, covered_ns);
		stamp_free(stamp);
	} else if (result < 0) {
		errno = -result;
	}
	return profile;
}

/* Returns memory to the system when nobody is tagged any more: that of the last windows lies between what is
 * kept. */
static void rest(struct session *session)
{
	if (tracer_attached(session->tracer))
		session->windows_at_rest = 0;
	else if (session->windows_at_rest++ < WINDOWS_TO_REST)
		malloc_trim(0);
}

static void on_base_tag(void *ctx, uint64_t tag)
{
	struct session *session = ctx;

	tag_names_held(session->tags, session->tracer, tag);
}

struct profile *session_end_window(struct session *session)
{
	uint64_t end_unix_ns, end_ns;
	struct profile *profile;
	int result;

	tag_watch_poll(session->watch, monotonic_ns());
	/* What comes until the ledger is taken is sent whole: it may be of either window. */
	tracer_stacks_from(session->tracer, session->number + 1);
	/* If it fails, the window has what was told before it, and the next one the rest. */
	if (tracer_iterate(session->tracer, ABI_ITER_FLUSH))
		session->walks_failed++;
	session_walked(session, &end_ns, &end_unix_ns);
	profile = finish_window(session, end_ns - session->begin_ns);
	result = -errno;
	stack_resolver_forget(session->resolver);
	window_free(session->current);
	session->current = session->next ? session->next : window_new(&session->deps);
	session->next = NULL;
	session->first_of_next = 0;
	session->begin_unix_ns = end_unix_ns;
	session->begin_ns = end_ns;
	tag_watch_each_base_tag(session->watch, on_base_tag, session);
	tag_names_end_window(session->tags, session->tracer);
	process_table_age(session->processes);
	symbol_cache_keep(session->symbolizer, session->debuginfod);
	rest(session);
	if (!profile)
		errno = -result;
	return profile;
}

const struct timeline *session_lanes(const struct session *session)
{
	return session->current ? window_lanes(session->current) : NULL;
}

void session_progress(const struct session *session, struct session_progress *out)
{
	static const enum abi_counter losses[] = { ABI_COUNT_ring_full, ABI_COUNT_ledger_full,
		                                   ABI_COUNT_tags_full, ABI_COUNT_threads_failed,
		                                   ABI_COUNT_follow_full };
	size_t i;

	memset(out, 0, sizeof(*out));
	if (session->current) {
		window_stalled(session->current, out->stalled_ns);
		out->samples = window_samples(session->current);
	}
	for (i = 0; i < sizeof(losses) / sizeof(losses[0]); i++)
		out->losses += tracer_counter(session->tracer, losses[i]);
	out->tagged = tracer_tagged(session->tracer);
	out->attach_count = session->attachment.count;
	out->attached = tracer_attached(session->tracer);
}
