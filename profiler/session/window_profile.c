/* Makes a window into a profile: scales the samples to the ledger, adds ledger and stamp. */

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "pprof/profile.h"
#include "profiler/session/detail_labels.h"
#include "profiler/session/device_names.h"
#include "profiler/format/ledger_row.h"
#include "profiler/process/process_ranks.h"
#include "profiler/process/process_table.h"
#include "profiler/session/stack_location.h"
#include "profiler/session/stack_pool.h"
#include "profiler/format/stamp.h"
#include "profiler/format/tag_hash.h"
#include "profiler/session/window_notes.h"
#include "profiler/session/window_state.h"
#include "symbolizer/base/clock.h"

#define SECOND_NS  1000000000ULL
#define LABELS_MAX (12 + DETAIL_LABELS_MAX + INHERITED_LABELS_MAX)

struct labels {
	struct profile_label label[LABELS_MAX];
	size_t n;
	char span_id[17], trace_id[33], rank[12];
};

static void add_label(struct labels *labels, const struct profile_label *label)
{
	assert(labels->n + 1 < LABELS_MAX - DETAIL_LABELS_MAX - INHERITED_LABELS_MAX);
	labels->label[labels->n++] = *label;
}

static void add_text(struct labels *labels, const char *key, const char *text)
{
	add_label(labels, &(struct profile_label){ .key = key, .str = text });
}

static void add_rank(struct window *window, const struct row *row, struct labels *labels)
{
	uint32_t rank = process_table_rank(window->deps.processes, row->key.tgid, row->key.process_start_ns);

	if (rank == PROCESS_RANK_NONE || window->deps.without_rank)
		return;
	snprintf(labels->rank, sizeof(labels->rank), "%u", rank);
	add_text(labels, "rank", labels->rank);
}

static void labels_of(struct window *window, const struct row *row, struct labels *labels)
{
	const struct abi_tag *tag = row->tag;
	static const uint8_t no_trace[16];
	int i;

	labels->n = 0;
	add_text(labels, "ai_tag", row->class);
	add_text(labels, "stall", window_cause_name(row->key.cause));
	add_text(labels, "device", device_names_of(window->deps.devices, row->key.dev, row->key.tgid));
	add_rank(window, row, labels);
	if (tag->id) {
		snprintf(labels->span_id, sizeof(labels->span_id), "%016llx", (unsigned long long)tag->id);
		add_text(labels, "span_id", labels->span_id);
	}
	if (memcmp(tag->trace_id, no_trace, sizeof(no_trace))) {
		for (i = 0; i < 16; i++)
			snprintf(labels->trace_id + 2 * i, 3, "%02x", tag->trace_id[i]);
		add_text(labels, "trace_id", labels->trace_id);
	}
	add_label(labels, &(struct profile_label){ .key = "pid", .num = row->key.tgid, .unit = "id" });
	if (strcmp(tag->name, labels->label[0].str))
		add_label(labels, &(struct profile_label){ .key = TAG_HASH_LABEL,
		                                           .num = tag_hash(tag->name),
		                                           .unit = TAG_HASH_UNIT });
}

/* When the slice began, in whole seconds; with the fraction of a second with which the recording begins (stamp.h), to the nanosecond. */
static struct profile_label slice_label(const struct window *window, uint32_t slice)
{
	uint64_t begin_ns = window->deps.slices_from_unix_ns + slice * window->slice_ns;

	return (struct profile_label){ .key = "at",
		                       .num = (int64_t)(begin_ns / SECOND_NS),
		                       .unit = "unix_seconds" };
}

/* What the wait was for through another thread, and whose wait that was; returns how many labels. */
static size_t inherited_labels(const struct inherited *inherited, struct profile_label *labels)
{
	const char *stall =
	        inherited->state == INHERITED_ACTIVE ? "active" : window_cause_name(inherited->cause);
	size_t n = 0;

	labels[n++] = (struct profile_label){ .key = "inherited_stall", .str = stall };
	labels[n++] = (struct profile_label){ .key = "inherited_from", .str = inherited->class };
	if (*inherited->device)
		labels[n++] = (struct profile_label){ .key = "inherited_device", .str = inherited->device };
	return n;
}

static uint64_t magnitude(int64_t ns)
{
	return ns < 0 ? -ns : ns;
}

/* `err`: what adding a sample of these values said. One that there is no room for in spite of all (window_room.h) is lost alone. */
static int added(struct window *window, const int64_t values[WINDOW_TYPES], int err)
{
	if (err != -ENOSPC)
		return err;
	window->n_lost++;
	window->lost_ns += magnitude(values[WINDOW_DELAY] + values[WINDOW_CPU] + values[WINDOW_RECOVERY]);
	return 0;
}

/* The labels of the row, and those of the sample alone. */
static int add_sample(struct window *window, const struct sample *sample, const struct labels *labels,
                      const int64_t values[WINDOW_TYPES])
{
	struct profile_label all[LABELS_MAX];
	size_t n = labels->n;

	memcpy(all, labels->label, n * sizeof(*all));
	if (window->deps.max_slices)
		all[n++] = slice_label(window, sample->slice);
	if (sample->detail)
		n += detail_labels(sample->detail, all + n);
	if (sample->inherited.state)
		n += inherited_labels(&sample->inherited, all + n);
	assert(n <= LABELS_MAX);
	return added(window, values,
	             profile_add_sample(window->profile, sample->ids, sample->n, values, all, n));
}

static void values_of(const struct row *row, int64_t ns, uint64_t count, int64_t values[WINDOW_TYPES])
{
	memset(values, 0, WINDOW_TYPES * sizeof(*values));
	if (row->key.state == ABI_CPU_STALL || row->key.state == ABI_RECOVERY) {
		values[row->key.state == ABI_RECOVERY ? WINDOW_RECOVERY : WINDOW_CPU] = ns;
		return;
	}
	values[WINDOW_CONTENTIONS] = count;
	values[WINDOW_DELAY] = ns;
}

/* `total` in proportion to `upto` of `whole`, rounded to 0. Taken at each partial sum, the differences add up to
 * the total exactly. */
static int64_t share(int64_t total, uint64_t upto, uint64_t whole)
{
	return whole ? (int64_t)((__int128)total * upto / whole) : 0;
}

static void pool_key(const struct row *row, struct stack_pool_key *key)
{
	memset(key, 0, sizeof(*key));
	key->class = row->class;
	key->process_start_ns = row->key.process_start_ns;
	key->tgid = row->key.tgid;
	key->dev = row->key.dev;
	key->state = row->key.state;
	key->cause = row->key.cause;
}

static bool has_samples_to_be(const struct row *row)
{
	return (row->key.state == ABI_STALL || row->key.state == ABI_CPU_STALL) && row->ns;
}

/* What the row has of its own waits: beside what is taken back from earlier windows. */
static int64_t own_ns(const struct row *row)
{
	const struct sample *sample;
	int64_t ns = row->ns;

	for (sample = row->samples; sample; sample = sample->hh.next)
		ns += (int64_t)sample->taken_back;
	return ns;
}

/* Adds the kept stacks to the pools, and announces the rows that have none of their own waits. */
static int fill_pools(struct window *window)
{
	const struct sample *sample;
	struct stack_pool_key key;
	const struct row *row;
	int err = 0;

	for (row = window->rows; row && !err; row = row->hh.next) {
		if (!has_samples_to_be(row) || row->key.below_min)
			continue;
		pool_key(row, &key);
		for (sample = row->samples; sample && !err; sample = sample->hh.next)
			if (sample->weight)
				err = stack_pools_offer(window->pools, &key, sample->ids, sample->n,
				                        sample->weight);
		if (!err && !row->weight)
			err = stack_pools_want(window->pools, &key, magnitude(own_ns(row)));
	}
	return err;
}

/* Adds what a row has of waits of which none was kept: with the stack of a similar row and a label that says so, else with a name
 * that does. */
static int add_unsampled(struct window *window, const struct row *row, int64_t ns, uint64_t count,
                         struct labels *labels)
{
	const int64_t *ids = NULL;
	struct stack_pool_key key;
	int64_t values[WINDOW_TYPES], id;
	size_t n = 1;

	values_of(row, ns, count, values);
	if (window->deps.max_slices) {
		struct profile_label label = slice_label(window, row->slice);

		add_label(labels, &label);
	}
	if (!row->key.below_min) {
		pool_key(row, &key);
		ids = stack_pools_take(window->pools, &key, magnitude(ns), &n);
	}
	if (ids) {
		window->estimated_ns += magnitude(ns);
		add_label(labels, &(struct profile_label){
		                          .key = "stack_of_a_like_wait", .num = 1, .unit = "count" });
	} else {
		id = stack_placeholder(window->profile, row->key.below_min
		                                                ? "[shorter than --min-duration-ns]"
		                                                : "[not sampled]");
		ids = &id;
	}
	return added(window, values,
	             *ids < 0
	                     ? (int)*ids
	                     : profile_add_sample(window->profile, ids, n, values, labels->label, labels->n));
}

/* Whether the row is of a tag that the device's recovery holds up, and by how much more than `than` (NULL: any). */
static bool is_held_up(const struct row *row, const struct row *recovery, const struct row *than)
{
	return row->key.state == ABI_STALL && row->key.cause == recovery->key.cause &&
	       row->key.dev == recovery->key.dev && row->ns > (than ? than->ns : 0);
}

/* Of a kernel thread that brings a device back: it has no tag of its own. It bears the tag that it holds up for longest. */
static void labels_of_recovery(struct window *window, const struct row *recovery, struct labels *labels)
{
	struct process *process = process_table_get(window->deps.processes, recovery->key.tgid,
	                                            recovery->key.process_start_ns, NULL);
	const struct row *row, *worst = NULL;

	for (row = window->rows; row; row = row->hh.next) {
		if (is_held_up(row, recovery, worst))
			worst = row;
	}
	labels->n = 0;
	if (worst)
		add_text(labels, "holds_up", worst->class);
	add_text(labels, "stall", window_cause_name(recovery->key.cause));
	add_text(labels, "device",
	         device_names_of(window->deps.devices, recovery->key.dev, recovery->key.tgid));
	if (process)
		add_text(labels, "worker", process->comm);
	add_label(labels, &(struct profile_label){ .key = "pid", .num = recovery->key.tgid, .unit = "id" });
}

/* The samples of a row's own waits stand for all of them. What is taken back is of the stacks of the waits that it was counted for. */
static int add_row_samples(struct window *window, struct row *row)
{
	uint64_t weight = 0, times = 0, count = 0;
	int64_t values[WINDOW_TYPES], ns = 0, whole = own_ns(row);
	struct sample *sample;
	struct labels labels;
	int err = 0;

	if (row->key.state == ABI_RECOVERY)
		labels_of_recovery(window, row, &labels);
	else
		labels_of(window, row, &labels);
	for (sample = row->samples; sample && !err; sample = sample->hh.next) {
		uint64_t count_upto;
		int64_t ns_upto;

		weight += sample->weight;
		times += sample->times;
		ns_upto = share(whole, weight, row->weight);
		count_upto = share(row->count, times, row->times);
		values_of(row, ns_upto - ns - (int64_t)sample->taken_back, count_upto - count, values);
		err = add_sample(window, sample, &labels, values);
		ns = ns_upto;
		count = count_upto;
	}
	if (!err && ns != whole)
		err = add_unsampled(window, row, whole - ns, row->count - count, &labels);
	return err;
}

/* What the samples of waits that are no stalls may stand for. Their lengths are by the hooks' clock, their row is
 * what the scheduler's counts leave over. */
static uint64_t wait_weight(const struct row *row)
{
	int64_t bound = own_ns(row);

	if (bound < 0)
		return 0;
	return (uint64_t)bound < row->weight ? (uint64_t)bound : row->weight;
}

/* Waits that are no stalls: their stacks stand for themselves alone, as only the long ones have any, and never for more
 * than their row. What earlier windows were told of a wait that turned out to be a stall is taken back (window_events.c). */
static int add_wait_samples(struct window *window, struct row *row)
{
	uint64_t weight = 0, whole = wait_weight(row);
	struct sample *sample;
	struct labels labels;
	int64_t ns = 0;
	int err = 0;

	if (row->samples)
		labels_of(window, row, &labels);
	for (sample = row->samples; sample && !err; sample = sample->hh.next) {
		int64_t upto = share((int64_t)whole, weight += sample->weight, row->weight);
		int64_t values[WINDOW_TYPES] = { [WINDOW_CONTENTIONS] = sample->times / 1000,
			                         [WINDOW_DELAY] = upto - ns - (int64_t)sample->taken_back };

		ns = upto;
		if (values[WINDOW_DELAY])
			err = add_sample(window, sample, &labels, values);
	}
	return err;
}

static enum ledger_state ledger_state_of(unsigned int state)
{
	switch (state) {
	case ABI_ONCPU:
		return LEDGER_ONCPU;
	case ABI_RUNQ:
		return LEDGER_RUNQUEUE;
	case ABI_STALL:
		return LEDGER_STALL;
	case ABI_SLEEP:
		return LEDGER_BLOCKED;
	default:
		return LEDGER_UNOBSERVED;
	}
}

static int add_ledger_row(struct window *window, struct ledger *ledger, const struct row *row)
{
	const struct abi_tag *tag = row->tag;
	struct process *process =
	        process_table_get(window->deps.processes, row->key.tgid, row->key.process_start_ns, NULL);
	uint32_t rank = process_table_rank(window->deps.processes, row->key.tgid, row->key.process_start_ns);
	bool stall = row->key.state == ABI_STALL, wait = row->key.state == ABI_SLEEP;
	struct ledger_row out = {
		.tag = (char *)tag->name,
		.id = tag->id,
		.class = (char *)row->class,
		.base = tag->source == ABI_TAG_PROCESS,
		.pid = row->key.tgid,
		.start_ns = row->key.process_start_ns,
		.comm = process ? process->comm : NULL,
		.rank_and_1 = rank == PROCESS_RANK_NONE ? 0 : rank + 1,
		.state = ledger_state_of(row->key.state),
		.cause = stall || wait ? (char *)window_cause_name(row->key.cause) : NULL,
		.device = stall ? (char *)device_names_of(window->deps.devices, row->key.dev, row->key.tgid)
		                : NULL,
		.ns = row->ns,
		.count = row->count,
	};

	return ledger_add(ledger, &out);
}

/* Whether it is there by its samples alone, and is in no sum. */
static bool is_without_row(const struct row *row)
{
	return !row->ns && row->samples && row->key.state != ABI_SLEEP;
}

/* The ledger comes before the samples: should there be no room for one of them, the profile is still worth something. */
static int fill_ledger(struct window *window)
{
	struct ledger *ledger = ledger_new(0);
	int err = ledger ? 0 : -ENOMEM;

	for (const struct row *row = window->rows; row && !err; row = row->hh.next) {
		if (!is_without_row(row) && row->key.state != ABI_CPU_STALL &&
		    row->key.state != ABI_RECOVERY &&
		    (row->ns || (row->key.state == ABI_ONCPU && row->count)))
			err = add_ledger_row(window, ledger, row);
	}
	if (!err)
		err = ledger_to_notes(ledger, window->profile);
	ledger_free(ledger);
	return err;
}

static int fill_samples(struct window *window)
{
	int err = fill_pools(window);
	struct row *row;

	for (row = window->rows; row && !err; row = row->hh.next) {
		if (is_without_row(row))
			window->n_without_row++;
		else if (row->key.state == ABI_SLEEP)
			err = add_wait_samples(window, row);
		else if (row->key.state == ABI_STALL || row->key.state == ABI_CPU_STALL ||
		         row->key.state == ABI_RECOVERY)
			err = add_row_samples(window, row);
	}
	return err;
}

struct profile *window_finish(struct window *window, struct stamp *stamp, uint64_t begin_unix_ns,
                              uint64_t duration_ns)
{
	struct profile *profile;
	int err;

	profile_set_time(window->profile, begin_unix_ns, duration_ns);
	window_room_free_rows(&window->room);
	err = fill_ledger(window);
	if (!err)
		err = fill_samples(window);
	window_room_free_notes(&window->room);
	if (!err)
		err = stamp_add_window(stamp, begin_unix_ns, begin_unix_ns + duration_ns);
	stamp_set_booted(stamp, booted_unix_ns());
	if (!err)
		err = window_notes_add(window, stamp);
	if (err) {
		errno = -err;
		return NULL;
	}
	profile = window->profile;
	window->profile = NULL;
	return profile;
}
