/* Merges one profile into another: checks the types, then copies header, comments, notes and samples. */

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pprof/profile.h"
#include "pprof/profile_import.h"

static int refuse(char *err, size_t err_len, const char *format, ...) __attribute__((format(printf, 3, 4)));

static int refuse(char *err, size_t err_len, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (err_len)
		vsnprintf(err, err_len, format, args);
	va_end(args);
	/* Names out of a file may hold anything, but this is one line. */
	for (size_t i = 0; err_len && err[i]; i++)
		if ((unsigned char)err[i] < ' ')
			err[i] = '?';
	return -EINVAL;
}

static bool types_equal(struct profile_value_type a, struct profile_value_type b)
{
	return strcmp(a.type, b.type) == 0 && strcmp(a.unit, b.unit) == 0;
}

int profile_merge_check(const struct profile *into, const struct profile *from, char *err, size_t err_len)
{
	if (into == from)
		return refuse(err, err_len, "a profile can't be merged into itself");
	if (into->n_types != from->n_types)
		return refuse(err, err_len, "the profiles have %zu and %zu sample types", into->n_types,
		              from->n_types);
	for (size_t i = 0; i < into->n_types; i++)
		if (!types_equal(into->types[i], from->types[i]))
			return refuse(err, err_len, "the profiles' sample types differ: %s/%s and %s/%s",
			              into->types[i].type, into->types[i].unit, from->types[i].type,
			              from->types[i].unit);
	if (!types_equal(into->period_type, from->period_type))
		return refuse(err, err_len, "the profiles' period types differ: %s/%s and %s/%s",
		              into->period_type.type, into->period_type.unit, from->period_type.type,
		              from->period_type.unit);
	return 0;
}

/* Comments that `into` had before; those that `from` repeats within itself stay as they are. */
static int merge_comments(struct profile *into, const struct profile *from)
{
	size_t n_texts = into->strings.n;
	unsigned char *had = calloc(n_texts + 1, 1);
	int ret = 0;

	if (!had)
		return -ENOMEM;
	for (size_t i = 0; i < into->n_comments; i++)
		had[profile_text_number(into->comments[i])] = 1;
	for (size_t i = 0; i < from->n_comments && !ret; i++) {
		const char *text = profile_intern_text(into, from->comments[i]);
		size_t number = text ? profile_text_number(text) : 0;

		if (!text)
			ret = -errno;
		else if (number >= n_texts || !had[number])
			ret = profile_add_comment(into, text);
	}
	free(had);
	return ret;
}

static int merge_notes(struct profile *into, const struct profile *from)
{
	int ret = 0;

	for (size_t i = 0; i < from->n_notes && !ret; i++)
		ret = profile_add_note(into, from->notes[i]);
	return ret;
}

static int merge_samples(struct profile *into, const struct profile *from)
{
	struct profile_import im;
	int ret = profile_import_begin(&im, into, from, 0, PROFILE_MAPPINGS_MERGE);

	for (size_t i = 0; i < from->samples.n && !ret; i++)
		ret = profile_import_sample(&im, i);
	profile_import_end(&im);
	return ret;
}

static int merge_header(struct profile *into, const struct profile *from)
{
	if (from->time_ns && (!into->time_ns || from->time_ns < into->time_ns))
		into->time_ns = from->time_ns;
	if (__builtin_add_overflow(into->duration_ns, from->duration_ns, &into->duration_ns))
		return -EOVERFLOW;
	if (from->period > into->period)
		into->period = from->period;
	if (!into->default_type && from->default_type)
		profile_set_default_type(into, from->default_type);
	if (!into->drop_frames && profile_intern_optional(into, from->drop_frames, &into->drop_frames) < 0)
		return -errno;
	if (!into->keep_frames && profile_intern_optional(into, from->keep_frames, &into->keep_frames) < 0)
		return -errno;
	if (!into->doc_url && profile_intern_optional(into, from->doc_url, &into->doc_url) < 0)
		return -errno;
	return 0;
}

static const char *reason(int ret)
{
	switch (ret) {
	case -ENOSPC:
		return "it outgrows its bound on memory";
	case -EOVERFLOW:
		return "a sum outgrows 64 bits";
	default:
		return strerror(-ret);
	}
}

int profile_merge(struct profile *into, const struct profile *from, char *err, size_t err_len)
{
	int ret = profile_merge_check(into, from, err, err_len);

	if (ret < 0)
		return ret;
	ret = merge_header(into, from);
	if (!ret)
		ret = merge_comments(into, from);
	if (!ret)
		ret = merge_notes(into, from);
	if (!ret)
		ret = merge_samples(into, from);
	if (ret < 0)
		refuse(err, err_len, "the merged profile can't be held: %s", reason(ret));
	return ret;
}
