/*
 * How inputs of whole profiles (profile_set.h) are changed: as messages, not as bytes. Changed bytes are hardly ever a valid profile, so
 * what reasons about profiles would see none of them. Numbers become those at the bounds of their types, or near what they were;
 * samples, labels, places of a stack and notes are repeated, left out, and mixed. Some bytes are changed all the same.
 *
 * Included by a target, it is libFuzzer's LLVMFuzzerCustomMutator(); the plain replayer never calls that.
 */
#ifndef STALLPROF_TESTS_PROFILE_MUTATOR_H
#define STALLPROF_TESTS_PROFILE_MUTATOR_H

#include <ctype.h>
#include <inttypes.h>

#include "pprof/profile.pb-c.h"
#include "tests/fuzz/profile_set.h"

#define REPEATS_MAX 300
#define TEXT_MAX    4096

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);
/* libFuzzer's own. */
__attribute__((weak)) size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

typedef Perftools__Profiles__Profile pb_profile;
typedef Perftools__Profiles__Sample pb_sample;
typedef Perftools__Profiles__Label pb_label;

/* --- numbers --- */

static uint64_t mutator_state;

static uint64_t any_number(void)
{
	mutator_state ^= mutator_state << 13;
	mutator_state ^= mutator_state >> 7;
	mutator_state ^= mutator_state << 17;
	return mutator_state;
}

/* From 0 to count - 1; 0 where there are none. */
static size_t any_of(size_t count)
{
	return count ? (size_t)(any_number() % count) : 0;
}

static int64_t odd_number(int64_t old)
{
	static const int64_t odd[] = { 0,
		                       1,
		                       -1,
		                       INT64_MIN,
		                       INT64_MAX,
		                       INT32_MAX,
		                       UINT32_MAX,
		                       1000000000,
		                       3600000000000,
		                       10000000,
		                       INT64_MAX / 2 };
	uint64_t was = (uint64_t)old;

	switch (any_of(8)) {
	case 0:
		return (int64_t)(was + 1);
	case 1:
		return (int64_t)(was * 2);
	case 2:
		return (int64_t)(0 - was);
	case 3:
		return (int64_t)(was + 1000000000 * any_of(100));
	case 4:
		return (int64_t)(any_number() >> any_of(64));
	default:
		return odd[any_of(sizeof(odd) / sizeof(odd[0]))];
	}
}

/* As a text: also of 64 bits without a sign, and with a fraction, as the notes have them. */
static void odd_number_text(char *text, size_t size, int64_t old)
{
	if (any_of(4) == 0)
		snprintf(text, size, "%" PRIu64, UINT64_MAX - any_of(3) * 9999999);
	else if (any_of(8) == 0)
		snprintf(text, size, "%" PRId64 ".%09zu", odd_number(old), any_of(1000000000));
	else
		snprintf(text, size, "%" PRId64, odd_number(old));
}

/* --- arrays of a message, which is all libc's memory --- */

/* Makes room for one element more, of `width` bytes, and returns the new array. */
static void *grown(void *array, size_t count, size_t width)
{
	void *larger = realloc(array, (count + 1) * width);

	if (!larger)
		abort();
	return larger;
}

static void *new_bytes(size_t size)
{
	void *bytes = malloc(size + 1);

	if (!bytes)
		abort();
	return bytes;
}

/* With a NUL behind it. */
static void *copy_of(const void *bytes, size_t size)
{
	char *copy = new_bytes(size);

	if (size)
		memcpy(copy, bytes, size);
	copy[size] = '\0';
	return copy;
}

static void add_label(pb_sample *sample, const pb_label *label)
{
	sample->label = grown(sample->label, sample->n_label, sizeof(*sample->label));
	sample->label[sample->n_label++] = copy_of(label, sizeof(*label));
}

static void add_location(pb_sample *sample, uint64_t id)
{
	sample->location_id = grown(sample->location_id, sample->n_location_id, sizeof(*sample->location_id));
	sample->location_id[sample->n_location_id++] = id;
}

static void add_note(pb_profile *p, const void *text, size_t size)
{
	p->note = grown(p->note, p->n_note, sizeof(*p->note));
	p->note[p->n_note++] = (ProtobufCBinaryData){ .data = copy_of(text, size), .len = size };
}

static pb_sample *add_sample(pb_profile *p, const pb_sample *from)
{
	pb_sample *sample = copy_of(from, sizeof(*from));

	sample->location_id = copy_of(from->location_id, from->n_location_id * sizeof(*from->location_id));
	sample->value = copy_of(from->value, from->n_value * sizeof(*from->value));
	sample->label = NULL;
	sample->n_label = 0;
	for (size_t i = 0; i < from->n_label; i++)
		add_label(sample, from->label[i]);
	p->sample = grown(p->sample, p->n_sample, sizeof(*p->sample));
	p->sample[p->n_sample++] = sample;
	return sample;
}

static void drop_label(pb_sample *sample, size_t i)
{
	perftools__profiles__label__free_unpacked(sample->label[i], NULL);
	sample->label[i] = sample->label[--sample->n_label];
}

static void drop_sample(pb_profile *p, size_t i)
{
	perftools__profiles__sample__free_unpacked(p->sample[i], NULL);
	p->sample[i] = p->sample[--p->n_sample];
}

static void drop_note(pb_profile *p, size_t i)
{
	free(p->note[i].data);
	p->note[i] = p->note[--p->n_note];
}

/* --- samples --- */

static void change_label(pb_profile *p, pb_sample *sample)
{
	pb_label *label = sample->label[any_of(sample->n_label)];

	if (any_of(4) == 0) {
		label->key = (int64_t)any_of(p->n_string_table);
	} else if (label->str || any_of(4) == 0) {
		label->str = (int64_t)any_of(p->n_string_table);
		label->num = label->num_unit = 0;
	} else {
		label->num = odd_number(label->num);
	}
}

static void change_labels(pb_profile *p, pb_sample *sample)
{
	const pb_sample *other = p->sample[any_of(p->n_sample)];

	if (any_of(4) == 0 && other->n_label)
		add_label(sample, other->label[any_of(other->n_label)]);
	if (!sample->n_label)
		return;
	switch (any_of(4)) {
	case 0:
		drop_label(sample, any_of(sample->n_label));
		break;
	case 1:
		add_label(sample, sample->label[any_of(sample->n_label)]);
		change_label(p, sample);
		break;
	default:
		change_label(p, sample);
	}
}

static void change_stack(pb_profile *p, pb_sample *sample)
{
	size_t repeats = any_of(4) ? 1 : any_of(REPEATS_MAX);

	if (any_of(4) == 0 && sample->n_location_id)
		sample->n_location_id = 1 + any_of(sample->n_location_id);
	for (size_t i = 0; i < repeats && p->n_location; i++)
		add_location(sample, p->location[any_of(p->n_location)]->id);
}

static void change_samples(pb_profile *p)
{
	pb_sample *sample;

	if (!p->n_sample)
		return;
	sample = p->sample[any_of(p->n_sample)];
	switch (any_of(6)) {
	case 0:
		drop_sample(p, any_of(p->n_sample));
		break;
	case 1:
		change_labels(p, add_sample(p, sample));
		break;
	case 2:
		change_stack(p, sample);
		break;
	case 3:
		change_labels(p, sample);
		break;
	default:
		if (sample->n_value) {
			int64_t *value = &sample->value[any_of(sample->n_value)];

			*value = odd_number(*value);
		}
	}
}

/* --- notes --- */

static bool is_number_at(const char *text, size_t i)
{
	return isdigit((unsigned char)text[i]) && (!i || !isalnum((unsigned char)text[i - 1]));
}

/* Puts `text` in place of the `size` bytes at `at`. */
static void splice(ProtobufCBinaryData *note, size_t at, size_t size, const char *text, size_t text_size)
{
	size_t behind = note->len - at - size;
	char *bytes = new_bytes(at + text_size + behind);

	memcpy(bytes, note->data, at);
	memcpy(bytes + at, text, text_size);
	memcpy(bytes + at + text_size, note->data + at + size, behind);
	free(note->data);
	note->data = (uint8_t *)bytes;
	note->len = at + text_size + behind;
}

/* One of the numbers in it, each as likely as the others. */
static void change_number(ProtobufCBinaryData *note)
{
	const char *text = (const char *)note->data;
	size_t found = 0, at = 0, size = 0;
	char number[48], old[24];

	for (size_t i = 0; i < note->len; i++)
		if (is_number_at(text, i) && any_of(++found) == 0)
			at = i;
	if (!found)
		return;
	while (at + size < note->len && isdigit((unsigned char)text[at + size]))
		size++;
	snprintf(old, sizeof(old), "%.*s", (int)size, text + at);
	odd_number_text(number, sizeof(number), (int64_t)strtoull(old, NULL, 10));
	if (at && text[at - 1] == '-' && *number == '-')
		splice(note, at, size, number + 1, strlen(number) - 1);
	else
		splice(note, at, size, number, strlen(number));
}

/* The value of the field whose name, with its "=", is at `at`; its bytes in *size. */
static const char *value_at(const ProtobufCBinaryData *note, const char *name, size_t name_size, size_t *size)
{
	const char *text = (const char *)note->data;

	for (size_t i = 1; i + name_size <= note->len; i++) {
		if (text[i - 1] != ' ' || memcmp(text + i, name, name_size) != 0)
			continue;
		i += name_size;
		for (*size = 0; i + *size < note->len && text[i + *size] != ' ';)
			++*size;
		return text + i;
	}
	return NULL;
}

/* Gives one of its fields the value that another note has in it, or any text of the profile. */
static void mix_field(pb_profile *p, ProtobufCBinaryData *note)
{
	const ProtobufCBinaryData *other = &p->note[any_of(p->n_note)];
	const char *text = (const char *)note->data, *old, *new = NULL;
	size_t found = 0, at = 0, name, old_size = 0, new_size = 0;

	for (size_t i = 1; i < note->len; i++)
		if (text[i - 1] == ' ' && any_of(++found) == 0)
			at = i;
	for (name = 0; found && at + name < note->len && text[at + name] != '=';)
		name++;
	if (!found || at + name >= note->len)
		return;
	old = value_at(note, text + at, name + 1, &old_size);
	new = value_at(other, text + at, name + 1, &new_size);
	if ((!new || any_of(4) == 0) && p->n_string_table) {
		new = p->string_table[any_of(p->n_string_table)];
		new_size = strcspn(new, " \"\n");
	}
	if (old && new) {
		char *copy = copy_of(new, new_size); /* it may be of the same note */

		splice(note, (size_t)(old - text), old_size, copy, new_size);
		free(copy);
	}
}

/* Repeats the end of its list of points: later ones, as they are told by their distance. */
static void lengthen(ProtobufCBinaryData *note)
{
	size_t size = 0, repeats = any_of(REPEATS_MAX);
	char *part;

	while (size < note->len && note->data[note->len - 1 - size] != ',' &&
	       note->data[note->len - 1 - size] != ' ')
		size++;
	if (size >= note->len || note->data[note->len - 1 - size] != ',')
		return;
	part = copy_of(note->data + note->len - 1 - size, size + 1);
	for (size_t i = 0; i < repeats && note->len < 16 * TEXT_MAX; i++)
		splice(note, note->len, 0, part, size + 1);
	free(part);
}

static void change_notes(pb_profile *p)
{
	ProtobufCBinaryData *note;

	if (!p->n_note)
		return;
	note = &p->note[any_of(p->n_note)];
	switch (any_of(8)) {
	case 0:
		drop_note(p, any_of(p->n_note));
		break;
	case 1:
		add_note(p, note->data, note->len);
		change_number(&p->note[p->n_note - 1]);
		break;
	case 2:
		add_note(p, note->data, note->len);
		mix_field(p, &p->note[p->n_note - 1]);
		break;
	case 3:
		mix_field(p, note);
		break;
	case 4:
		lengthen(note);
		break;
	default:
		change_number(note);
	}
}

/* --- the rest of a profile --- */

static void change_text(pb_profile *p)
{
	size_t i = 1 + any_of(p->n_string_table - 1), size = strlen(p->string_table[i]);
	char *text = new_bytes(size + TEXT_MAX);

	memcpy(text, p->string_table[i], size + 1);
	if (any_of(4) == 0) {
		size_t repeats = any_of(TEXT_MAX);

		memset(text + size, 'a' + (int)any_of(26), repeats);
		text[size + repeats] = '\0';
	} else if (size) {
		text[any_of(size)] = (char)(any_of(8) ? 32 + any_of(95) : 1 + any_of(255));
	}
	if (p->string_table[i] != protobuf_c_empty_string)
		free(p->string_table[i]);
	p->string_table[i] = text;
}

static void change_head(pb_profile *p)
{
	Perftools__Profiles__ValueType *type =
	        p->n_sample_type ? p->sample_type[any_of(p->n_sample_type)] : NULL;

	switch (any_of(6)) {
	case 0:
		p->time_nanos = odd_number(p->time_nanos);
		break;
	case 1:
		p->duration_nanos = odd_number(p->duration_nanos);
		break;
	case 2:
		if (type)
			type->type = (int64_t)any_of(p->n_string_table);
		break;
	case 3:
		if (type)
			type->unit = (int64_t)any_of(p->n_string_table);
		break;
	default:
		if (p->n_string_table > 1)
			change_text(p);
	}
}

static void change_profile(pb_profile *p)
{
	for (size_t n = 1 + any_of(4); n; n--) {
		size_t what = any_of(16);

		if (what < 8)
			change_notes(p);
		else if (what < 14)
			change_samples(p);
		else
			change_head(p);
	}
}

/* --- inputs --- */

/* The changed profile, which the caller frees; NULL: it is no message. */
static uint8_t *changed(const struct profile_bytes *from, size_t *size)
{
	pb_profile *p = perftools__profiles__profile__unpack(NULL, from->size, from->data);
	uint8_t *bytes;

	if (!p)
		return NULL;
	change_profile(p);
	*size = perftools__profiles__profile__get_packed_size(p);
	bytes = new_bytes(*size);
	perftools__profiles__profile__pack(p, bytes);
	perftools__profiles__profile__free_unpacked(p, NULL);
	return bytes;
}

/* Another number of profiles: one is left out, or comes twice. */
static void change_number_of_profiles(struct profile_set *set)
{
	size_t i = any_of(set->count);

	if (any_of(2) && set->count < PROFILE_SET_MAX)
		set->profile[set->count++] = set->profile[i];
	else if (set->count > 1)
		set->profile[i] = set->profile[--set->count];
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
	uint8_t *out = new_bytes(max_size), *bytes = NULL;
	struct profile_set set;
	size_t length = 0;

	mutator_state = (seed + 1) * 0x9e3779b97f4a7c15ULL;
	profile_set_read(&set, data, size);
	if (any_of(4) == 0)
		set.choice = (uint16_t)any_number();
	if (set.count && any_of(8) == 0)
		change_number_of_profiles(&set);
	if (set.count) {
		struct profile_bytes *one = &set.profile[any_of(set.count)];

		bytes = changed(one, &length);
		if (bytes)
			*one = (struct profile_bytes){ bytes, length };
	}
	length = profile_set_write(&set, out, max_size);
	if (length)
		memcpy(data, out, length);
	else
		length = size;
	if (any_of(32) == 0 && LLVMFuzzerMutate)
		length = LLVMFuzzerMutate(data, length, max_size);
	free(bytes);
	free(out);
	return length;
}

#endif
