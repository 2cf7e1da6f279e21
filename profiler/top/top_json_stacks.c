/* Prints samples with their labels and stacks as JSON. */

#include "profiler/top/top_json_stacks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/format/json_writer.h"
#include "profiler/loaded/loaded_frames.h"
#include "profiler/loaded/loaded_profiles.h"
#include "profiler/session/detail_labels.h"

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
static struct place *sort_samples(const struct loaded_profiles *input, const struct loaded_tags *tags,
                                  const struct loaded_filter *filter, struct values types, bool waits,
                                  size_t *count)
{
	struct place *places = calloc(profile_n_samples(input->profile) + 1, sizeof(*places));
	struct loaded_filter all = *filter;
	struct loaded_sample sample;

	*count = 0;
	all.waits = true;
	for (size_t i = 0; places && loaded_sample_get(input, tags, i, &sample); i++)
		if (sample.is_wait == waits && loaded_filter_sample(&all, input, &sample))
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
	static const char *const others[] = { "inherited_stall", "inherited_device", "inherited_from",
		                              "holds_up", "worker" };

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (!strcmp(label, others[i]))
			return true;
	return detail_has_label(label);
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

int top_json_stacks(struct json_writer *json, const char *key, const struct loaded_profiles *input,
                    const struct loaded_tags *tags, const struct loaded_filter *filter, bool waits,
                    size_t limit)
{
	const struct profile *profile = input->profile;
	struct values types = { .delay = profile_find_type(profile, "delay"),
		                .cpu = profile_find_type(profile, "cpu"),
		                .recovery = profile_find_type(profile, "recovery"),
		                .contentions = profile_find_type(profile, "contentions") };
	struct loaded_sample sample;
	size_t count;
	struct place *places = sort_samples(input, tags, filter, types, waits, &count);

	if (!places)
		return -ENOMEM;
	json_key(json, key);
	json_array_begin(json);
	for (size_t i = 0; i < count && (!limit || i < limit); i++)
		if (loaded_sample_get(input, tags, places[i].index, &sample))
			write_stack(json, profile, &sample, types);
	json_array_end(json);
	free(places);
	return 0;
}
