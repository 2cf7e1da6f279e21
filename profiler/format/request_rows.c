/* Sums of requests in a sorted array, and their form as notes of a profile. */

#include "profiler/format/request_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pprof/profile.h"
#include "profiler/format/note_line.h"
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

static uint64_t saturating_sum(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
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
	found->requests = saturating_sum(found->requests, row->requests);
	found->bytes = saturating_sum(found->bytes, row->bytes);
	found->ns = saturating_sum(found->ns, row->ns);
	return 0;
}

/* --- notes ----------------------------------------------------------------------------------------- */

static char *row_line(const struct request_row *row)
{
	struct note_writer writer;

	if (note_writer_begin(&writer, RECORD)) {
		errno = ENOMEM;
		return NULL;
	}
	note_writer_text(&writer, "device", row->device);
	note_writer_text(&writer, "class", row->class);
	note_writer_text(&writer, "op", request_op_name(row->op));
	if (row->writeback)
		note_writer_u64(&writer, "writeback", 1);
	note_writer_u64(&writer, "requests", row->requests);
	note_writer_u64(&writer, "bytes", row->bytes);
	note_writer_u64(&writer, "ns", row->ns);
	return note_writer_end(&writer);
}

int request_rows_to_notes(const struct request_rows *rows, struct profile *profile)
{
	int err = 0;

	for (size_t i = 0; i < rows->count && !err; i++) {
		char *line = row_line(&rows->rows[i]);

		err = line ? profile_add_note(profile, line) : -errno;
		free(line);
	}
	return err;
}

static int read_op(const struct note_fields *fields, enum request_op *op)
{
	const char *name = note_fields_text(fields, "op");

	for (unsigned i = 0; name && i < REQUEST_OPS; i++) {
		if (!strcmp(name, op_names[i])) {
			*op = i;
			return 0;
		}
	}
	return -EINVAL;
}

/* The row's texts point into fields. */
static int read_row(const struct note_fields *fields, struct request_row *row)
{
	uint64_t writeback = 0;

	*row = (struct request_row){ .device = note_fields_text(fields, "device"),
		                     .class = note_fields_text(fields, "class") };
	if (!row->device || !row->class || read_op(fields, &row->op) ||
	    note_fields_u64(fields, "requests", &row->requests) ||
	    note_fields_u64(fields, "bytes", &row->bytes) || note_fields_u64(fields, "ns", &row->ns) ||
	    note_fields_u64(fields, "writeback", &writeback) == -EINVAL || writeback > 1)
		return -EINVAL;
	row->writeback = writeback;
	return 0;
}

static int add_line(struct request_rows *rows, const char *line)
{
	struct note_fields fields;
	struct request_row row;
	int err = note_fields_parse(&fields, line, RECORD);

	if (err)
		return err;
	err = read_row(&fields, &row);
	if (!err)
		err = request_rows_add(rows, &row);
	note_fields_free(&fields);
	return err;
}

int request_rows_from_notes(struct request_rows *rows, const struct profile *profile, size_t *malformed)
{
	for (size_t i = 0; i < profile_n_notes(profile); i++) {
		int err = add_line(rows, profile_note(profile, i));

		if (err == -EINVAL && malformed)
			(*malformed)++;
		if (err && err != -EINVAL && err != -ENOMSG)
			return err;
	}
	return 0;
}
