/* Writes the tables of a flame graph's data as JSON. */

#include "profiler/flame/flame_json.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/flame/flame_data.h"
#include "profiler/format/json_writer.h"
#include "profiler/format/ledger_row.h"
#include "profiler/format/saturating.h"
#include "profiler/format/version.h"

#define NS_PER_MS 1000000

/* --- columns ---------------------------------------------------------------------------------------------- */

/* A column's value of one record. */
typedef int64_t (*cell_of)(const struct flame_data *data, size_t record, size_t which);

static void write_column(struct json_writer *json, const struct flame_data *data, const char *key,
                         size_t count, cell_of cell, size_t which)
{
	json_key(json, key);
	json_array_begin(json);
	for (size_t i = 0; i < count; i++)
		json_i64(json, cell(data, i, which));
	json_array_end(json);
}

/* FLAME_NONE is written as -1. */
static int64_t number(uint32_t value)
{
	return value == FLAME_NONE ? -1 : (int64_t)value;
}

static void write_texts(struct json_writer *json, const struct flame_data *data)
{
	json_key(json, "strings");
	json_array_begin(json);
	for (size_t i = 0; i < data->texts.n; i++)
		json_string(json, flame_text(data, (uint32_t)i));
	json_array_end(json);
}

enum { FRAME_NAME, FRAME_FILE, FRAME_LINE, FRAME_KIND, FRAME_COLUMNS };

static int64_t frame_cell(const struct flame_data *data, size_t record, size_t which)
{
	const struct flame_frame *frame = flame_frame(data, (uint32_t)record);
	const uint32_t cells[FRAME_COLUMNS] = { frame->name, frame->file, frame->line, frame->kind };

	return cells[which];
}

static void write_frames(struct json_writer *json, const struct flame_data *data)
{
	static const char *const keys[FRAME_COLUMNS] = { "name", "file", "line", "kind" };

	json_key(json, "frames");
	json_object_begin(json);
	for (size_t i = 0; i < FRAME_COLUMNS; i++)
		write_column(json, data, keys[i], data->frames.n, frame_cell, i);
	json_object_end(json);
}

/* How many nodes before this one its parent is, which mostly is 1; 0: it has none. */
static int64_t up_cell(const struct flame_data *data, size_t record, size_t which)
{
	uint32_t parent = flame_node(data, (uint32_t)record)->parent;

	(void)which;
	return parent == FLAME_NONE ? 0 : (int64_t)record - parent;
}

static int64_t frame_of_cell(const struct flame_data *data, size_t record, size_t which)
{
	(void)which;
	return flame_node(data, (uint32_t)record)->frame;
}

static void write_nodes(struct json_writer *json, const struct flame_data *data)
{
	json_key(json, "nodes");
	json_object_begin(json);
	write_column(json, data, "up", data->nodes.n, up_cell, 0);
	write_column(json, data, "frame", data->nodes.n, frame_of_cell, 0);
	json_object_end(json);
}

/* --- samples ---------------------------------------------------------------------------------------------- */

enum { SAMPLE_NODE, SAMPLE_OWN, SAMPLE_SLICE, SAMPLE_WAIT, SAMPLE_COLUMNS };

static int64_t sample_cell(const struct flame_data *data, size_t record, size_t which)
{
	const struct flame_sample *sample = flame_sample(data, record);
	const uint32_t cells[SAMPLE_COLUMNS] = { sample->node, sample->own, sample->slice, sample->is_wait };

	return number(cells[which]);
}

static int64_t sample_text(const struct flame_data *data, size_t record, size_t which)
{
	return flame_sample(data, record)->texts[which];
}

static void write_samples(struct json_writer *json, const struct flame_data *data)
{
	static const char *const keys[SAMPLE_COLUMNS] = { "node", "own", "slice", "wait" };

	json_key(json, "samples");
	json_object_begin(json);
	for (size_t i = 0; i < SAMPLE_COLUMNS; i++)
		write_column(json, data, keys[i], data->samples.n, sample_cell, i);
	for (size_t i = 0; i < FLAME_DIMENSIONS; i++)
		write_column(json, data, flame_dimension_name(i), data->samples.n, sample_text, i);
	json_key(json, "values");
	json_array_begin(json);
	for (size_t type = 0; type < data->type_count; type++) {
		json_array_begin(json);
		for (size_t i = 0; i < data->samples.n; i++)
			json_i64(json, flame_value(data, i, type));
		json_array_end(json);
	}
	json_array_end(json);
	json_object_end(json);
}

static void write_types(struct json_writer *json, const struct flame_data *data)
{
	json_key(json, "types");
	json_array_begin(json);
	for (size_t i = 0; i < data->type_count; i++) {
		json_array_begin(json);
		json_string(json, data->types[i].type);
		json_string(json, data->types[i].unit);
		json_array_end(json);
	}
	json_array_end(json);
}

/* --- slices ----------------------------------------------------------------------------------------------- */

/* A full second, so that the timeline's buckets are whole milliseconds from it. */
static int64_t start_of(const struct flame_json *what)
{
	int64_t start_ns = flame_sides_start(&what->sides);

	for (size_t i = 0; i < what->data->slices.n; i++) {
		int64_t begin_ns = flame_slice(what->data, i)->begin_ns;

		if (begin_ns && (!start_ns || begin_ns < start_ns))
			start_ns = begin_ns;
	}
	return start_ns - start_ns % (1000 * NS_PER_MS);
}

static int64_t since(int64_t time_ns, int64_t start_ns)
{
	return time_ns ? saturating_subtract(time_ns, start_ns) / NS_PER_MS : -1;
}

static void write_slices(struct json_writer *json, const struct flame_data *data, int64_t start_ns)
{
	json_key(json, "slices");
	json_object_begin(json);
	json_key(json, "begin");
	json_array_begin(json);
	for (size_t i = 0; i < data->slices.n; i++)
		json_i64(json, since(flame_slice(data, i)->begin_ns, start_ns));
	json_array_end(json);
	json_key(json, "end");
	json_array_begin(json);
	for (size_t i = 0; i < data->slices.n; i++)
		json_i64(json, since(flame_slice(data, i)->end_ns, start_ns));
	json_array_end(json);
	json_object_end(json);
}

/* --- the ledger ------------------------------------------------------------------------------------------- */

enum { ROW_STATE, ROW_BASE, ROW_NS, ROW_COUNT, ROW_COLUMNS };

static int64_t row_cell(const struct flame_data *data, size_t record, size_t which)
{
	const struct flame_row *row = flame_row(data, record);
	const struct flame_row_sum *sum = &data->sums[record];
	const int64_t cells[ROW_COLUMNS] = { row->state, row->base, sum->ns, (int64_t)sum->count };

	return cells[which];
}

static int64_t row_text(const struct flame_data *data, size_t record, size_t which)
{
	return flame_row(data, record)->texts[which];
}

static void write_ledger(struct json_writer *json, const struct flame_data *data)
{
	static const char *const keys[ROW_COLUMNS] = { "state", "base", "ns", "count" };

	json_key(json, "states");
	json_array_begin(json);
	for (enum ledger_state state = 0; state < LEDGER_STATES; state++)
		json_string(json, ledger_state_name(state));
	json_array_end(json);
	json_key(json, "ledger");
	json_object_begin(json);
	for (size_t i = 0; i < ROW_COLUMNS; i++)
		write_column(json, data, keys[i], data->rows.n, row_cell, i);
	for (size_t i = 0; i < FLAME_DIMENSIONS; i++)
		write_column(json, data, flame_dimension_name(i), data->rows.n, row_text, i);
	json_object_end(json);
}

/* --- all -------------------------------------------------------------------------------------------------- */

int flame_json_write(FILE *out, const struct flame_json *what)
{
	int64_t start_ns = start_of(what);
	struct json_writer json;
	int err, end;

	json_begin_compact(&json, out);
	json_object_begin(&json);
	json_member_i64(&json, "format", 1);
	json_member_string(&json, "program", "stallprof " STALLPROF_VERSION);
	json_member_string(&json, "title", what->title);
	json_member_string(&json, "stall", what->stall);
	json_member_string(&json, "tag", what->tag);
	json_member_i64(&json, "start_ms", start_ns / NS_PER_MS);
	write_types(&json, what->data);
	write_texts(&json, what->data);
	write_frames(&json, what->data);
	write_nodes(&json, what->data);
	write_samples(&json, what->data);
	write_slices(&json, what->data, start_ns);
	write_ledger(&json, what->data);
	err = flame_sides_write(&json, &what->sides, start_ns);
	json_object_end(&json);
	end = json_end(&json);
	return err ? err : end;
}
