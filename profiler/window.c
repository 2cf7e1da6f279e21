#include "profiler/window.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "pprof/profile.h"
#include "profiler/device_names.h"
#include "profiler/ledger_row.h"
#include "profiler/process_table.h"
#include "profiler/stack_resolve.h"
#include "profiler/stamp.h"
#include "profiler/tag_class.h"
#include "profiler/tag_names.h"
#include "profiler/tracer.h"
#include "symbolizer/symbolizer.h"

/* Samples with the same stack of the same row are one. */
struct sample {
	uint64_t stack_hash; /* the key: of its location ids */
	int64_t *ids;
	size_t n;
	uint64_t weight; /* nanoseconds it stands for, before scaling */
	uint64_t times;  /* waits it stands for, in thousandths */
	UT_hash_handle hh;
};

struct row {
	struct abi_ledger_key key;
	uint64_t ns, count;
	struct sample *samples;
	uint64_t weight, times; /* sums over the samples */
	UT_hash_handle hh;
};

struct window {
	struct window_deps deps;
	struct profile *profile;
	struct row *rows;
	uint64_t n_samples, n_lost, lost_ns, n_without_row;
	bool has_main_binary;
	int64_t ids[STACK_FRAMES_MAX];
};

static const struct profile_value_type types[WINDOW_TYPES] = {
	[WINDOW_CONTENTIONS] = { "contentions", "count" },
	[WINDOW_DELAY] = { "delay", "nanoseconds" },
	[WINDOW_CPU] = { "cpu", "nanoseconds" },
};

const char *window_cause_name(unsigned int cause)
{
	static const char *const names[ABI_CAUSE_MAX] = {
		[ABI_CAUSE_NONE] = "none",           [ABI_CAUSE_BLOCK_IO] = "block_io",
		[ABI_CAUSE_WRITEBACK] = "writeback", [ABI_CAUSE_JOURNAL] = "journal",
		[ABI_CAUSE_THROTTLE] = "throttle",
	};

	return cause < ABI_CAUSE_MAX ? names[cause] : "unknown";
}

struct window *window_new(const struct window_deps *deps)
{
	struct profile_value_type period = { "contentions", "count" };
	struct window *window = calloc(1, sizeof(*window));

	if (!window)
		return NULL;
	window->deps = *deps;
	window->profile = profile_new(types, WINDOW_TYPES, period, 1, deps->max_bytes);
	if (!window->profile) {
		free(window);
		return NULL;
	}
	profile_set_default_type(window->profile, "delay");
	return window;
}

static void row_free(struct window *window, struct row *row)
{
	struct sample *sample, *next;

	HASH_ITER (hh, row->samples, sample, next) {
		HASH_DEL(row->samples, sample);
		free(sample->ids);
		free(sample);
	}
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
	profile_free(window->profile);
	free(window);
}

static struct row *row_get(struct window *window, const struct abi_ledger_key *key)
{
	struct row *row;

	HASH_FIND(hh, window->rows, key, sizeof(*key), row);
	if (row)
		return row;
	row = calloc(1, sizeof(*row));
	if (!row)
		return NULL;
	row->key = *key;
	HASH_ADD(hh, window->rows, key, sizeof(row->key), row);
	return row;
}

int window_add_row(struct window *window, const struct abi_ledger_key *key,
                   const struct abi_ledger_value *value)
{
	struct row *row = row_get(window, key);

	if (!row)
		return -ENOMEM;
	row->ns += value->ns;
	row->count += value->count;
	return 0;
}

/* pprof takes mapping 0 for the main binary: let it be the program of the first process that is seen. */
static void add_main_binary(struct window *window, const struct abi_event *event)
{
	struct process *process =
	        process_table_get(window->deps.processes, event->tgid, event->process_start_ns, event->comm);
	const struct sym_module *module;

	if (window->has_main_binary || !process)
		return;
	window->has_main_binary = true;
	module = process_table_main_module(window->deps.processes, process);
	if (module)
		profile_mapping(window->profile, module->start, module->end, module->offset, module->path,
		                module->build_id, module->has_functions, module->has_lines);
	else
		profile_mapping(window->profile, 0, 0, 0,
		                process->program[0] ? process->program : process->comm, NULL, true, false);
}

static uint64_t hash_ids(const int64_t *ids, size_t n)
{
	uint64_t hash = 0xcbf29ce484222325ULL;
	size_t i;

	for (i = 0; i < n; i++) {
		hash = (hash ^ (uint64_t)ids[i]) * 0x9e3779b97f4a7c15ULL;
		hash ^= hash >> 29;
	}
	return hash;
}

static struct sample *sample_get(struct row *row, const int64_t *ids, size_t n)
{
	uint64_t hash = hash_ids(ids, n);
	struct sample *sample;

	HASH_FIND(hh, row->samples, &hash, sizeof(hash), sample);
	while (sample && (sample->n != n || memcmp(sample->ids, ids, n * sizeof(*ids)))) {
		hash++; /* another stack has this hash: take the next that is free */
		HASH_FIND(hh, row->samples, &hash, sizeof(hash), sample);
	}
	if (sample)
		return sample;
	sample = calloc(1, sizeof(*sample));
	if (!sample)
		return NULL;
	sample->ids = malloc(n * sizeof(*ids));
	if (!sample->ids) {
		free(sample);
		return NULL;
	}
	memcpy(sample->ids, ids, n * sizeof(*ids));
	sample->n = n;
	sample->stack_hash = hash;
	HASH_ADD(hh, row->samples, stack_hash, sizeof(sample->stack_hash), sample);
	return sample;
}

static void event_key(struct abi_ledger_key *key, const struct abi_event *event)
{
	memset(key, 0, sizeof(*key));
	key->tag = event->tag;
	key->process_start_ns = event->process_start_ns;
	key->tgid = event->tgid;
	key->dev = event->dev;
	key->state = event->state;
	key->cause = event->cause;
}

int window_add_event(struct window *window, const struct abi_event *event)
{
	struct abi_ledger_key key;
	struct sample *sample;
	struct row *row;
	uint64_t times;
	size_t n;
	int err;

	add_main_binary(window, event);
	err = stack_resolve(window->deps.resolver, event, window->profile, window->ids, &n);
	if (err) {
		window->n_lost++;
		window->lost_ns += event->duration_ns;
		return err;
	}
	event_key(&key, event);
	row = row_get(window, &key);
	sample = row ? sample_get(row, window->ids, n) : NULL;
	if (!sample)
		return -ENOMEM;
	times = event->duration_ns ? event->weight_ns * 1000 / event->duration_ns : 1000;
	sample->weight += event->weight_ns;
	sample->times += times;
	row->weight += event->weight_ns;
	row->times += times;
	window->n_samples++;
	return 0;
}

void window_stalled(const struct window *window, uint64_t by_cause[ABI_CAUSE_MAX])
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

#define LABELS_MAX 6

struct labels {
	struct profile_label label[LABELS_MAX];
	size_t n;
	char span_id[17], trace_id[33];
};

static void add_text(struct labels *labels, const char *key, const char *text)
{
	labels->label[labels->n++] = (struct profile_label){ .key = key, .str = text };
}

static void labels_of(struct window *window, const struct row *row, struct labels *labels)
{
	const struct abi_tag *tag = tag_names_of(window->deps.tags, window->deps.tracer, row->key.tag);
	static const uint8_t no_trace[16];
	int i;

	labels->n = 0;
	add_text(labels, "ai_tag", tag_classes_of(window->deps.classes, tag->name));
	add_text(labels, "stall", window_cause_name(row->key.cause));
	add_text(labels, "device", device_names_of(window->deps.devices, row->key.dev));
	if (tag->id) {
		snprintf(labels->span_id, sizeof(labels->span_id), "%016llx", (unsigned long long)tag->id);
		add_text(labels, "span_id", labels->span_id);
	}
	if (memcmp(tag->trace_id, no_trace, sizeof(no_trace))) {
		for (i = 0; i < 16; i++)
			snprintf(labels->trace_id + 2 * i, 3, "%02x", tag->trace_id[i]);
		add_text(labels, "trace_id", labels->trace_id);
	}
	labels->label[labels->n++] =
	        (struct profile_label){ .key = "pid", .num = row->key.tgid, .unit = "id" };
}

static void values_of(const struct row *row, uint64_t ns, uint64_t count, int64_t values[WINDOW_TYPES])
{
	memset(values, 0, WINDOW_TYPES * sizeof(*values));
	if (row->key.state == ABI_CPU_STALL) {
		values[WINDOW_CPU] = ns;
		return;
	}
	values[WINDOW_CONTENTIONS] = count;
	values[WINDOW_DELAY] = ns;
}

/* `total` in proportion to `upto` of `whole`, rounded down: taken at each partial sum the differences add up
 * to the total exactly. */
static uint64_t share(uint64_t total, uint64_t upto, uint64_t whole)
{
	return whole ? (uint64_t)((unsigned __int128)total * upto / whole) : 0;
}

static int add_placeholder(struct window *window, const struct row *row, const struct labels *labels)
{
	int64_t id = stack_placeholder(window->profile, row->key.below_min ? "[shorter than --min-duration]"
	                                                                   : "[not sampled]");
	int64_t values[WINDOW_TYPES];

	if (id < 0)
		return id;
	values_of(row, row->ns, row->count, values);
	return profile_add_sample(window->profile, &id, 1, values, labels->label, labels->n);
}

static int add_row_samples(struct window *window, struct row *row)
{
	uint64_t weight = 0, times = 0, ns = 0, count = 0;
	int64_t values[WINDOW_TYPES];
	struct sample *sample;
	struct labels labels;
	int err = 0;

	labels_of(window, row, &labels);
	if (!row->samples)
		return row->ns ? add_placeholder(window, row, &labels) : 0;
	for (sample = row->samples; sample && !err; sample = sample->hh.next) {
		uint64_t ns_upto, count_upto;

		weight += sample->weight;
		times += sample->times;
		ns_upto = share(row->ns, weight, row->weight);
		count_upto = share(row->count, times, row->times);
		values_of(row, ns_upto - ns, count_upto - count, values);
		err = profile_add_sample(window->profile, sample->ids, sample->n, values, labels.label,
		                         labels.n);
		ns = ns_upto;
		count = count_upto;
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
	const struct abi_tag *tag = tag_names_of(window->deps.tags, window->deps.tracer, row->key.tag);
	struct process *process =
	        process_table_get(window->deps.processes, row->key.tgid, row->key.process_start_ns, NULL);
	bool stall = row->key.state == ABI_STALL;
	struct ledger_row out = {
		.tag = (char *)tag->name,
		.id = tag->id,
		.pid = row->key.tgid,
		.start_ns = row->key.process_start_ns,
		.comm = process ? process->comm : NULL,
		.state = ledger_state_of(row->key.state),
		.cause = stall ? (char *)window_cause_name(row->key.cause) : NULL,
		.device = stall ? (char *)device_names_of(window->deps.devices, row->key.dev) : NULL,
		.ns = row->ns,
		.count = row->count,
	};

	return ledger_add(ledger, &out);
}

static int add_comments(struct window *window, struct ledger *ledger, struct stamp *stamp)
{
	int err = ledger_to_comments(ledger, window->profile);

	if (!err)
		err = stamp_add_counter(stamp, "samples", window->n_samples);
	if (!err)
		err = stamp_add_counter(stamp, "samples_lost", window->n_lost);
	if (!err)
		err = stamp_add_counter(stamp, "samples_lost_ns", window->lost_ns);
	if (!err)
		err = stamp_add_counter(stamp, "samples_without_row", window->n_without_row);
	return err ? err : stamp_to_comments(stamp, window->profile);
}

static int fill_profile(struct window *window, struct ledger *ledger)
{
	struct row *row;
	int err = 0;

	for (row = window->rows; row && !err; row = row->hh.next) {
		if (!row->ns && row->samples) {
			window->n_without_row++;
			continue;
		}
		if (row->key.state == ABI_STALL || row->key.state == ABI_CPU_STALL)
			err = add_row_samples(window, row);
		if (!err && row->key.state != ABI_CPU_STALL && row->ns)
			err = add_ledger_row(window, ledger, row);
	}
	return err;
}

struct profile *window_finish(struct window *window, struct stamp *stamp, uint64_t begin_ns, uint64_t end_ns)
{
	struct ledger *ledger = ledger_new();
	struct profile *profile = NULL;
	int err = -ENOMEM;

	if (!ledger)
		goto out;
	profile_set_time(window->profile, begin_ns, end_ns - begin_ns);
	err = fill_profile(window, ledger);
	if (!err)
		err = stamp_add_window(stamp, begin_ns, end_ns);
	if (!err)
		err = add_comments(window, ledger, stamp);
	if (!err) {
		profile = window->profile;
		window->profile = NULL;
	}
out:
	ledger_free(ledger);
	if (err)
		errno = -err;
	return profile;
}
