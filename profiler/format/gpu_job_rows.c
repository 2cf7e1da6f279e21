/* Sums of GPUs' jobs in a sorted array, and their form as notes of a profile. */

#include "profiler/format/gpu_job_rows.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/format/note_rows.h"
#include "profiler/format/saturating.h"
#include "symbolizer/base/growing_array.h"
#include "symbolizer/base/search.h"

#define RECORD "stallprof.gpu_jobs"

struct gpu_job_rows {
	struct gpu_job_row *rows;
	size_t count, room;
};

static const char *const phase_names[GPU_JOB_PHASES] = {
	[GPU_JOB_SUBMIT] = "submit",
	[GPU_JOB_QUEUE] = "queue",
	[GPU_JOB_WAIT] = "wait",
	[GPU_JOB_RUN] = "run",
};

const char *gpu_job_phase_name(enum gpu_job_phase phase)
{
	return (unsigned)phase < GPU_JOB_PHASES ? phase_names[phase] : "?";
}

struct gpu_job_rows *gpu_job_rows_new(void)
{
	return calloc(1, sizeof(struct gpu_job_rows));
}

static void row_free(struct gpu_job_row *row)
{
	free((char *)row->driver);
	free((char *)row->ring);
	free((char *)row->class);
}

void gpu_job_rows_free(struct gpu_job_rows *rows)
{
	if (!rows)
		return;
	while (rows->count)
		row_free(&rows->rows[--rows->count]);
	free(rows->rows);
	free(rows);
}

size_t gpu_job_rows_count(const struct gpu_job_rows *rows)
{
	return rows->count;
}

const struct gpu_job_row *gpu_job_rows_at(const struct gpu_job_rows *rows, size_t index)
{
	return index < rows->count ? &rows->rows[index] : NULL;
}

/* --- sums ------------------------------------------------------------------------------------------- */

static int compare(const struct gpu_job_row *a, const struct gpu_job_row *b)
{
	int order = strcmp(a->driver, b->driver);

	order = order ? order : strcmp(a->ring, b->ring);
	return order ? order : strcmp(a->class, b->class);
}

static void add_row(struct gpu_job_row *sum, const struct gpu_job_row *row)
{
	sum->jobs = saturating_add_u64(sum->jobs, row->jobs);
	sum->total_ns = saturating_add_u64(sum->total_ns, row->total_ns);
	sum->long_tail = saturating_add_u64(sum->long_tail, row->long_tail);
	sum->faults = saturating_add_u64(sum->faults, row->faults);
	if (row->p90_ns > sum->p90_ns)
		sum->p90_ns = row->p90_ns;
	for (int i = 0; i < GPU_JOB_PHASES; i++) {
		sum->phase[i].jobs = saturating_add_u64(sum->phase[i].jobs, row->phase[i].jobs);
		sum->phase[i].ns = saturating_add_u64(sum->phase[i].ns, row->phase[i].ns);
		sum->phase[i].slow = saturating_add_u64(sum->phase[i].slow, row->phase[i].slow);
	}
}

static int insert(struct gpu_job_rows *rows, size_t at, const struct gpu_job_row *row)
{
	struct gpu_job_row copy = *row;
	int err = growing_array_reserve((void **)&rows->rows, rows->count + 1, &rows->room,
	                                sizeof(*rows->rows), GPU_JOB_ROWS_MAX);

	if (err)
		return err == -EFBIG ? -ENOSPC : err;
	copy.driver = strdup(row->driver);
	copy.ring = strdup(row->ring);
	copy.class = strdup(row->class);
	if (!copy.driver || !copy.ring || !copy.class) {
		row_free(&copy);
		return -ENOMEM;
	}
	memmove(&rows->rows[at + 1], &rows->rows[at], (rows->count++ - at) * sizeof(*rows->rows));
	rows->rows[at] = copy;
	return 0;
}

int gpu_job_rows_add(struct gpu_job_rows *rows, const struct gpu_job_row *row)
{
	struct gpu_job_row given = *row;
	size_t at;

	given.driver = row->driver ? row->driver : "";
	given.ring = row->ring ? row->ring : "";
	given.class = row->class ? row->class : "";
	at = search_past(i, 0, rows->count, compare(&rows->rows[i], &given) < 0);
	if (at == rows->count || compare(&rows->rows[at], &given) != 0)
		return insert(rows, at, &given);
	add_row(&rows->rows[at], &given);
	return 0;
}

/* --- notes ------------------------------------------------------------------------------------------ */

/* "submit_ns" and the like. */
static const char *field_of(char name[32], unsigned int phase, const char *what)
{
	snprintf(name, 32, "%s_%s", phase_names[phase], what);
	return name;
}

static void write_phase(struct note_writer *writer, unsigned int phase, const struct gpu_job_times *times)
{
	char name[32];

	if (!times->jobs)
		return;
	note_writer_u64(writer, field_of(name, phase, "jobs"), times->jobs);
	note_writer_u64(writer, field_of(name, phase, "ns"), times->ns);
	note_writer_u64(writer, field_of(name, phase, "slow"), times->slow);
}

static int add_note(const struct gpu_job_row *row, struct profile *profile)
{
	struct note_writer writer;

	if (note_writer_begin(&writer, RECORD))
		return -ENOMEM;
	note_writer_text(&writer, "driver", row->driver);
	note_writer_text(&writer, "ring", row->ring);
	note_writer_text(&writer, "class", row->class);
	note_writer_u64(&writer, "jobs", row->jobs);
	note_writer_u64(&writer, "total_ns", row->total_ns);
	note_writer_u64(&writer, "p90_ns", row->p90_ns);
	note_writer_u64(&writer, "long_tail", row->long_tail);
	note_writer_u64(&writer, "faults", row->faults);
	for (unsigned int i = 0; i < GPU_JOB_PHASES; i++)
		write_phase(&writer, i, &row->phase[i]);
	return note_rows_add(profile, &writer);
}

int gpu_job_rows_to_notes(const struct gpu_job_rows *rows, struct profile *profile)
{
	int err = 0;

	for (size_t i = 0; i < rows->count && !err; i++)
		err = add_note(&rows->rows[i], profile);
	return err;
}

static int read_phase(const struct note_fields *fields, unsigned int phase, struct gpu_job_times *times)
{
	char name[32];
	int err = note_fields_u64(fields, field_of(name, phase, "jobs"), &times->jobs);

	if (err == -ENOENT)
		return 0;
	if (err || note_fields_u64(fields, field_of(name, phase, "ns"), &times->ns) ||
	    note_fields_u64(fields, field_of(name, phase, "slow"), &times->slow))
		return -EINVAL;
	return times->jobs ? 0 : -EINVAL;
}

/* The row's texts point into fields. */
static int read_row(const struct note_fields *fields, struct gpu_job_row *row)
{
	int err = 0;

	*row = (struct gpu_job_row){ .driver = note_fields_text(fields, "driver"),
		                     .ring = note_fields_text(fields, "ring"),
		                     .class = note_fields_text(fields, "class") };
	if (!row->driver || !row->ring || !row->class || note_fields_u64(fields, "jobs", &row->jobs) ||
	    note_fields_u64(fields, "total_ns", &row->total_ns) ||
	    note_fields_u64(fields, "p90_ns", &row->p90_ns) ||
	    note_fields_u64(fields, "long_tail", &row->long_tail) ||
	    note_fields_u64(fields, "faults", &row->faults))
		return -EINVAL;
	for (unsigned int i = 0; i < GPU_JOB_PHASES && !err; i++)
		err = read_phase(fields, i, &row->phase[i]);
	return err;
}

static int take_row(void *ctx, const struct note_fields *fields)
{
	struct gpu_job_row row;
	int err = read_row(fields, &row);

	return err ? err : gpu_job_rows_add(ctx, &row);
}

int gpu_job_rows_from_notes(struct gpu_job_rows *rows, const struct profile *profile, size_t *malformed)
{
	return note_rows_read(profile, RECORD, take_row, rows, malformed);
}
