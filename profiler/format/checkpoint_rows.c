/* Rows of checkpoint files in a sorted array, and their form as notes of a profile. */

#include "profiler/format/checkpoint_rows.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/format/note_rows.h"
#include "symbolizer/base/growing_array.h"
#include "symbolizer/base/search.h"
#include "symbolizer/base/compare.h"

#define RECORD   "stallprof.checkpoint"
#define N(array) (sizeof(array) / sizeof((array)[0]))

struct checkpoint_rows {
	struct checkpoint_file *rows;
	size_t count, room;
};

static const char *const durable_names[CHECKPOINT_DURABLES] = {
	[CHECKPOINT_NOT_RENAMED] = "not_renamed",
	[CHECKPOINT_DURABLE] = "yes",
	[CHECKPOINT_NOT_DURABLE] = "no",
	[CHECKPOINT_DURABLE_UNKNOWN] = "unknown",
};

static const char *const reason_names[CHECKPOINT_REASONS] = {
	[CHECKPOINT_NO_REASON] = "",
	[CHECKPOINT_STILL_DIRTY] = "still_dirty",
	[CHECKPOINT_WRITE_FAILED] = "write_failed",
	[CHECKPOINT_NEVER_SYNCED] = "never_synced",
	[CHECKPOINT_CHANGED_AFTER_SYNC] = "changed_after_sync",
	[CHECKPOINT_BEGUN_BEFORE] = "begun_before",
	[CHECKPOINT_EVENTS_LOST] = "events_lost",
};

static const char *const sum_names[CHECKPOINT_SUMS] = {
	[CHECKPOINT_NO_SUM] = "",
	[CHECKPOINT_SUM_MATCHES] = "matches",
	[CHECKPOINT_SUM_DIFFERS] = "differs",
	[CHECKPOINT_SUM_ALONE] = "no_xattr",
	[CHECKPOINT_SUM_WAITING] = "waiting",
	[CHECKPOINT_SUM_CHANGED] = "changed",
	[CHECKPOINT_SUM_UNREAD] = "unread",
	[CHECKPOINT_SUM_REFUSED] = "refused",
};

#define TEXT(name, field)                                                                                    \
	{                                                                                                    \
		name, offsetof(struct checkpoint_file, field)                                                \
	}
#define NUMBER(name, field)                                                                                  \
	{                                                                                                    \
		name, offsetof(struct checkpoint_file, field)                                                \
	}

static const struct field {
	const char *name;
	size_t at;
} texts[] = {
	TEXT("path", path),
	TEXT("from", renamed_from),
	TEXT("device", device),
	TEXT("class", class),
	TEXT("sha256", sha256),
	TEXT("sha256_said", sha256_said),
}, numbers[] = {
	NUMBER("inode", inode),
	NUMBER("begun", begun_ns),
	NUMBER("updated", updated_ns),
	NUMBER("writes", writes),
	NUMBER("written", written_bytes),
	NUMBER("short", short_writes),
	NUMBER("failed", failed_writes),
	NUMBER("first_write", first_write_ns),
	NUMBER("last_write", last_write_ns),
	NUMBER("completions", completions),
	NUMBER("completed", completed_bytes),
	NUMBER("failed_completions", failed_completions),
	NUMBER("out_of_order", out_of_order),
	NUMBER("scattered", scattered),
	NUMBER("first_done", first_done_ns),
	NUMBER("last_done", last_done_ns),
	NUMBER("syncs", syncs),
	NUMBER("failed_syncs", failed_syncs),
	NUMBER("sync_begin", sync_begin_ns),
	NUMBER("sync_end", sync_end_ns),
	NUMBER("renames", renames),
	NUMBER("renamed", renamed_ns),
	NUMBER("folder_synced", folder_synced_ns),
	NUMBER("closes", closes),
	NUMBER("closed", closed_ns),
	NUMBER("lost", lost),
	NUMBER("extents", extents),
};

static const char **text_at(struct checkpoint_file *file, const struct field *field)
{
	return (const char **)((char *)file + field->at);
}

static uint64_t *number_at(struct checkpoint_file *file, const struct field *field)
{
	return (uint64_t *)((char *)file + field->at);
}

const char *checkpoint_durable_name(enum checkpoint_durable durable)
{
	return (unsigned)durable < CHECKPOINT_DURABLES ? durable_names[durable] : "?";
}

const char *checkpoint_reason_name(enum checkpoint_reason reason)
{
	return (unsigned)reason < CHECKPOINT_REASONS ? reason_names[reason] : "?";
}

const char *checkpoint_sum_name(enum checkpoint_sum sum)
{
	return (unsigned)sum < CHECKPOINT_SUMS ? sum_names[sum] : "?";
}

bool checkpoint_is_wrong(const struct checkpoint_file *file)
{
	return file->short_writes || file->failed_writes || file->failed_completions || file->failed_syncs ||
	       file->sum == CHECKPOINT_SUM_DIFFERS || file->durable_before_name == CHECKPOINT_NOT_DURABLE ||
	       (file->durable_before_name == CHECKPOINT_DURABLE_UNKNOWN &&
	        file->reason != CHECKPOINT_EVENTS_LOST && file->reason != CHECKPOINT_BEGUN_BEFORE);
}

struct checkpoint_rows *checkpoint_rows_new(void)
{
	return calloc(1, sizeof(struct checkpoint_rows));
}

static void row_free(struct checkpoint_file *row)
{
	for (size_t i = 0; i < N(texts); i++)
		free((char *)*text_at(row, &texts[i]));
	free((struct checkpoint_range *)row->ranges);
}

void checkpoint_rows_free(struct checkpoint_rows *rows)
{
	if (!rows)
		return;
	for (size_t i = 0; i < rows->count; i++)
		row_free(&rows->rows[i]);
	free(rows->rows);
	free(rows);
}

size_t checkpoint_rows_count(const struct checkpoint_rows *rows)
{
	return rows ? rows->count : 0;
}

const struct checkpoint_file *checkpoint_rows_at(const struct checkpoint_rows *rows, size_t index)
{
	return index < rows->count ? &rows->rows[index] : NULL;
}

/* --- adding ------------------------------------------------------------------------------------------- */

static int compare(const struct checkpoint_file *a, const struct checkpoint_file *b)
{
	int order = strcmp(a->device, b->device);

	order = order ? order : compare_u64(a->inode, b->inode);
	return order ? order : compare_u64(a->begun_ns, b->begun_ns);
}

static bool is_sound(const struct checkpoint_file *file)
{
	uint64_t end = 0;

	if ((unsigned)file->durable_before_name >= CHECKPOINT_DURABLES ||
	    (unsigned)file->reason >= CHECKPOINT_REASONS || (unsigned)file->sum >= CHECKPOINT_SUMS ||
	    file->n_ranges > CHECKPOINT_RANGES_MAX)
		return false;
	for (size_t i = 0; i < file->n_ranges; i++) {
		if (file->ranges[i].offset < end || !file->ranges[i].length ||
		    __builtin_add_overflow(file->ranges[i].offset, file->ranges[i].length, &end))
			return false;
	}
	return true;
}

static int copy_row(struct checkpoint_file *to, const struct checkpoint_file *file)
{
	size_t bytes = file->n_ranges * sizeof(*file->ranges);
	struct checkpoint_range *ranges = bytes ? malloc(bytes) : NULL;
	bool failed = bytes && !ranges;

	*to = *file;
	to->ranges = ranges;
	if (ranges)
		memcpy(ranges, file->ranges, bytes);
	for (size_t i = 0; i < N(texts); i++) {
		const char **text = text_at(to, &texts[i]);

		*text = strdup(*text ? *text : "");
		failed |= !*text;
	}
	if (failed)
		row_free(to);
	return failed ? -ENOMEM : 0;
}

static int insert(struct checkpoint_rows *rows, size_t at, const struct checkpoint_file *row)
{
	int err = growing_array_reserve((void **)&rows->rows, rows->count + 1, &rows->room,
	                                sizeof(*rows->rows), CHECKPOINT_ROWS_MAX);

	if (err)
		return err == -EFBIG ? -ENOSPC : err;
	memmove(&rows->rows[at + 1], &rows->rows[at], (rows->count++ - at) * sizeof(*rows->rows));
	rows->rows[at] = *row;
	return 0;
}

int checkpoint_rows_add(struct checkpoint_rows *rows, const struct checkpoint_file *file)
{
	struct checkpoint_file row;
	size_t at;
	int err;

	if (!is_sound(file))
		return -EINVAL;
	err = copy_row(&row, file);
	if (err)
		return err;
	at = search_past(i, 0, rows->count, compare(&rows->rows[i], &row) < 0);
	if (at == rows->count || compare(&rows->rows[at], &row) != 0) {
		err = insert(rows, at, &row);
		if (err)
			row_free(&row);
		return err;
	}
	if (row.updated_ns < rows->rows[at].updated_ns) {
		row_free(&row);
		return 0;
	}
	row_free(&rows->rows[at]);
	rows->rows[at] = row;
	return 0;
}

/* --- notes: writing --------------------------------------------------------------------------------- */

static void write_ranges(struct note_writer *writer, const struct checkpoint_file *row)
{
	if (!row->n_ranges)
		return;
	note_writer_format(writer, " ranges=");
	for (size_t i = 0; i < row->n_ranges; i++) {
		const struct checkpoint_range *range = &row->ranges[i];

		note_writer_format(writer, "%s%" PRIu64 "+%" PRIu64, i ? "," : "", range->offset,
		                   range->length);
		if (range->last_done_ns)
			note_writer_format(writer, ":%" PRIu64 "-%" PRIu64, range->first_done_ns,
			                   range->last_done_ns);
	}
}

static int write_row(struct profile *profile, struct checkpoint_file *row)
{
	struct note_writer writer;

	if (note_writer_begin(&writer, RECORD))
		return -ENOMEM;
	for (size_t i = 0; i < N(texts); i++)
		if (**text_at(row, &texts[i]))
			note_writer_text(&writer, texts[i].name, *text_at(row, &texts[i]));
	for (size_t i = 0; i < N(numbers); i++)
		if (*number_at(row, &numbers[i]))
			note_writer_u64(&writer, numbers[i].name, *number_at(row, &numbers[i]));
	if (row->error)
		note_writer_i64(&writer, "error", row->error);
	if (row->from_empty)
		note_writer_u64(&writer, "from_empty", 1);
	if (row->synced)
		note_writer_u64(&writer, "synced", 1);
	note_writer_text(&writer, "durable", checkpoint_durable_name(row->durable_before_name));
	if (row->reason)
		note_writer_text(&writer, "reason", checkpoint_reason_name(row->reason));
	if (row->sum)
		note_writer_text(&writer, "sum", checkpoint_sum_name(row->sum));
	write_ranges(&writer, row);
	return note_rows_add(profile, &writer);
}

int checkpoint_rows_to_notes(const struct checkpoint_rows *rows, struct profile *profile)
{
	int err = 0;

	for (size_t i = 0; i < rows->count && !err; i++)
		err = write_row(profile, &rows->rows[i]);
	return err;
}

/* --- notes: reading --------------------------------------------------------------------------------- */

/* The number at *text, which it steps over, and the character behind it if that is `end`. */
static bool take_number(const char **text, char end, uint64_t *value)
{
	const char *at = *text;

	*value = 0;
	for (; *at >= '0' && *at <= '9'; at++)
		if (__builtin_mul_overflow(*value, 10, value) ||
		    __builtin_add_overflow(*value, (uint64_t)(*at - '0'), value))
			return false;
	if (at == *text || (end && *at != end))
		return false;
	*text = at + (end != '\0');
	return true;
}

static bool take_range(const char **text, struct checkpoint_range *range)
{
	*range = (struct checkpoint_range){ .offset = 0 };
	if (!take_number(text, '+', &range->offset) || !take_number(text, '\0', &range->length))
		return false;
	if (**text != ':')
		return true;
	(*text)++;
	return take_number(text, '-', &range->first_done_ns) &&
	       take_number(text, '\0', &range->last_done_ns) && range->last_done_ns;
}

static int read_ranges(const char *text, struct checkpoint_range *ranges, size_t *n)
{
	*n = 0;
	while (text && *n < CHECKPOINT_RANGES_MAX) {
		if (!take_range(&text, &ranges[(*n)++]))
			return -EINVAL;
		if (!*text)
			return 0;
		if (*text++ != ',')
			return -EINVAL;
	}
	return text ? -EINVAL : 0;
}

/* The index of the field's text among the names; -1: it is none of them. */
static int find_name(const struct note_fields *fields, const char *key, const char *const *names, int n)
{
	const char *name = note_fields_text(fields, key);

	for (int i = 0; i < n; i++)
		if (!strcmp(name ? name : "", names[i]))
			return i;
	return -1;
}

static int read_flag(const struct note_fields *fields, const char *key, bool *flag)
{
	uint64_t value = 0;
	int err = note_fields_u64(fields, key, &value);

	*flag = value;
	return err == -EINVAL || value > 1 ? -EINVAL : 0;
}

/* The row's texts point into fields, its ranges to `ranges`. */
static int read_row(const struct note_fields *fields, struct checkpoint_file *row,
                    struct checkpoint_range *ranges)
{
	int durable = find_name(fields, "durable", durable_names, CHECKPOINT_DURABLES);
	int reason = find_name(fields, "reason", reason_names, CHECKPOINT_REASONS);
	int sum = find_name(fields, "sum", sum_names, CHECKPOINT_SUMS);

	*row = (struct checkpoint_file){ .ranges = ranges };
	for (size_t i = 0; i < N(texts); i++)
		*text_at(row, &texts[i]) = note_fields_text(fields, texts[i].name);
	for (size_t i = 0; i < N(numbers); i++)
		if (note_fields_u64(fields, numbers[i].name, number_at(row, &numbers[i])) == -EINVAL)
			return -EINVAL;
	if (durable < 0 || reason < 0 || sum < 0 ||
	    note_fields_i64(fields, "error", &row->error) == -EINVAL ||
	    read_flag(fields, "from_empty", &row->from_empty) || read_flag(fields, "synced", &row->synced) ||
	    read_ranges(note_fields_text(fields, "ranges"), ranges, &row->n_ranges) || !row->inode)
		return -EINVAL;
	row->durable_before_name = durable;
	row->reason = reason;
	row->sum = sum;
	return 0;
}

static int take_row(void *ctx, const struct note_fields *fields)
{
	struct checkpoint_range ranges[CHECKPOINT_RANGES_MAX];
	struct checkpoint_file row;
	int err = read_row(fields, &row, ranges);

	return err ? err : checkpoint_rows_add(ctx, &row);
}

int checkpoint_rows_from_notes(struct checkpoint_rows *rows, const struct profile *profile, size_t *malformed)
{
	return note_rows_read(profile, RECORD, take_row, rows, malformed);
}
