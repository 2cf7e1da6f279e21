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

#define MORE_THAN_ONE 1.1 /* times what was covered: more than two processes one after another can have had */

struct maker {
	const struct loaded_class *row;
	double ns; /* of one thread of it */
	bool beside;
};

/* Processes in which one thread can have had all time under pushed tags, in their order. */
struct singles {
	const struct top_process **process;
	size_t n;
};

static int compare_rows(const struct ledger_row *a, const struct ledger_row *b)
{
	int order = (a->pid > b->pid) - (a->pid < b->pid);

	return order ? order : (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
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

/* Time of one thread of it: under all of its tags, or, without other threads, under the steps'. 0: it is not known, as several threads make steps. */
static double time_of(const struct loaded_class *row, const struct singles *singles,
                      const struct stamp_coverage *covered)
{
	const struct top_process *const *single = bsearch(row->worst, singles->process, singles->n,
	                                                  sizeof(struct top_process *), compare_with_row);
	uint64_t begin_ns = covered->booted_ns ? covered->booted_ns + row->worst->start_ns : 0, life_ns;

	/* Without knowing when processes began, threads side by side may pass for one (top_processes.h). */
	if (single && covered->booted_ns)
		return (double)(*single)->ns;
	begin_ns = begin_ns > covered->first_ns ? begin_ns : covered->first_ns;
	life_ns = begin_ns < covered->last_ns ? covered->last_ns - begin_ns : 0;
	return (double)row->wall_ns <= MORE_THAN_ONE * (double)life_ns ? (double)row->wall_ns : 0;
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
	double most = (double)(covered->last_ns - covered->first_ns);
	size_t n = 0;

	for (size_t i = 0; i < table->count; i++) {
		double ns;

		if (!makes_steps(&table->rows[i], steps))
			continue;
		ns = time_of(&table->rows[i], singles, covered);
		if (ns <= 0)
			continue;
		makers[n++] = (struct maker){ .row = &table->rows[i], .ns = ns < most ? ns : most };
	}
	return n;
}

static int compare_ranks(const void *left, const void *right)
{
	const struct maker *a = left, *b = right;
	uint32_t x = a->row->worst->rank_and_1, y = b->row->worst->rank_and_1;

	return (x > y) - (x < y);
}

/* Those that ran beside another come first, and of these the slowest. */
static int compare_speed(const void *left, const void *right)
{
	const struct maker *a = left, *b = right;
	double x = (double)a->row->wall_ns / (double)a->row->tags,
	       y = (double)b->row->wall_ns / (double)b->row->tags;

	return a->beside != b->beside ? b->beside - a->beside : (y > x) - (y < x);
}

static void find_beside(struct report_jobs *jobs, struct maker *makers, size_t n, double covered_ns)
{
	size_t end;

	qsort(makers, n, sizeof(*makers), compare_ranks);
	for (size_t i = 0; i < n; i = end) {
		double ns = 0;
		bool beside;

		for (end = i; end < n && !compare_ranks(&makers[i], &makers[end]); end++)
			ns += makers[end].ns;
		beside = end > i + 1 && ns > MORE_THAN_ONE * covered_ns;
		for (size_t k = i; k < end; k++)
			makers[k].beside = beside;
		jobs->n += beside ? end - i : 0;
		jobs->ranks += beside && makers[i].row->worst->rank_and_1;
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
		find_beside(jobs, makers, list_makers(makers, table, &singles, steps, covered),
		            (double)(covered->last_ns - covered->first_ns));
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
	if (!steps || !covered.windows)
		return 0;
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

	fprintf(out, "%zu processes %s made %s, some of them at the same time: ", jobs->n,
	        jobs->ranks ? "of the same ranks" : "without a rank", steps);
	for (size_t i = 0; i < jobs->shown; i++)
		fprintf(out, "%s%s %zu times (p50 %s, p99 %s)", i ? ", " : "",
		        ledger_row_process(jobs->job[i].process, name), jobs->job[i].steps,
		        report_duration_text(p50, (double)jobs->job[i].p50_ns),
		        report_duration_text(p99, (double)jobs->job[i].p99_ns));
	if (jobs->n > jobs->shown)
		fprintf(out, " and %zu others", jobs->n - jobs->shown);
	fprintf(out,
	        ". %s, and all that is said here is of them together: record each job by itself (--pid, "
	        "--cgroup) "
	        "to tell them apart",
	        jobs->ranks ? "So there were several jobs"
	                    : "Nothing recorded says whether they are one job");
}
