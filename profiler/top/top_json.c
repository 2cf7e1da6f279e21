/* Prints all that `top` found as JSON. */

#include "profiler/top/top_json.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/format/json_writer.h"
#include "profiler/format/ledger_row.h"
#include "profiler/format/stamp.h"
#include "profiler/session/detail_labels.h"
#include "profiler/loaded/loaded_frames.h"
#include "profiler/loaded/loaded_profiles.h"
#include "profiler/top/top_gpu_jobs.h"
#include "profiler/top/top_processes.h"
#include "profiler/top/top_checkpoints.h"
#include "profiler/top/top_requests.h"

static size_t bounded(size_t count, size_t limit)
{
	return limit && limit < count ? limit : count;
}

/* --- ledger ------------------------------------------------------------ */

static void write_row(struct json_writer *json, const struct ledger_row *row)
{
	char id[17];

	snprintf(id, sizeof(id), "%016" PRIx64, row->id);
	json_object_begin(json);
	json_member_string(json, "tag", row->tag);
	json_member_string(json, "id", id);
	json_member_string(json, "class", row->class);
	json_key(json, "base");
	json_bool(json, row->base);
	json_member_u64(json, "process", row->pid);
	json_member_u64(json, "start_ns", row->start_ns);
	json_member_string(json, "comm", row->comm);
	json_member_string(json, "state", ledger_state_name(row->state));
	json_member_string(json, "cause", row->cause);
	json_member_string(json, "device", row->device);
	json_member_i64(json, "ns", row->ns);
	json_member_u64(json, "count", row->count);
	json_object_end(json);
}

static void write_ledger(struct json_writer *json, const struct top_json *what)
{
	json_key(json, "ledger");
	json_array_begin(json);
	for (size_t i = 0; i < ledger_count(what->input->ledger); i++) {
		const struct ledger_row *row = ledger_at(what->input->ledger, i);

		if (loaded_filter_row(&what->filter, row))
			write_row(json, row);
	}
	json_array_end(json);
}

/* Rows come sorted by tag, so a tag's sum is complete when the next tag begins. */
static void write_wall(struct json_writer *json, const struct top_json *what)
{
	const char *tag = NULL;
	uint64_t sum = 0;

	json_key(json, "wall_ns");
	json_object_begin(json);
	for (size_t i = 0; i < ledger_count(what->input->ledger); i++) {
		const struct ledger_row *row = ledger_at(what->input->ledger, i);

		if (!loaded_filter_row(&what->filter, row))
			continue;
		if (tag && strcmp(tag, row->tag)) {
			json_member_u64(json, tag, sum);
			sum = 0;
		}
		tag = row->tag;
		sum += row->ns;
	}
	if (tag)
		json_member_u64(json, tag, sum);
	json_object_end(json);
}

/* --- classes ------------------------------------------------------------ */

static void write_worst(struct json_writer *json, const struct loaded_class *row)
{
	char id[17];

	snprintf(id, sizeof(id), "%016" PRIx64, row->worst->id);
	json_key(json, "worst");
	json_object_begin(json);
	json_member_string(json, "tag", row->worst->tag);
	json_member_string(json, "id", id);
	json_member_u64(json, "process", row->worst->pid);
	json_member_i64(json, "ns", row->worst_ns);
	json_object_end(json);
}

static void write_class(struct json_writer *json, const struct loaded_classes *classes,
                        const struct loaded_class *row, uint64_t covered_ns)
{
	char id[17];

	snprintf(id, sizeof(id), "%016" PRIx64, row->id);
	json_object_begin(json);
	json_member_string(json, "name", row->name);
	json_member_string(json, "id", id);
	json_key(json, "base");
	json_bool(json, row->base);
	json_key(json, "threads");
	json_double(json, covered_ns ? (double)row->wall_ns / (double)covered_ns : 0);
	json_member_i64(json, "wall_ns", row->wall_ns);
	json_member_i64(json, "lost_ns", row->lost_ns);
	json_key(json, "ns");
	json_object_begin(json);
	for (size_t i = 0; i < classes->column_count; i++)
		json_member_i64(json, classes->columns[i], row->ns[i]);
	json_object_end(json);
	json_member_u64(json, "tags", row->tags);
	json_member_i64(json, "p50_ns", row->p50_ns);
	json_member_i64(json, "p99_ns", row->p99_ns);
	write_worst(json, row);
	json_object_end(json);
}

static int write_classes(struct json_writer *json, const struct top_json *what)
{
	struct stamp_coverage coverage = stamp_coverage(what->input->stamp);
	struct loaded_classes classes;
	int err = loaded_classes_build(&classes, what->input, &what->filter, what->level);

	if (err)
		return err;
	json_key(json, "classes");
	json_array_begin(json);
	for (size_t i = 0; i < bounded(classes.count, what->limit); i++)
		write_class(json, &classes, &classes.rows[i], coverage.covered_ns);
	json_array_end(json);
	loaded_classes_free(&classes);
	return 0;
}

/* --- processes ------------------------------------------------------------ */

static void write_process(struct json_writer *json, const struct top_process *process)
{
	json_object_begin(json);
	json_member_u64(json, "process", process->row->pid);
	json_member_u64(json, "start_ns", process->row->start_ns);
	json_member_string(json, "comm", process->row->comm);
	json_member_u64(json, "wall_ns", (uint64_t)process->ns);
	json_key(json, "classes");
	json_array_begin(json);
	for (size_t i = 0; i < process->count; i++) {
		json_object_begin(json);
		json_member_string(json, "name", process->classes[i].name);
		json_member_u64(json, "wall_ns", (uint64_t)process->classes[i].ns);
		json_key(json, "share");
		json_double(json, (double)process->classes[i].ns / (double)process->ns);
		json_object_end(json);
	}
	json_array_end(json);
	json_object_end(json);
}

static int write_processes(struct json_writer *json, const struct top_json *what)
{
	struct top_processes processes;
	int err = top_processes_build(&processes, what->input);

	if (err)
		return err;
	json_key(json, "processes");
	json_array_begin(json);
	for (size_t i = 0; i < bounded(processes.count, what->limit); i++)
		write_process(json, &processes.processes[i]);
	json_array_end(json);
	top_processes_free(&processes);
	return 0;
}

/* --- table ------------------------------------------------------------ */

static void write_table(struct json_writer *json, const struct top_json *what)
{
	const struct top_table *table = what->table;

	json_key(json, "top");
	json_object_begin(json);
	json_member_string(json, "by", top_by_name(what->by));
	json_member_string(json, "type", what->type.type);
	json_member_string(json, "unit", what->type.unit);
	json_key(json, "total");
	json_i64(json, table->total);
	json_member_u64(json, "samples", table->samples);
	json_key(json, "entries");
	json_array_begin(json);
	for (size_t i = 0; i < bounded(table->count, what->limit); i++) {
		json_object_begin(json);
		json_member_string(json, "name", table->entries[i].name);
		json_key(json, "flat");
		json_i64(json, table->entries[i].flat);
		json_key(json, "cum");
		json_i64(json, table->entries[i].cum);
		json_member_u64(json, "samples", table->entries[i].samples);
		json_object_end(json);
	}
	json_array_end(json);
	json_object_end(json);
}

/* --- stacks ------------------------------------------------------------ */

struct values {
	int delay, cpu, recovery, contentions; /* indexes, negative when the profile has no such type */
};

static int64_t value_of(const struct loaded_sample *sample, int type)
{
	return type < 0 ? 0 : sample->view.values[type];
}

struct place {
	size_t index;
	double weight;
};

static int compare_places(const void *left, const void *right)
{
	const struct place *a = left, *b = right;

	if (a->weight != b->weight)
		return a->weight < b->weight ? 1 : -1;
	return (a->index > b->index) - (a->index < b->index);
}

/* The samples that pass the filter, of stalls or of other waits, heaviest first. NULL without memory. */
static struct place *sort_samples(const struct top_json *what, struct values types, bool waits, size_t *count)
{
	struct place *places = calloc(profile_n_samples(what->input->profile) + 1, sizeof(*places));
	struct loaded_filter all = what->filter;
	struct loaded_sample sample;

	*count = 0;
	all.waits = true;
	for (size_t i = 0; places && loaded_sample_get(what->input, what->tags, i, &sample); i++)
		if (sample.is_wait == waits && loaded_filter_sample(&all, what->input, &sample))
			places[(*count)++] =
			        (struct place){ i, (double)value_of(&sample, types.delay) +
				                           (double)value_of(&sample, types.cpu) };
	if (places)
		qsort(places, *count, sizeof(*places), compare_places);
	return places;
}

static void write_frame(struct json_writer *json, const struct profile_frame *frame, bool inlined)
{
	json_object_begin(json);
	json_member_string(json, "function", frame->function);
	json_member_string(json, "file", frame->file && *frame->file ? frame->file : NULL);
	json_member_u64(json, "line", frame->line);
	json_key(json, "inlined");
	json_bool(json, inlined);
	json_object_end(json);
}

static void write_location(struct json_writer *json, const struct profile *profile, int64_t id)
{
	struct profile_location_view location;
	char address[4352];

	if (!profile_get_location(profile, id, &location))
		return;
	for (size_t i = 0; i < location.n_frames; i++)
		write_frame(json, &location.frames[i], i + 1 < location.n_frames);
	if (location.n_frames)
		return;
	loaded_address_text(address, sizeof(address), profile, &location);
	write_frame(json, &(struct profile_frame){ .function = address }, false);
}

static void write_label(struct json_writer *json, const struct profile_label *label)
{
	json_key(json, label->key);
	if (label->str)
		json_string(json, label->str);
	else
		json_i64(json, label->num);
}

static bool is_said(const char *label)
{
	return detail_has_label(label) || !strcmp(label, "holds_up") || !strcmp(label, "worker");
}

/* What its labels say of the wait beyond cause and device. */
static void write_labels(struct json_writer *json, const struct profile_sample_view *view)
{
	json_key(json, "labels");
	json_object_begin(json);
	for (size_t i = 0; i < view->n_labels; i++)
		if (is_said(view->labels[i].key))
			write_label(json, &view->labels[i]);
	json_object_end(json);
}

static void write_stack(struct json_writer *json, const struct profile *profile,
                        const struct loaded_sample *sample, struct values types)
{
	json_object_begin(json);
	json_member_string(json, "tag", sample->tag);
	json_member_string(json, "class", sample->class);
	json_member_string(json, "id", sample->id);
	json_member_string(json, "trace_id", sample->trace_id);
	json_member_string(json, "stall", sample->stall);
	json_member_string(json, "device", sample->device);
	json_key(json, "delay_ns");
	json_i64(json, value_of(sample, types.delay));
	json_key(json, "cpu_ns");
	json_i64(json, value_of(sample, types.cpu));
	json_key(json, "recovery_ns");
	json_i64(json, value_of(sample, types.recovery));
	json_key(json, "contentions");
	json_i64(json, value_of(sample, types.contentions));
	write_labels(json, &sample->view);
	json_key(json, "frames");
	json_array_begin(json);
	for (size_t i = 0; i < sample->view.n_locations; i++)
		write_location(json, profile, sample->view.location_ids[i]);
	json_array_end(json);
	json_object_end(json);
}

static int write_stacks(struct json_writer *json, const struct top_json *what, const char *key, bool waits)
{
	const struct profile *profile = what->input->profile;
	struct values types = { .delay = profile_find_type(profile, "delay"),
		                .cpu = profile_find_type(profile, "cpu"),
		                .recovery = profile_find_type(profile, "recovery"),
		                .contentions = profile_find_type(profile, "contentions") };
	struct loaded_sample sample;
	size_t count;
	struct place *places = sort_samples(what, types, waits, &count);

	if (!places)
		return -ENOMEM;
	json_key(json, key);
	json_array_begin(json);
	for (size_t i = 0; i < bounded(count, what->limit); i++)
		if (loaded_sample_get(what->input, what->tags, places[i].index, &sample))
			write_stack(json, profile, &sample, types);
	json_array_end(json);
	free(places);
	return 0;
}

/* --- stamp ------------------------------------------------------------ */

static void write_hooks(struct json_writer *json, const struct stamp *stamp)
{
	json_key(json, "hooks");
	json_array_begin(json);
	for (size_t i = 0; i < stamp_hook_count(stamp); i++) {
		struct stamp_hook hook = stamp_hook_at(stamp, i);

		json_object_begin(json);
		json_member_string(json, "cause", hook.cause);
		json_member_string(json, "hook", hook.hook);
		json_member_string(json, "state", hook_state_name(hook.state));
		json_member_string(json, "reason", hook.reason);
		json_object_end(json);
	}
	json_array_end(json);
}

static void write_counters(struct json_writer *json, const struct stamp *stamp)
{
	json_key(json, "counters");
	json_object_begin(json);
	for (size_t i = 0; i < stamp_counter_count(stamp); i++)
		json_member_u64(json, stamp_counter_at(stamp, i).name, stamp_counter_at(stamp, i).value);
	json_object_end(json);
}

static void write_kernel(struct json_writer *json, const struct stamp *stamp)
{
	struct stamp_kernel kernel = stamp_kernel(stamp);

	json_key(json, "kernel_symbols");
	json_object_begin(json);
	json_member_string(json, "state", kernel_symbols_name(kernel.state));
	json_member_u64(json, "modules_without_debug", kernel.modules_without_debug);
	json_member_string(json, "advice", kernel.advice);
	json_object_end(json);
}

static void write_stamp(struct json_writer *json, const struct loaded_profiles *input)
{
	struct stamp_coverage coverage = stamp_coverage(input->stamp);

	json_key(json, "stamp");
	json_object_begin(json);
	json_member_u64(json, "files", input->files);
	json_member_u64(json, "files_without_ledger", input->foreign_files);
	json_member_u64(json, "files_rewritten", input->rewritten_files);
	json_member_u64(json, "malformed_lines", input->malformed_lines);
	json_member_u64(json, "rows_summed_by_class", ledger_folded(input->ledger));
	json_key(json, "covered_seconds");
	json_double(json, (double)coverage.covered_ns / 1e9);
	json_member_u64(json, "first_ns", coverage.first_ns);
	json_member_u64(json, "last_ns", coverage.last_ns);
	json_member_u64(json, "windows", coverage.windows);
	json_member_u64(json, "threshold_ns", coverage.threshold_ns);
	write_kernel(json, input->stamp);
	write_hooks(json, input->stamp);
	write_counters(json, input->stamp);
	json_object_end(json);
}

int top_json_write(FILE *out, const struct top_json *what)
{
	struct json_writer json;
	int err, end;

	if (ledger_count(what->input->ledger) && !ledger_at(what->input->ledger, 0))
		return -ENOMEM;
	json_begin(&json, out);
	json_object_begin(&json);
	write_ledger(&json, what);
	write_wall(&json, what);
	err = write_classes(&json, what);
	if (!err)
		err = write_processes(&json, what);
	top_json_requests(&json, what->input);
	top_json_gpu_jobs(&json, what->input);
	top_json_checkpoints(&json, what->input);
	write_table(&json, what);
	if (!err)
		err = write_stacks(&json, what, "stacks", false);
	if (!err)
		err = write_stacks(&json, what, "waits", true);
	write_stamp(&json, what->input);
	json_object_end(&json);
	end = json_end(&json);
	return err ? err : end;
}
