/* Sums of requests in a sorted array, and their form as notes of a profile. */

#include "profiler/format/request_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pprof/profile.h"
#include "profiler/format/note_rows.h"
#include "profiler/format/saturating.h"
#include "symbolizer/base/growing_array.h"
#include "symbolizer/base/search.h"

#define RECORD "stallprof.requests"

struct request_rows {
	struct request_row *rows;
	size_t count, room;
};

static const char *const op_names[REQUEST_OPS] = {
	[REQUEST_READ] = "read",       [REQUEST_WRITE] = "write", [REQUEST_FLUSH] = "flush",
	[REQUEST_DISCARD] = "discard", [REQUEST_OTHER] = "other",
};

const char *request_op_name(enum request_op op)
{
	return (unsigned)op < REQUEST_OPS ? op_names[op] : "?";
}

struct request_rows *request_rows_new(void)
{
	return calloc(1, sizeof(struct request_rows));
}

static void row_free(struct request_row *row)
{
	free((char *)row->device);
	free((char *)row->class);
}

void request_rows_free(struct request_rows *rows)
{
	if (!rows)
		return;
	for (size_t i = 0; i < rows->count; i++)
		row_free(&rows->rows[i]);
	free(rows->rows);
	free(rows);
}

size_t request_rows_count(const struct request_rows *rows)
{
	return rows->count;
}

const struct request_row *request_rows_at(const struct request_rows *rows, size_t index)
{
	return index < rows->count ? &rows->rows[index] : NULL;
}

/* --- adding ------------------------------------------------------------------------------------------- */

static int compare(const struct request_row *a, const struct request_row *b)
{
	int order = strcmp(a->device, b->device);

	order = order ? order : strcmp(a->class, b->class);
	order = order ? order : (int)a->op - (int)b->op;
	return order ? order : (int)a->writeback - (int)b->writeback;
}

static int insert(struct request_rows *rows, size_t at, const struct request_row *row)
{
	struct request_row copy = *row;
	int err = growing_array_reserve((void **)&rows->rows, rows->count + 1, &rows->room,
	                                sizeof(*rows->rows), REQUEST_ROWS_MAX);

	if (err)
		return err == -EFBIG ? -ENOSPC : err;
	copy.device = strdup(row->device);
	copy.class = strdup(row->class);
	if (!copy.device || !copy.class) {
		row_free(&copy);
		return -ENOMEM;
	}
	memmove(&rows->rows[at + 1], &rows->rows[at], (rows->count++ - at) * sizeof(*rows->rows));
	rows->rows[at] = copy;
	return 0;
}

int request_rows_add(struct request_rows *rows, const struct request_row *row)
{
	struct request_row given = *row, *found;
	size_t at;

	if ((unsigned)row->op >= REQUEST_OPS)
		return -EINVAL;
	given.device = row->device ? row->device : "";
	given.class = row->class ? row->class : "";
	at = search_past(i, 0, rows->count, compare(&rows->rows[i], &given) < 0);
	if (at == rows->count || compare(&rows->rows[at], &given) != 0)
		return insert(rows, at, &given);
	found = &rows->rows[at];
	found->requests = saturating_add_u64(found->requests, row->requests);
	found->bytes = saturating_add_u64(found->bytes, row->bytes);
	found->ns = saturating_add_u64(found->ns, row->ns);
	return 0;
}

/* --- notes ----------------------------------------------------------------------------------------- */

static int add_note(const struct request_row *row, struct profile *profile)
{
	struct note_writer writer;

	if (note_writer_begin(&writer, RECORD))
		return -ENOMEM;
	note_writer_text(&writer, "device", row->device);
	note_writer_text(&writer, "class", row->class);
	note_writer_text(&writer, "op", request_op_name(row->op));
	if (row->writeback)
		note_writer_u64(&writer, "writeback", 1);
	note_writer_u64(&writer, "requests", row->requests);
	note_writer_u64(&writer, "bytes", row->bytes);
	note_writer_u64(&writer, "ns", row->ns);
	return note_rows_add(profile, &writer);
}

int request_rows_to_notes(const struct request_rows *rows, struct profile *profile)
{
	int err = 0;

	for (size_t i = 0; i < rows->count && !err; i++)
		err = add_note(&rows->rows[i], profile);
	return err;
}

/* The row's texts point into fields. */
static int read_row(const struct note_fields *fields, struct request_row *row)
{
	int op = note_fields_choice(fields, "op", op_names, REQUEST_OPS);
	uint64_t writeback = 0;

	*row = (struct request_row){ .device = note_fields_text(fields, "device"),
		                     .class = note_fields_text(fields, "class") };
	if (!row->device || !row->class || op < 0 || note_fields_u64(fields, "requests", &row->requests) ||
	    note_fields_u64(fields, "bytes", &row->bytes) || note_fields_u64(fields, "ns", &row->ns) ||
	    note_fields_u64(fields, "writeback", &writeback) == -EINVAL || writeback > 1)
		return -EINVAL;
	row->op = op;
	row->writeback = writeback;
	return 0;
}

static int take_row(void *ctx, const struct note_fields *fields)
{
	struct request_row row;
	int err = read_row(fields, &row);

	return err ? err : request_rows_add(ctx, &row);
}

int request_rows_from_notes(struct request_rows *rows, const struct profile *profile, size_t *malformed)
{
	return note_rows_read(profile, RECORD, take_row, rows, malformed);
}
