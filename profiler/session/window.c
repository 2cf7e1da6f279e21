/* Collects the ledger rows and samples of one window. */

#include "profiler/session/window.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pprof/profile.h"
#include "profiler/format/request_rows.h"
#include "profiler/process/process_table.h"
#include "profiler/session/device_names.h"
#include "profiler/session/gpu_jobs.h"
#include "profiler/session/stack_memo.h"
#include "profiler/session/stack_pool.h"
#include "profiler/session/host_users.h"
#include "profiler/signals/host_signals.h"
#include "profiler/tags/tag_class.h"
#include "profiler/tags/tag_names.h"
#include "profiler/session/window_samples.h"
#include "profiler/session/window_state.h"
#include "profiler/session/window_timeline.h"
#include "symbolizer/symbolizer.h"

#define SLICE_NS 1000000000ULL /* at first */

static const struct profile_value_type types[WINDOW_TYPES] = {
	[WINDOW_CONTENTIONS] = { "contentions", "count" },
	[WINDOW_DELAY] = { "delay", "nanoseconds" },
	[WINDOW_CPU] = { "cpu", "nanoseconds" },
	[WINDOW_RECOVERY] = { "recovery", "nanoseconds" },
};

const char *window_cause_name(unsigned int cause)
{
	static const char *const names[ABI_WAIT_END] = {
		[ABI_CAUSE_NONE] = "none",
		[ABI_CAUSE_BLOCK_IO] = "block_io",
		[ABI_CAUSE_WRITEBACK] = "writeback",
		[ABI_CAUSE_JOURNAL] = "journal",
		[ABI_CAUSE_THROTTLE] = "throttle",
		[ABI_CAUSE_TAG_WAIT] = "tag_wait",
		[ABI_CAUSE_NFS_READ] = "nfs_read",
		[ABI_CAUSE_NFS_WRITE] = "nfs_write",
		[ABI_CAUSE_DMA_MAP] = "dma_map",
		[ABI_CAUSE_DMA_BOUNCE] = "dma_bounce",
		[ABI_CAUSE_GPU_SYNC] = "gpu_sync",
		[ABI_CAUSE_COLLECTIVE] = "collective",
		[ABI_CAUSE_GPU_RING] = "gpu_ring",
		[ABI_CAUSE_GPU_FENCE] = "gpu_fence",
		[ABI_CAUSE_NVME_TIMEOUT] = "nvme_timeout",
		[ABI_CAUSE_NVME_ABORT] = "nvme_abort",
		[ABI_CAUSE_NVME_RESET] = "nvme_reset",
		[ABI_CAUSE_IOMMU_FAULT] = "iommu_fault",
		[ABI_WAIT_OTHER] = "other",
		[ABI_WAIT_LOCK] = "lock",
		[ABI_WAIT_PIPE] = "pipe",
		[ABI_WAIT_SOCKET] = "socket",
		[ABI_WAIT_POLL] = "poll",
		[ABI_WAIT_SLEEP] = "sleep",
		[ABI_WAIT_CHILD] = "child",
		[ABI_WAIT_STOPPED] = "stopped",
		[ABI_WAIT_UNDECIDED] = "undecided",
	};

	return cause < ABI_WAIT_END && names[cause] ? names[cause] : "unknown";
}

struct window *window_new(const struct window_deps *deps)
{
	struct profile_value_type period = { "contentions", "count" };
	struct window *window = calloc(1, sizeof(*window));

	if (!window)
		return NULL;
	window->deps = *deps;
	if (!window->deps.max_rows)
		window->deps.max_rows = WINDOW_ROWS_MAX;
	window->profile = profile_new(types, WINDOW_TYPES, period, 1, deps->max_bytes);
	window->pools = stack_pools_new();
	window->user_stacks = stack_memo_new();
	window->requests = request_rows_new();
	window->users = deps->host_users ? host_users_new(deps->maps) : NULL;
	window->gpu_jobs = deps->gpu_limits ? gpu_jobs_new(deps->gpu_limits) : NULL;
	if (window_timeline_init(&window->timeline) || !window->profile ||
	    window_room_begin(&window->room, window->profile, deps->max_bytes) || !window->pools ||
	    !window->user_stacks || !window->requests || (deps->host_users && !window->users) ||
	    (deps->gpu_limits && !window->gpu_jobs)) {
		window_free(window);
		errno = ENOMEM;
		return NULL;
	}
	window->slice_ns = SLICE_NS;
	window->rows_from_ns = window->timeline.begin_ns;
	if (!deps->slices_from_ns)
		window_slices_from(window, window->timeline.begin_ns,
		                   window->timeline.begin_ns + window->timeline.unix_offset_ns);
	profile_set_default_type(window->profile, "delay");
	return window;
}

void window_slices_from(struct window *window, uint64_t ns, uint64_t unix_ns)
{
	window->deps.slices_from_ns = ns;
	window->deps.slices_from_unix_ns = unix_ns;
}

static void row_free(struct window *window, struct row *row)
{
	row_free_samples(row);
	HASH_DEL(window->rows, row);
	free(row);
}

void window_free(struct window *window)
{
	struct row *row, *next;

	if (!window)
		return;
	HASH_ITER (hh, window->rows, row, next)
		row_free(window, row);
	window_timeline_release(&window->timeline);
	stack_pools_free(window->pools);
	stack_memo_free(window->user_stacks);
	request_rows_free(window->requests);
	host_users_free(window->users);
	gpu_jobs_free(window->gpu_jobs);
	profile_free(window->profile);
	free(window);
}

void window_name_row(struct window *window, struct row *row)
{
	const struct abi_tag *before = row->tag;

	if (row->key.state == ABI_RECOVERY)
		return;
	row->tag = tag_names_copy(window->deps.tags, window->deps.tracer, row->key.tag);
	if (!row->tag)
		row->tag = before ? before : tag_names_unknown();
	if (row->tag != before)
		row->class = tag_classes_of(window->deps.classes, row->tag->name);
}

struct row *window_row(struct window *window, const struct abi_ledger_key *key)
{
	struct row *row;

	HASH_FIND(hh, window->rows, key, sizeof(*key), row);
	if (!row &&
	    (HASH_COUNT(window->rows) >= window->deps.max_rows || window_room_add_row(&window->room, key))) {
		tag_names_refused(window->deps.tags, window->deps.tracer, key->tag);
		errno = ENOSPC;
		return NULL;
	}
	if (!row) {
		row = calloc(1, sizeof(*row));
		if (!row)
			return NULL;
		row->key = *key;
		HASH_ADD(hh, window->rows, key, sizeof(row->key), row);
		if (!row->hh.tbl) {
			free(row);
			errno = ENOMEM;
			return NULL;
		}
		if (key->state != ABI_RECOVERY)
			process_table_rank(window->deps.processes, key->tgid, key->process_start_ns);
	}
	return row;
}

const char *window_class(struct window *window, uint64_t tag)
{
	const struct abi_tag *known;

	if (tag == ABI_NOBODYS_TAG)
		return "";
	known = tag_names_copy(window->deps.tags, window->deps.tracer, tag);
	return tag_classes_of(window->deps.classes, known ? known->name : tag_names_unknown()->name);
}

/* A row of the state ABI_REQUESTS. */
static void add_requests(struct window *window, const struct abi_ledger_key *key,
                         const struct abi_ledger_value *value)
{
	static const enum request_op ops[ABI_REQUESTS_OPS] = {
		[ABI_REQUESTS_READ] = REQUEST_READ,   [ABI_REQUESTS_WRITE] = REQUEST_WRITE,
		[ABI_REQUESTS_FLUSH] = REQUEST_FLUSH, [ABI_REQUESTS_DISCARD] = REQUEST_DISCARD,
		[ABI_REQUESTS_OTHER] = REQUEST_OTHER,
	};
	unsigned int op = key->cause & ~ABI_REQUESTS_WRITEBACK;
	struct request_row row = {
		.device = device_names_of(window->deps.devices, key->dev, 0),
		.class = window_class(window, key->tag),
		.op = op < ABI_REQUESTS_OPS ? ops[op] : REQUEST_OTHER,
		.writeback = key->cause & ABI_REQUESTS_WRITEBACK,
		.requests = value->count,
		.bytes = value->bytes,
		.ns = (uint64_t)value->ns,
	};

	if (request_rows_add(window->requests, &row))
		window->requests_refused += row.requests;
	if (key->tgid && window->users && (row.op == REQUEST_READ || row.op == REQUEST_WRITE) &&
	    host_users_add(window->users, key->tgid, key->dev, (int64_t)value->bytes))
		window->timeline.refused++;
}

uint32_t window_slice(struct window *window, uint64_t time_ns)
{
	uint64_t begin_ns = window->deps.slices_from_ns;
	uint64_t since_ns = time_ns > begin_ns ? time_ns - begin_ns : 0;
	struct row *row;

	if (!window->deps.max_slices)
		return 0;
	while (since_ns / window->slice_ns >= window->deps.max_slices) {
		window->slice_ns *= 2;
		for (row = window->rows; row; row = row->hh.next) {
			if (row_widen_slices(row, &window->room))
				window->n_lost++;
		}
	}
	return (uint32_t)(since_ns / window->slice_ns);
}

int window_add_row(struct window *window, const struct abi_ledger_key *key,
                   const struct abi_ledger_value *value)
{
	struct row *row;

	if (key->state == ABI_REQUESTS) {
		add_requests(window, key, value);
		return 0;
	}
	if (key->state == ABI_CPU_USER) {
		if (window->users && host_users_add(window->users, key->tgid, 0, value->ns))
			window->timeline.refused++;
		return 0;
	}
	row = window_row(window, key);
	if (!row) {
		window->rows_refused++;
		if (key->state != ABI_CPU_STALL) /* a part of on-CPU, which is a row of its own */
			window->rows_refused_ns += (uint64_t)llabs((int64_t)value->ns);
		return 0;
	}
	window_name_row(window, row);
	if (!row->ns && !row->count && !row->samples)
		row->slice = window_slice(window, window->rows_from_ns);
	row->ns += value->ns;
	row->count += value->count;
	window_timeline_row(&window->timeline, key->state, row->class, value->ns,
	                    key->state == ABI_ONCPU &&
	                            tag_names_count(window->deps.tags, window->deps.tracer, key->tag));
	/* Read while the process is there: the samples' labels need it at the window's end. */
	process_table_rank(window->deps.processes, key->tgid, key->process_start_ns);
	return 0;
}

void window_stalled(const struct window *window, int64_t by_cause[ABI_CAUSE_MAX])
{
	const struct row *row;

	memset(by_cause, 0, ABI_CAUSE_MAX * sizeof(*by_cause));
	for (row = window->rows; row; row = row->hh.next) {
		if (row->key.state == ABI_STALL && row->key.cause < ABI_CAUSE_MAX)
			by_cause[row->key.cause] += row->ns;
	}
}

uint64_t window_samples(const struct window *window)
{
	return window->n_samples;
}

void window_take_signals(struct window *window, struct host_signals *signals)
{
	if (host_signals_take(signals, window->timeline.timeline))
		window->timeline.refused++;
}

const struct timeline *window_lanes(const struct window *window)
{
	return window->timeline.timeline;
}

void window_rows_taken(struct window *window, uint64_t begin_ns, uint64_t end_ns)
{
	window_timeline_taken(&window->timeline, begin_ns, end_ns);
	window->rows_from_ns = end_ns;
	if (window->users)
		host_users_tell(window->users, window->deps.devices, &window->timeline, begin_ns, end_ns);
}
