/* The tables of a flame graph's data. */

#include "profiler/flame/flame_data.h"
#include "profiler/format/saturating.h"
#include "profiler/loaded/loaded_bound.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *const dimension_names[FLAME_DIMENSIONS] = {
	[FLAME_CLASS] = "class", [FLAME_STALL] = "stall",         [FLAME_DEVICE] = "device",
	[FLAME_WAKER] = "waker", [FLAME_INHERITED] = "inherited", [FLAME_PROCESS] = "process",
	[FLAME_HOST] = "host",   [FLAME_SIDE] = "side",
};

const char *flame_dimension_name(enum flame_dimension dimension)
{
	return dimension_names[dimension];
}

struct flame_data *flame_data_new(void)
{
	struct flame_data *data = calloc(1, sizeof(*data));

	if (!data)
		return NULL;
	data->arena.max_bytes = loaded_bytes_max("") / 2;
	data->texts.arena = data->frames.arena = data->nodes.arena = &data->arena;
	data->slices.arena = data->samples.arena = data->rows.arena = &data->arena;
	if (flame_put_text(data, "") == 0)
		return data;
	flame_data_free(data);
	errno = ENOMEM;
	return NULL;
}

void flame_data_free(struct flame_data *data)
{
	if (!data)
		return;
	pprof_intern_free(&data->texts);
	pprof_intern_free(&data->frames);
	pprof_intern_free(&data->nodes);
	pprof_intern_free(&data->slices);
	pprof_intern_free(&data->samples);
	pprof_intern_free(&data->rows);
	pprof_arena_clear(&data->arena);
	free(data->values);
	free(data->sums);
	free(data);
}

/* --- adding ----------------------------------------------------------------------------------------------- */

int64_t flame_put_text(struct flame_data *data, const char *text)
{
	return pprof_intern_add(&data->texts, text ? text : "", strlen(text ? text : "") + 1, NULL);
}

int64_t flame_put_frame(struct flame_data *data, const struct flame_frame *frame)
{
	return pprof_intern_add(&data->frames, frame, sizeof(*frame), NULL);
}

int64_t flame_put_node(struct flame_data *data, uint32_t parent, uint32_t frame)
{
	const struct flame_node node = { parent, frame };

	return pprof_intern_add(&data->nodes, &node, sizeof(node), NULL);
}

int64_t flame_put_slice(struct flame_data *data, int64_t begin_ns, int64_t end_ns)
{
	const struct flame_slice slice = { begin_ns, end_ns };

	return pprof_intern_add(&data->slices, &slice, sizeof(slice), NULL);
}

/* Makes room for the record `number`'s element of an array, and zeroes it if it is new. */
static void *element(struct flame_data *data, void *array, size_t *capacity, size_t number, size_t size,
                     bool is_new)
{
	char *grown = pprof_arena_grow(&data->arena, array, capacity, number + 1, size);

	if (grown && is_new)
		memset(grown + number * size, 0, size);
	return grown;
}

int64_t flame_put_sample(struct flame_data *data, const struct flame_sample *sample, const int64_t *values)
{
	bool is_new;
	int64_t number = pprof_intern_add(&data->samples, sample, sizeof(*sample), &is_new);
	int64_t *grown;

	if (number < 0)
		return number;
	grown = element(data, data->values, &data->values_capacity, (size_t)number,
	                data->type_count * sizeof(*values), is_new);
	if (!grown)
		return -errno;
	data->values = grown;
	grown += (size_t)number * data->type_count;
	for (size_t i = 0; i < data->type_count; i++)
		grown[i] = saturating_add(grown[i], values[i]);
	return number;
}

int64_t flame_put_row(struct flame_data *data, const struct flame_row *row, int64_t ns, uint64_t count)
{
	bool is_new;
	int64_t number = pprof_intern_add(&data->rows, row, sizeof(*row), &is_new);
	struct flame_row_sum *grown;

	if (number < 0)
		return number;
	grown = element(data, data->sums, &data->sums_capacity, (size_t)number, sizeof(*grown), is_new);
	if (!grown)
		return -errno;
	data->sums = grown;
	grown[number].ns = saturating_add(grown[number].ns, ns);
	grown[number].count += count;
	return number;
}

/* --- reading ---------------------------------------------------------------------------------------------- */

const char *flame_text(const struct flame_data *data, uint32_t text)
{
	return pprof_intern_get(&data->texts, text);
}

const struct flame_frame *flame_frame(const struct flame_data *data, uint32_t frame)
{
	return pprof_intern_get(&data->frames, frame);
}

const struct flame_node *flame_node(const struct flame_data *data, uint32_t node)
{
	return pprof_intern_get(&data->nodes, node);
}

const struct flame_sample *flame_sample(const struct flame_data *data, size_t sample)
{
	return pprof_intern_get(&data->samples, sample);
}

const struct flame_row *flame_row(const struct flame_data *data, size_t row)
{
	return pprof_intern_get(&data->rows, row);
}

const struct flame_slice *flame_slice(const struct flame_data *data, size_t slice)
{
	return pprof_intern_get(&data->slices, slice);
}

int64_t flame_value(const struct flame_data *data, size_t sample, size_t type)
{
	return data->values[sample * data->type_count + type];
}

int flame_type(const struct flame_data *data, const char *type)
{
	for (size_t i = 0; i < data->type_count; i++)
		if (!strcmp(data->types[i].type, type))
			return (int)i;
	return -ENOENT;
}
