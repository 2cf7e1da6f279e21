/* Prints all that `top` found as JSON. */

#include "profiler/top/top_json.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/format/json_writer.h"
#include "profiler/format/ledger_row.h"
#include "profiler/format/stamp.h"
#include "profiler/loaded/loaded_profiles.h"
#include "profiler/top/top_checkpoints.h"
#include "profiler/top/top_gpu_jobs.h"
#include "profiler/top/top_json_stacks.h"
#include "profiler/top/top_processes.h"
#include "profiler/top/top_requests.h"
#include "profiler/top/top_users.h"

static size_t bounded(size_t count, size_t limit)
{
	return limit && limit < count ? limit : count;
}

/* Of a distributed job; there is none where the process has none. */
static void write_rank(struct json_writer *json, const struct ledger_row *row)
{
	if (row->rank_and_1)
		json_member_u64(json, "rank", row->rank_and_1 - 1);
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
	write_rank(json, row);
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

/* null where the ledger had no room for the class's tags one by one. */
static void write_worst(struct json_writer *json, const struct loaded_class *row)
{
	char id[17];

	json_key(json, "worst");
	if (!row->worst) {
		json_string(json, NULL);
		return;
	}

	snprintf(id, sizeof(id), "%016" PRIx64, row->worst->id);
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
		write_class(json, &classes, &classes.rows[i], stamp_span_ns(&coverage));
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
	write_rank(json, process->row);
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
	json_member_u64(json, "blocked_threshold_ns", coverage.blocked_threshold_ns);
	write_kernel(json, input->stamp);
	write_hooks(json, input->stamp);
	write_counters(json, input->stamp);
	json_object_end(json);
}

/* Who used the CPUs, or a disk, that tags waited for. */
static void write_users(struct json_writer *json, const struct loaded_profiles *input)
{
	struct loaded_users found[TOP_USERS_MAX];
	size_t n = top_users_find(found, input);

	json_key(json, "users");
	json_array_begin(json);
	for (size_t i = 0; i < n; i++)
		loaded_users_json(json, &found[i]);
	json_array_end(json);
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
	write_users(&json, what->input);
	write_table(&json, what);
	if (!err)
		err = top_json_stacks(&json, "stacks", what->input, what->tags, &what->filter, false,
		                      what->limit);
	if (!err)
		err = top_json_stacks(&json, "waits", what->input, what->tags, &what->filter, true,
		                      what->limit);
	write_stamp(&json, what->input);
	json_object_end(&json);
	end = json_end(&json);
	return err ? err : end;
}
