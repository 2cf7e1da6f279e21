/* Sorts and prints what became of GPUs' jobs. */

#include "profiler/top/top_gpu_jobs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/format/json_writer.h"
#include "profiler/format/text_cells.h"
#include "profiler/loaded/loaded_profiles.h"

#define NAME_COLUMNS 40
#define NO_TAG       "(no tag)"

/* --- the rows ------------------------------------------------------------------------------------------------ */

static int compare_texts(const struct gpu_job_row *a, const struct gpu_job_row *b)
{
	int order = strcmp(a->driver, b->driver);

	order = order ? order : strcmp(a->ring, b->ring);
	return order ? order : strcmp(a->class, b->class);
}

static int compare(const void *left, const void *right)
{
	const struct gpu_job_row *a = *(const struct gpu_job_row *const *)left;
	const struct gpu_job_row *b = *(const struct gpu_job_row *const *)right;

	if (!*a->class != !*b->class)
		return *a->class ? -1 : 1;
	if (a->total_ns != b->total_ns)
		return a->total_ns > b->total_ns ? -1 : 1;
	return compare_texts(a, b);
}

int top_gpu_jobs_build(struct top_gpu_jobs *jobs, const struct loaded_profiles *input)
{
	size_t n = input->gpu_jobs ? gpu_job_rows_count(input->gpu_jobs) : 0;

	*jobs = (struct top_gpu_jobs){ .rows = calloc(n + 1, sizeof(*jobs->rows)) };
	if (!jobs->rows)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		jobs->rows[jobs->count++] = gpu_job_rows_at(input->gpu_jobs, i);
	qsort(jobs->rows, jobs->count, sizeof(*jobs->rows), compare);
	return 0;
}

void top_gpu_jobs_free(struct top_gpu_jobs *jobs)
{
	free(jobs->rows);
	*jobs = (struct top_gpu_jobs){ .count = 0 };
}

/* --- text ---------------------------------------------------------------------------------------------------- */

static const char *class_text(const struct gpu_job_row *row)
{
	return *row->class ? row->class : NO_TAG;
}

static void pad(FILE *out, size_t used, size_t columns)
{
	fprintf(out, "%*s", used < columns ? (int)(columns - used) + 2 : 2, "");
}

static uint64_t mean(uint64_t sum, uint64_t n)
{
	return n ? sum / n : 0;
}

static void write_phases(FILE *out, const struct gpu_job_row *row)
{
	char text[TEXT_DURATION_BYTES];
	const char *before = ": ";
	bool all = true;

	for (unsigned int i = 0; i < GPU_JOB_PHASES; i++) {
		const struct gpu_job_times *times = &row->phase[i];

		all = all && (times->jobs || i == GPU_JOB_WAIT);
		if (!times->jobs)
			continue;
		fprintf(out, "%s%s %s", before, text_short_duration(text, mean(times->ns, times->jobs)),
		        gpu_job_phase_name(i));
		before = ", ";
	}
	if (!all)
		fprintf(out, "%sthe rest not told apart", before);
}

static void write_slow(FILE *out, const struct gpu_job_row *row)
{
	const struct {
		uint64_t jobs;
		const char *what;
	} slow[] = {
		{ row->phase[GPU_JOB_SUBMIT].slow, "slow to submit" },
		{ row->phase[GPU_JOB_QUEUE].slow, "long in the queue" },
		{ row->phase[GPU_JOB_WAIT].slow, "long behind other jobs" },
		{ row->long_tail, "in the long tail" },
		{ row->faults, "failed" },
	};
	const char *before = "; ";

	for (size_t i = 0; i < sizeof(slow) / sizeof(*slow); i++) {
		if (!slow[i].jobs)
			continue;
		fprintf(out, "%s%" PRIu64 " %s", before, slow[i].jobs, slow[i].what);
		before = ", ";
	}
}

static void write_row(FILE *out, const struct gpu_job_row *row, size_t ring_columns, size_t class_columns)
{
	size_t ring = text_columns(row->driver) + 1 + text_columns(row->ring);
	char text[TEXT_DURATION_BYTES];

	fprintf(out, "  %s %s", row->driver, row->ring);
	pad(out, ring, ring_columns);
	text_print_clean(out, class_text(row), NAME_COLUMNS);
	pad(out, text_columns(class_text(row)), class_columns);
	fprintf(out, "%" PRIu64 " in %s", row->jobs,
	        text_short_duration(text, mean(row->total_ns, row->jobs)));
	write_phases(out, row);
	write_slow(out, row);
}

/* Without memory the row is left out. */
static void print_row(FILE *out, const struct gpu_job_row *row, size_t ring_columns, size_t class_columns,
                      size_t columns)
{
	char *line = NULL;
	size_t size;
	FILE *memory = open_memstream(&line, &size);

	if (!memory)
		return;
	write_row(memory, row, ring_columns, class_columns);
	if (!fclose(memory)) {
		text_print_clean(out, line, columns);
		fputc('\n', out);
	}
	free(line);
}

static size_t larger(size_t a, size_t b)
{
	return a > b ? a : b;
}

size_t top_text_gpu_jobs(FILE *out, const struct top_gpu_jobs *jobs, size_t limit, size_t columns)
{
	size_t n = limit && limit < jobs->count ? limit : jobs->count, ring = 0, class = 0, i;

	for (i = 0; i < n; i++) {
		ring = larger(ring,
		              text_columns(jobs->rows[i]->driver) + 1 + text_columns(jobs->rows[i]->ring));
		class = larger(class, text_columns(class_text(jobs->rows[i])));
	}
	if (!n)
		return 0;
	fputs("Whose jobs the GPUs did, and how long one took:\n", out);
	for (i = 0; i < n; i++)
		print_row(out, jobs->rows[i], ring, class < NAME_COLUMNS ? class : NAME_COLUMNS, columns);
	return n + 1;
}

/* --- JSON ---------------------------------------------------------------------------------------------------- */

static void json_phase(struct json_writer *json, unsigned int phase, const struct gpu_job_times *times)
{
	json_key(json, gpu_job_phase_name(phase));
	if (!times->jobs) {
		json_string(json, NULL);
		return;
	}
	json_object_begin(json);
	json_member_u64(json, "jobs", times->jobs);
	json_member_u64(json, "ns", times->ns);
	if (phase != GPU_JOB_RUN)
		json_member_u64(json, "slow", times->slow);
	json_object_end(json);
}

void top_json_gpu_jobs(struct json_writer *json, const struct loaded_profiles *input)
{
	size_t n = input->gpu_jobs ? gpu_job_rows_count(input->gpu_jobs) : 0;

	json_key(json, "gpu_jobs");
	json_array_begin(json);
	for (size_t i = 0; i < n; i++) {
		const struct gpu_job_row *row = gpu_job_rows_at(input->gpu_jobs, i);

		json_object_begin(json);
		json_member_string(json, "driver", row->driver);
		json_member_string(json, "ring", row->ring);
		json_member_string(json, "class", *row->class ? row->class : NULL);
		json_member_u64(json, "jobs", row->jobs);
		json_member_u64(json, "total_ns", row->total_ns);
		json_member_u64(json, "p90_ns", row->p90_ns);
		json_member_u64(json, "long_tail", row->long_tail);
		json_member_u64(json, "faults", row->faults);
		json_key(json, "preempted");
		json_string(json, NULL); /* no hook tells */
		for (unsigned int phase = 0; phase < GPU_JOB_PHASES; phase++)
			json_phase(json, phase, &row->phase[phase]);
		json_object_end(json);
	}
	json_array_end(json);
}
