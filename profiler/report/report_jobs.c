/* Finds processes that make the same steps side by side. */

#include "profiler/report/report_jobs.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/format/ledger_row.h"
#include "profiler/format/stamp.h"
#include "profiler/loaded/loaded_classes.h"
#include "profiler/loaded/loaded_profiles.h"
#include "profiler/report/report_words.h"
#include "profiler/top/top_processes.h"
#include "symbolizer/base/compare.h"

#define LEAST_NS     200000000 /* side by side; less is nothing */
#define THREADS_MOST 8         /* that make steps in one process, where it has no other tags to tell by */

struct maker {
	const struct loaded_class *row;
	uint64_t begin_ns, end_ns; /* within what was covered; it may have ended later */
	bool beside;
};

/* Processes in which one thread can have had all time under pushed tags, in their order. */
struct singles {
	const struct top_process **process;
	size_t n;
};

static int compare_rows(const struct ledger_row *a, const struct ledger_row *b)
{
	int order = compare_u64(a->pid, b->pid);

	return order ? order : compare_u64(a->start_ns, b->start_ns);
}

static int compare_singles(const void *left, const void *right)
{
	const struct top_process *const *a = left, *const *b = right;

	return compare_rows((*a)->row, (*b)->row);
}

static int compare_with_row(const void *key, const void *element)
{
	const struct top_process *const *single = element;

	return compare_rows(key, (*single)->row);
}

/* 0 or -ENOMEM. */
static int list_singles(struct singles *singles, const struct top_processes *processes)
{
	singles->process = malloc((processes->count + 1) * sizeof(struct top_process *));
	if (!singles->process)
		return -ENOMEM;
	for (singles->n = 0; singles->n < processes->count; singles->n++)
		singles->process[singles->n] = &processes->processes[singles->n];
	qsort(singles->process, singles->n, sizeof(struct top_process *), compare_singles);
	return 0;
}

/* When the process ended, at the earliest: one thread of it had so much. Without a booted_ns nobody knows when it began, and threads side by side may
 * pass for one (top_processes.h). */
static uint64_t earliest_end(const struct maker *maker, const struct singles *singles)
{
	const struct ledger_row *row = maker->row->worst;
	const struct top_process *const *single =
	        bsearch(row, singles->process, singles->n, sizeof(struct top_process *), compare_with_row);
	int64_t ns = single ? (*single)->ns : maker->row->wall_ns / THREADS_MOST;

	return maker->begin_ns + (ns > 0 ? (uint64_t)ns : 0);
}

/* A process that was forked under a step's tag has that one alone. */
static bool makes_steps(const struct loaded_class *row, const char *steps)
{
	return !row->base && row->worst && row->tags > 1 && !strcmp(row->worst->class, steps);
}

static size_t list_makers(struct maker *makers, const struct loaded_classes *table,
                          const struct singles *singles, const char *steps,
                          const struct stamp_coverage *covered)
{
	size_t n = 0;

	for (size_t i = 0; i < table->count; i++) {
		struct maker *maker = &makers[n];

		if (!makes_steps(&table->rows[i], steps))
			continue;
		*maker = (struct maker){ .row = &table->rows[i],
			                 .begin_ns = covered->booted_ns + table->rows[i].worst->start_ns };
		if (maker->begin_ns < covered->first_ns)
			maker->begin_ns = covered->first_ns;
		maker->end_ns = earliest_end(maker, singles);
		n++;
	}
	return n;
}

/* By rank, and by when they began. */
static int compare_begins(const void *left, const void *right)
{
	const struct maker *a = left, *b = right;
	int order = compare_u64(a->row->worst->rank_and_1, b->row->worst->rank_and_1);

	return order ? order : compare_u64(a->begin_ns, b->begin_ns);
}

/* Those that ran beside another come first, and of these the slowest. */
static int compare_speed(const void *left, const void *right)
{
	const struct maker *a = left, *b = right;
	double x = (double)a->row->wall_ns / (double)a->row->tags,
	       y = (double)b->row->wall_ns / (double)b->row->tags;

	return a->beside != b->beside ? b->beside - a->beside : (y > x) - (y < x);
}

/* Those of the same rank that began before an earlier one can have ended. */
static void mark_beside(struct maker *makers, size_t n)
{
	struct maker *longest = makers;

	for (size_t i = 1; i < n; i++) {
		struct maker *maker = &makers[i];
		bool same_rank = maker->row->worst->rank_and_1 == longest->row->worst->rank_and_1;

		if (same_rank && maker->begin_ns + LEAST_NS < longest->end_ns)
			maker->beside = longest->beside = true;
		if (!same_rank || maker->end_ns > longest->end_ns)
			longest = maker;
	}
}

static void find_beside(struct report_jobs *jobs, struct maker *makers, size_t n)
{
	uint32_t last_rank = 0;

	qsort(makers, n, sizeof(*makers), compare_begins);
	mark_beside(makers, n);
	for (size_t i = 0; i < n; i++) {
		uint32_t rank = makers[i].beside ? makers[i].row->worst->rank_and_1 : last_rank;

		jobs->n += makers[i].beside;
		jobs->ranks += rank != last_rank;
		last_rank = rank;
	}
	qsort(makers, n, sizeof(*makers), compare_speed);
	for (size_t i = 0; i < jobs->n && i < REPORT_JOBS_SHOWN; i++)
		jobs->job[jobs->shown++] = (struct report_job){ .process = makers[i].row->worst,
			                                        .steps = makers[i].row->tags,
			                                        .p50_ns = makers[i].row->p50_ns,
			                                        .p99_ns = makers[i].row->p99_ns };
}

/* 0 or -ENOMEM. */
static int find(struct report_jobs *jobs, const struct loaded_classes *table,
                const struct top_processes *processes, const char *steps,
                const struct stamp_coverage *covered)
{
	struct maker *makers = calloc(table->count + 1, sizeof(*makers));
	struct singles singles = { .process = NULL };
	int err = makers ? list_singles(&singles, processes) : -ENOMEM;

	if (!err)
		find_beside(jobs, makers, list_makers(makers, table, &singles, steps, covered));
	free(singles.process);
	free(makers);
	return err;
}

int report_jobs_find(struct report_jobs *jobs, const struct loaded_profiles *input, const char *steps)
{
	static const struct loaded_filter all;
	struct stamp_coverage covered = stamp_coverage(input->stamp);
	struct top_processes processes;
	struct loaded_classes table;
	int err;

	*jobs = (struct report_jobs){ .n = 0 };
	if (!steps || !covered.booted_ns)
		return 0; /* older recordings, and those of several hosts, do not say when processes began */
	err = loaded_classes_build(&table, input, &all, LOADED_LEVEL_PROCESS);
	if (err)
		return err;
	err = top_processes_build(&processes, input);
	if (!err) {
		err = find(jobs, &table, &processes, steps, &covered);
		top_processes_free(&processes);
	}
	loaded_classes_free(&table);
	return err;
}

void report_jobs_text(FILE *out, const struct report_jobs *jobs, const char *steps)
{
	char name[LEDGER_PROCESS_BYTES], p50[TEXT_DURATION_BYTES], p99[TEXT_DURATION_BYTES];

	fprintf(out, "%zu processes %s made %s, and may have done so at the same time: ", jobs->n,
	        jobs->ranks ? "of the same ranks" : "without a rank", steps);
	for (size_t i = 0; i < jobs->shown; i++)
		fprintf(out, "%s%s %zu times (p50 %s, p99 %s)", i ? ", " : "",
		        ledger_row_process(jobs->job[i].process, name), jobs->job[i].steps,
		        report_duration_text(p50, (double)jobs->job[i].p50_ns),
		        report_duration_text(p99, (double)jobs->job[i].p99_ns));
	if (jobs->n > jobs->shown)
		fprintf(out, " and %zu more", jobs->n - jobs->shown);
	fprintf(out,
	        ". %s, and all that is said here is of them together: record each job by itself (--pid, "
	        "--cgroup) "
	        "to tell them apart",
	        jobs->ranks ? "So there may be several jobs"
	                    : "Nothing recorded says whether they are one job");
}
