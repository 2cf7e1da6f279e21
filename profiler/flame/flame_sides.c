/* Writes what belongs to all files of a side. */

#include "profiler/flame/flame_sides.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/flame/flame_add.h"
#include "profiler/format/json_writer.h"
#include "profiler/format/ledger_row.h"
#include "profiler/format/saturating.h"
#include "profiler/format/stamp.h"
#include "profiler/format/timeline.h"
#include "profiler/loaded/loaded_classes.h"
#include "profiler/loaded/loaded_profiles.h"
#include "profiler/top/top_processes.h"
#include "profiler/top/top_requests.h"
#include "profiler/top/top_seen.h"

#define SIDES     2
#define NS_PER_MS 1000000

struct side {
	const char *name;
	const struct loaded_profiles *input; /* NULL: there is none */
};

static void list_sides(const struct flame_sides *from, struct side sides[SIDES])
{
	sides[0] = (struct side){ "", from->input };
	sides[1] = (struct side){ FLAME_BASE_SIDE, from->base };
}

int64_t flame_sides_start(const struct flame_sides *from)
{
	struct side sides[SIDES];
	int64_t start_ns = 0;

	list_sides(from, sides);
	for (size_t i = 0; i < SIDES; i++) {
		int64_t first_ns =
		        sides[i].input ? (int64_t)stamp_coverage(sides[i].input->stamp).first_ns : 0;

		if (first_ns && (!start_ns || first_ns < start_ns))
			start_ns = first_ns;
	}
	return start_ns;
}

/* --- steps ------------------------------------------------------------------------------------------------ */

static void write_step(struct json_writer *json, const char *side, const struct loaded_class *row)
{
	char id[17];

	snprintf(id, sizeof(id), "%016" PRIx64, row->worst->id);
	json_object_begin(json);
	json_member_string(json, "side", side);
	json_member_string(json, "name", row->name);
	json_member_u64(json, "tags", row->tags);
	json_member_i64(json, "p50_ns", row->p50_ns);
	json_member_i64(json, "p99_ns", row->p99_ns);
	json_member_i64(json, "worst_ns", row->worst_ns);
	json_member_string(json, "worst_tag", row->worst->tag);
	json_member_string(json, "worst_id", id);
	json_object_end(json);
}

static int write_steps(struct json_writer *json, const struct side *side)
{
	const struct loaded_filter all = { .waits = true };
	struct loaded_classes classes;
	int err = loaded_classes_build(&classes, side->input, &all, LOADED_LEVEL_CLASS);

	if (err)
		return err;
	for (size_t i = 0; i < classes.count; i++)
		if (classes.rows[i].worst)
			write_step(json, side->name, &classes.rows[i]);
	loaded_classes_free(&classes);
	return 0;
}

/* --- losses, processes ------------------------------------------------------------------------------------ */

static int write_losses(struct json_writer *json, const struct loaded_profiles *input)
{
	char *text = NULL, *line, *next;
	size_t size;
	FILE *stream = open_memstream(&text, &size);
	bool failed;

	if (!stream)
		return -ENOMEM;
	top_text_losses(stream, input, 0);
	failed = ferror(stream) != 0;
	failed |= fclose(stream) != 0;
	json_key(json, "losses");
	json_array_begin(json);
	for (line = failed ? NULL : text; line && *line; line = next) {
		next = strchrnul(line, '\n');
		if (*next)
			*next++ = 0;
		json_string(json, line);
	}
	json_array_end(json);
	free(text);
	return failed ? -ENOMEM : 0;
}

static void write_process(struct json_writer *json, const struct top_process *process)
{
	char name[LEDGER_PROCESS_BYTES];

	json_object_begin(json);
	json_member_string(json, "process", ledger_row_process(process->row, name));
	json_member_i64(json, "ns", process->ns);
	json_key(json, "classes");
	json_array_begin(json);
	for (size_t i = 0; i < process->count; i++) {
		json_object_begin(json);
		json_member_string(json, "name", process->classes[i].name);
		json_member_i64(json, "ns", process->classes[i].ns);
		json_object_end(json);
	}
	json_array_end(json);
	json_object_end(json);
}

static int write_processes(struct json_writer *json, const struct loaded_profiles *input)
{
	struct top_processes processes;
	int err = top_processes_build(&processes, input);

	if (err)
		return err;
	json_key(json, "processes");
	json_array_begin(json);
	for (size_t i = 0; i < processes.count; i++)
		write_process(json, &processes.processes[i]);
	json_array_end(json);
	top_processes_free(&processes);
	return 0;
}

/* --- the timeline ----------------------------------------------------------------------------------------- */

static void write_points(struct json_writer *json, const struct timeline_point *points, size_t count,
                         int64_t start_ns)
{
	json_key(json, "begin");
	json_array_begin(json);
	for (size_t i = 0; i < count; i++)
		json_i64(json, saturating_subtract((int64_t)points[i].begin_ns, start_ns) / NS_PER_MS);
	json_array_end(json);
	json_key(json, "value");
	json_array_begin(json);
	for (size_t i = 0; i < count; i++)
		json_i64(json, points[i].value);
	json_array_end(json);
}

static void write_lanes(struct json_writer *json, const struct timeline *timeline, int64_t start_ns)
{
	json_key(json, "lanes");
	json_array_begin(json);
	for (size_t i = 0; i < timeline_count(timeline); i++) {
		const struct timeline_lane *lane = timeline_lane_at(timeline, i);
		size_t count;
		const struct timeline_point *points = timeline_points(timeline, i, &count);

		json_object_begin(json);
		json_member_string(json, "kind", timeline_kind_name(lane->kind));
		json_member_string(json, "class", lane->class);
		json_member_string(json, "name", lane->name);
		json_member_string(json, "device", lane->device);
		json_member_u64(json, "bucket_ms", lane->bucket_ns / NS_PER_MS);
		write_points(json, points, count, start_ns);
		json_object_end(json);
	}
	json_array_end(json);
}

/* --- a side ----------------------------------------------------------------------------------------------- */

static int write_side(struct json_writer *json, const struct side *side, int64_t start_ns)
{
	struct stamp_coverage coverage = stamp_coverage(side->input->stamp);
	int err;

	json_object_begin(json);
	json_member_string(json, "side", side->name);
	json_member_u64(json, "files", side->input->files);
	json_member_u64(json, "first_ms", coverage.first_ns / NS_PER_MS);
	json_member_u64(json, "covered_ns", coverage.covered_ns);
	json_member_u64(json, "span_ns", stamp_span_ns(&coverage));
	json_member_u64(json, "windows", coverage.windows);
	json_member_u64(json, "threshold_ns", coverage.threshold_ns);
	top_json_requests(json, side->input);
	write_lanes(json, side->input->timeline, start_ns);
	err = write_processes(json, side->input);
	if (!err)
		err = write_losses(json, side->input);
	json_object_end(json);
	return err;
}

int flame_sides_write(struct json_writer *json, const struct flame_sides *from, int64_t start_ns)
{
	struct side sides[SIDES];
	int err = 0;

	list_sides(from, sides);
	json_key(json, "steps");
	json_array_begin(json);
	for (size_t i = 0; i < SIDES && !err; i++)
		err = sides[i].input ? write_steps(json, &sides[i]) : 0;
	json_array_end(json);
	json_key(json, "sides");
	json_array_begin(json);
	for (size_t i = 0; i < SIDES && !err; i++)
		err = sides[i].input ? write_side(json, &sides[i], start_ns) : 0;
	json_array_end(json);
	return err;
}
