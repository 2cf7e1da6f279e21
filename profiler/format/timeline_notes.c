/* The form of a timeline as notes of a profile. */

#include "profiler/format/timeline.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pprof/profile.h"
#include "profiler/format/note_rows.h"

#define RECORD         "stallprof.timeline"
#define POINTS_OF_LINE 2048
#define DECIMAL_DIGITS 10

/* --- writing ---------------------------------------------------------------------------------------------- */

/* The caller frees it; NULL without memory. */
static char *data_text(const struct timeline_point *points, size_t count, uint64_t bucket_ns)
{
	uint64_t before_ns = points[0].begin_ns;
	char *text = NULL;
	size_t size = 0;
	FILE *stream = open_memstream(&text, &size);

	if (!stream)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		fprintf(stream, "%s%" PRIu64 ":%" PRId64, i ? "," : "",
		        (points[i].begin_ns - before_ns) / bucket_ns, points[i].value);
		before_ns = points[i].begin_ns;
	}
	if (!fclose(stream))
		return text;
	free(text);
	return NULL;
}

static int add_line(const struct timeline_lane *lane, const struct timeline_point *points, size_t count,
                    struct profile *profile)
{
	char *data = data_text(points, count, lane->bucket_ns);
	struct note_writer writer;
	int err = data ? note_writer_begin(&writer, RECORD) : -ENOMEM;

	if (err) {
		free(data);
		return err;
	}
	note_writer_text(&writer, "kind", timeline_kind_name(lane->kind));
	note_writer_text(&writer, "class", lane->class);
	note_writer_text(&writer, "name", lane->name);
	note_writer_text(&writer, "device", lane->device);
	note_writer_u64(&writer, "bucket_ns", lane->bucket_ns);
	note_writer_u64(&writer, "begin_ns", points[0].begin_ns);
	note_writer_text(&writer, "data", data);
	free(data);
	return note_rows_add(profile, &writer);
}

int timeline_to_notes(const struct timeline *timeline, struct profile *profile)
{
	int err = 0;

	for (size_t i = 0; i < timeline_count(timeline) && !err; i++) {
		size_t count, n;
		const struct timeline_point *points = timeline_points(timeline, i, &count);

		for (; count && !err; points += n, count -= n) {
			n = count < POINTS_OF_LINE ? count : POINTS_OF_LINE;
			err = add_line(timeline_lane_at(timeline, i), points, n, profile);
		}
	}
	return err;
}

/* --- reading ---------------------------------------------------------------------------------------------- */

/* One "gap:value" at *text, which is moved behind it and its comma. */
static bool next_point(const char **text, uint64_t *gap, int64_t *value)
{
	char *end;

	if (**text < '0' || **text > '9')
		return false;
	errno = 0;
	*gap = strtoull(*text, &end, DECIMAL_DIGITS);
	if (errno || *end != ':' || (end[1] != '-' && (end[1] < '0' || end[1] > '9')))
		return false;
	*value = strtoll(end + 1, &end, DECIMAL_DIGITS);
	if (errno || (*end && *end != ',') || (*end == ',' && !end[1]))
		return false;
	*text = *end ? end + 1 : end;
	return true;
}

/* 0; -EINVAL: malformed; what timeline_add() says. */
static int take_points(struct timeline *timeline, const struct timeline_lane *lane, uint64_t begin_ns,
                       const char *data)
{
	uint64_t gap, moved_ns, end_ns;
	int64_t value;
	int err = 0;

	while (*data && !err) {
		if (!next_point(&data, &gap, &value) ||
		    __builtin_mul_overflow(gap, lane->bucket_ns, &moved_ns) ||
		    __builtin_add_overflow(begin_ns, moved_ns, &begin_ns) ||
		    __builtin_add_overflow(begin_ns, lane->bucket_ns, &end_ns) || end_ns > INT64_MAX)
			return -EINVAL;
		err = timeline_add(timeline, lane, begin_ns, end_ns, value);
	}
	return err;
}

static int take_row(void *ctx, const struct note_fields *fields)
{
	const char *names[TIMELINE_KINDS], *data = note_fields_text(fields, "data");
	struct timeline_lane lane = { .class = note_fields_text(fields, "class"),
		                      .name = note_fields_text(fields, "name"),
		                      .device = note_fields_text(fields, "device") };
	uint64_t begin_ns;
	int kind, err;

	for (int i = 0; i < TIMELINE_KINDS; i++)
		names[i] = timeline_kind_name(i);
	kind = note_fields_choice(fields, "kind", names, TIMELINE_KINDS);
	if (kind < 0 || !data || note_fields_u64(fields, "bucket_ns", &lane.bucket_ns) ||
	    note_fields_u64(fields, "begin_ns", &begin_ns) || !lane.bucket_ns ||
	    lane.bucket_ns > TIMELINE_BUCKET_MAX_NS || begin_ns % lane.bucket_ns)
		return -EINVAL;
	lane.kind = kind;
	err = take_points(ctx, &lane, begin_ns, data);
	return err == -ENOSPC ? timeline_refuse(ctx, &lane) : err; /* the others have room */
}

int timeline_from_notes(struct timeline *timeline, const struct profile *profile, size_t *malformed)
{
	return note_rows_read(profile, RECORD, take_row, timeline, malformed);
}
