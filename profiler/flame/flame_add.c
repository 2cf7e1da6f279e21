/* Turns one profile's samples and ledger rows into records of a flame graph's tables. */

#include "profiler/flame/flame_add.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/flame/flame_data.h"
#include "profiler/format/host_note.h"
#include "profiler/format/ledger_row.h"
#include "profiler/format/saturating.h"
#include "profiler/format/stamp.h"
#include "profiler/loaded/loaded_frames.h"
#include "profiler/loaded/loaded_profiles.h"
#include "profiler/loaded/loaded_sample.h"

#define SLICE_LABEL "at" /* Unix time in seconds */
#define SECOND_NS   1000000000

/* One file while it is added. */
struct adding {
	struct flame_data *data;
	const struct loaded_profiles *file;
	char host[256]; /* "": not known */
	const char *side;
	struct pprof_arena arena;
	struct pprof_intern frames; /* addresses of the profile's frames … */
	uint32_t *frame_numbers;    /* … and what they are in data */
	size_t frame_capacity;
	struct pprof_intern pids; /* of the ledger's processes … */
	uint32_t *processes;      /* … and their names in data */
	size_t process_capacity;
	struct loaded_stack stack;
};

/* Takes the record's number if there is one. 0 or the number, which is an error. */
static int take(uint32_t *to, int64_t number)
{
	if (number < 0)
		return (int)number;
	*to = (uint32_t)number;
	return 0;
}

/* --- value types ------------------------------------------------------------------------------------------ */

static int take_types(struct flame_data *data, const struct profile *profile)
{
	size_t count = profile_n_types(profile);

	count = count < FLAME_TYPES_MAX ? count : FLAME_TYPES_MAX;
	for (size_t i = 0; i < count; i++) {
		struct profile_value_type type = profile_type(profile, i);
		int64_t name = flame_put_text(data, type.type), unit = flame_put_text(data, type.unit);

		if (name < 0 || unit < 0)
			return (int)(name < 0 ? name : unit);
		data->types[i].type = flame_text(data, (uint32_t)name);
		data->types[i].unit = flame_text(data, (uint32_t)unit);
	}
	data->type_count = count;
	return 0;
}

static bool same_unit(const struct profile *profile, size_t type, const char *unit)
{
	const char *own = profile_type(profile, type).unit;

	return !strcmp(own ? own : "", unit ? unit : "");
}

/* Writes to `columns` where the profile has each of the data's types. -EINVAL: it lacks one, or has it in another unit. */
static int find_types(struct flame_data *data, const struct profile *profile, int columns[FLAME_TYPES_MAX])
{
	int err = data->type_count ? 0 : take_types(data, profile);

	for (size_t i = 0; i < data->type_count && !err; i++) {
		columns[i] = profile_find_type(profile, data->types[i].type);
		if (columns[i] < 0 || !same_unit(profile, (size_t)columns[i], data->types[i].unit))
			err = -EINVAL;
	}
	return err;
}

/* --- frames and stacks ------------------------------------------------------------------------------------ */

static int put_frame(struct adding *adding, const struct loaded_frame *from, uint32_t *number)
{
	struct flame_frame frame = { .kind = from->kind };
	char address[LOADED_FRAME_TEXT_MAX];
	const char *name = from->frame ? from->frame->function : address;
	int err;

	if (!from->frame)
		loaded_address_text(address, sizeof(address), adding->file->profile, &from->location);
	else
		frame.line = from->frame->line;
	frame.kind |= from->inlined ? FLAME_INLINED : 0;
	frame.kind |= from->module ? FLAME_MODULE : 0;
	frame.kind |= from->library ? FLAME_LIBRARY : 0;
	err = take(&frame.name, flame_put_text(adding->data, name && *name ? name : "[unnamed]"));
	if (!err)
		err = take(&frame.file, flame_put_text(adding->data, from->frame ? from->frame->file : NULL));
	return err ? err : take(number, flame_put_frame(adding->data, &frame));
}

/* A profile's frames do not move, and each belongs to one location: what was put once need not be looked up by its
 * texts again. */
static int frame_number(struct adding *adding, const struct loaded_frame *from, uint32_t *number)
{
	const struct profile_frame *address = from->frame;
	uint32_t *grown;
	int64_t known;
	bool is_new;
	int err;

	if (!address)
		return put_frame(adding, from, number);
	known = pprof_intern_add(&adding->frames, &address, sizeof(address), &is_new);
	if (known < 0)
		return (int)known;
	grown = pprof_arena_grow(&adding->arena, adding->frame_numbers, &adding->frame_capacity,
	                         (size_t)known + 1, sizeof(*grown));
	if (!grown)
		return -errno;
	adding->frame_numbers = grown;
	err = is_new ? put_frame(adding, from, &grown[known]) : 0;
	*number = grown[known];
	return err;
}

/* What stands for a stack that another program did not take. */
static int put_no_stack(struct adding *adding, struct flame_sample *sample)
{
	struct flame_frame frame = { .kind = LOADED_FRAME_NATIVE };
	int err = take(&frame.name, flame_put_text(adding->data, "[no stack]"));

	if (!err)
		err = take(&sample->own, flame_put_frame(adding->data, &frame));
	return err ? err : take(&sample->node, flame_put_node(adding->data, FLAME_NONE, sample->own));
}

/* From the outermost frame inward. */
static int put_stack(struct adding *adding, struct flame_sample *sample)
{
	const struct loaded_stack *stack = &adding->stack;
	size_t own = loaded_stack_own(stack);
	uint32_t frame = FLAME_NONE;
	int err = 0;

	sample->node = sample->own = FLAME_NONE;
	if (!stack->n)
		return put_no_stack(adding, sample);
	for (size_t i = stack->n; i > 0 && !err; i--) {
		err = frame_number(adding, &stack->frames[i - 1], &frame);
		if (!err)
			err = take(&sample->node, flame_put_node(adding->data, sample->node, frame));
		if (!err && i - 1 == own)
			sample->own = frame;
	}
	return err;
}

/* --- samples ---------------------------------------------------------------------------------------------- */

/* Names the row's process. */
static int put_name(struct adding *adding, const struct ledger_row *row, uint32_t *number)
{
	char text[LEDGER_PROCESS_BYTES];

	return take(number, flame_put_text(adding->data, row->pid ? ledger_row_process(row, text) : ""));
}

/* The process's number in `processes`; names it as the last row does that knows its name. */
static int name_process(struct adding *adding, const struct ledger_row *row)
{
	uint32_t *grown;
	bool is_new;
	int64_t known = pprof_intern_add(&adding->pids, &row->pid, sizeof(row->pid), &is_new);

	if (known < 0)
		return (int)known;
	if (!is_new && !*row->comm)
		return 0;
	grown = pprof_arena_grow(&adding->arena, adding->processes, &adding->process_capacity,
	                         (size_t)known + 1, sizeof(*grown));
	if (!grown)
		return -errno;
	adding->processes = grown;
	return put_name(adding, row, &grown[known]);
}

static int name_processes(struct adding *adding)
{
	int err = 0;

	for (size_t i = 0; i < ledger_count(adding->file->ledger) && !err; i++) {
		const struct ledger_row *row = ledger_at(adding->file->ledger, i);

		err = row ? name_process(adding, row) : -ENOMEM;
	}
	return err;
}

static int put_process(struct adding *adding, int64_t pid, uint32_t *number)
{
	uint32_t key = (uint32_t)pid;
	int64_t known = pprof_intern_find(&adding->pids, &key, sizeof(key));

	if (known < 0)
		return put_name(adding, &(struct ledger_row){ .pid = (uint32_t)pid, .comm = (char *)"" },
		                number);
	*number = adding->processes[known];
	return 0;
}

/* The label has whole seconds; slices begin with the fraction of one with which the recording does. */
static int64_t slice_begin(const struct adding *adding, int64_t at)
{
	uint64_t first_ns = stamp_coverage(adding->file->stamp).first_ns;

	return at * SECOND_NS + (int64_t)(first_ns % SECOND_NS);
}

/* The profile's own time is its slice, if the sample says nothing else. */
static int put_slice(struct adding *adding, const struct loaded_sample *sample, uint32_t *number)
{
	const struct profile *profile = adding->file->profile;
	int64_t begin_ns = profile_time_ns(profile),
	        end_ns = saturating_add(begin_ns, profile_duration_ns(profile));

	for (size_t i = 0; i < sample->view.n_labels; i++) {
		const struct profile_label *label = &sample->view.labels[i];

		if (label->str || strcmp(label->key, SLICE_LABEL) != 0 || label->num <= 0 ||
		    label->num >= INT64_MAX / SECOND_NS)
			continue;
		begin_ns = slice_begin(adding, label->num);
		end_ns = 0;
	}
	return take(number, flame_put_slice(adding->data, begin_ns, end_ns));
}

static int put_sample(struct adding *adding, const struct loaded_sample *from,
                      const int columns[FLAME_TYPES_MAX])
{
	struct flame_sample sample = { .is_wait = from->is_wait };
	char inherited[1024];
	const struct {
		enum flame_dimension dimension;
		const char *text;
	} texts[] = { { FLAME_CLASS, from->class },
		      { FLAME_STALL, from->stall },
		      { FLAME_DEVICE, from->device },
		      { FLAME_WAKER, from->waker },
		      { FLAME_INHERITED,
		        loaded_inherited_text(inherited, sizeof(inherited), from->inherited_stall,
		                              from->inherited_device, from->inherited_from) },
		      { FLAME_HOST, adding->host },
		      { FLAME_SIDE, adding->side } };
	int64_t values[FLAME_TYPES_MAX] = { 0 };
	int err = put_process(adding, from->pid, &sample.texts[FLAME_PROCESS]);

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]) && !err; i++)
		err = take(&sample.texts[texts[i].dimension], flame_put_text(adding->data, texts[i].text));
	if (!err)
		err = put_slice(adding, from, &sample.slice);
	if (!err)
		err = put_stack(adding, &sample);
	if (err)
		return err;
	for (size_t i = 0; i < adding->data->type_count; i++)
		values[i] = from->view.values[columns[i]];
	return take(&sample.node, flame_put_sample(adding->data, &sample, values));
}

static int add_samples(struct adding *adding, const struct loaded_filter *filter)
{
	struct loaded_tags *tags = loaded_tags_new(adding->file);
	struct loaded_filter all = *filter;
	int columns[FLAME_TYPES_MAX];
	struct loaded_sample sample;
	int err = tags ? find_types(adding->data, adding->file->profile, columns) : -ENOMEM;

	all.waits = true;
	for (size_t i = 0; !err && loaded_sample_get(adding->file, tags, i, &sample); i++) {
		if (!loaded_filter_sample(&all, adding->file, &sample))
			continue;
		loaded_stack_get(&adding->stack, adding->file->profile, &sample.view);
		err = put_sample(adding, &sample, columns);
	}
	loaded_tags_free(tags);
	return err;
}

/* --- the ledger ------------------------------------------------------------------------------------------- */

static int put_row(struct adding *adding, const struct ledger_row *from)
{
	struct flame_row row = { .state = from->state, .base = from->base };
	const char *texts[FLAME_DIMENSIONS] = { [FLAME_CLASS] = *from->class ? from->class : from->tag,
		                                [FLAME_STALL] = from->cause,
		                                [FLAME_DEVICE] = from->device,
		                                [FLAME_HOST] = adding->host,
		                                [FLAME_SIDE] = adding->side };
	uint32_t ignored;
	int err = 0;

	for (size_t i = 0; i < FLAME_DIMENSIONS && !err; i++)
		err = take(&row.texts[i], flame_put_text(adding->data, texts[i]));
	if (!err)
		err = put_process(adding, from->pid, &row.texts[FLAME_PROCESS]);
	return err ? err : take(&ignored, flame_put_row(adding->data, &row, from->ns, from->count));
}

static int add_rows(struct adding *adding, const struct loaded_filter *filter)
{
	int err = 0;

	for (size_t i = 0; i < ledger_count(adding->file->ledger) && !err; i++) {
		const struct ledger_row *row = ledger_at(adding->file->ledger, i);

		if (!row)
			err = -ENOMEM;
		else if (loaded_filter_row(filter, row))
			err = put_row(adding, row);
	}
	return err;
}

int flame_add(struct flame_data *data, const struct loaded_profiles *file, const char *side,
              const struct loaded_filter *filter)
{
	struct adding *adding = calloc(1, sizeof(*adding));
	int err;

	if (!adding)
		return -ENOMEM;
	adding->data = data;
	adding->file = file;
	host_note_read(file->profile, adding->host, sizeof(adding->host));
	adding->side = side;
	adding->arena.max_bytes = data->arena.max_bytes;
	adding->frames.arena = adding->pids.arena = &adding->arena;
	err = name_processes(adding);
	if (!err)
		err = add_samples(adding, filter);
	if (!err)
		err = add_rows(adding, filter);
	pprof_intern_free(&adding->frames);
	pprof_intern_free(&adding->pids);
	pprof_arena_clear(&adding->arena);
	free(adding->frame_numbers);
	free(adding->processes);
	free(adding);
	return err;
}
