/* Computes what share of a process's tagged time each of its classes has. */

#include "profiler/top/top_processes.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/format/ledger_row.h"
#include "profiler/format/saturating.h"
#include "profiler/format/stamp.h"
#include "profiler/format/text_cells.h"
#include "profiler/loaded/loaded_profiles.h"
#include "profiler/top/top_parallel.h"
#include "symbolizer/base/compare.h"

#define PROCESSES_NAMED 3
#define CLASSES_NAMED   6
#define NAME_COLUMNS    40
#define PART_BYTES      (4 * NAME_COLUMNS + 32)

/* A thread that is under tags all the time has as much as was covered, but for 1 / COVERED_SLACK of it at the ends
 * of windows. */
#define COVERED_SLACK 100

/* --- the sums --------------------------------------------------------------------------------------------- */

static int compare_processes(const struct ledger_row *a, const struct ledger_row *b)
{
	int order = compare_u64(a->pid, b->pid);

	return order ? order : compare_u64(a->start_ns, b->start_ns);
}

static int compare_keys(const void *left, const void *right)
{
	const struct top_process_class *a = left, *b = right;
	int order = compare_processes(a->row, b->row);

	return order ? order : strcmp(a->name, b->name);
}

static int compare_classes(const void *left, const void *right)
{
	const struct top_process_class *a = left, *b = right;

	return a->ns != b->ns ? (a->ns < b->ns ? 1 : -1) : strcmp(a->name, b->name);
}

static int compare_sums(const void *left, const void *right)
{
	const struct top_process *a = left, *b = right;

	return a->ns != b->ns ? (a->ns < b->ns ? 1 : -1) : compare_processes(a->row, b->row);
}

/* The rows of pushed tags, each by itself. */
static size_t take_rows(struct top_process_class *classes, struct ledger *ledger)
{
	size_t n = 0;

	for (size_t i = 0; i < ledger_count(ledger); i++) {
		const struct ledger_row *row = ledger_at(ledger, i);

		if (row && !row->base)
			classes[n++] = (struct top_process_class){
				.name = *row->class ? row->class : row->tag, .ns = row->ns, .row = row
			};
	}
	return n;
}

/* Sorts, and sums those of one class in one process; returns how many are left. */
static size_t sum_rows(struct top_process_class *classes, size_t n)
{
	size_t end = 0;

	qsort(classes, n, sizeof(*classes), compare_keys);
	for (size_t i = 0; i < n; i++) {
		if (end && !compare_keys(&classes[end - 1], &classes[i]))
			classes[end - 1].ns = saturating_add(classes[end - 1].ns, classes[i].ns);
		else
			classes[end++] = classes[i];
	}
	return end;
}

/* A process that spends at most 1 / BESIDE_PARTS of its time beside its longest class counts as having one class
 * only, as a loader's worker that was forked under a tag. */
#define BESIDE_PARTS 100

/* The classes of one process, if one thread can have had all of them. */
static void take_process(struct top_processes *processes, struct top_process_class *classes, size_t n,
                         uint64_t covered_ns)
{
	struct top_process process = { .row = classes->row, .classes = classes };

	qsort(classes, n, sizeof(*classes), compare_classes);
	for (; process.count < n && classes[process.count].ns > 0; process.count++)
		process.ns = saturating_add(process.ns, classes[process.count].ns);
	if (process.count > 1 && process.ns - classes->ns > process.ns / BESIDE_PARTS &&
	    (uint64_t)process.ns <= covered_ns + covered_ns / COVERED_SLACK)
		processes->processes[processes->count++] = process;
}

static bool has_class(const void *context, const char *class)
{
	const struct top_process *process = context;

	for (size_t i = 0; i < process->count; i++)
		if (!strcmp(process->classes[i].name, class))
			return true;
	return false;
}

/* What the other processes with one of its classes have to do with it. `all` has the classes of a process one behind the other. `booted_ns`:
 * as in the stamp. */
static void look_at_sharers(struct top_parallel *time, const struct top_process *process,
                            const struct top_process_class *all, size_t n, uint64_t booted_ns)
{
	uint64_t start_ns = process->row->start_ns;
	const struct ledger_row *last = NULL;

	time->begin_ns = booted_ns ? booted_ns + start_ns : 0;
	for (size_t i = 0; i < n; i++) {
		const struct ledger_row *row = all[i].row;
		uint64_t begin_ns = booted_ns ? booted_ns + row->start_ns : 0;

		if (!has_class(process, all[i].name))
			continue;
		if (!last || compare_processes(last, row) != 0)
			time->n_processes++;
		last = row;
		if (row->start_ns <= start_ns && compare_processes(row, process->row) != 0)
			time->older_ns = saturating_add(time->older_ns, all[i].ns);
		if (row->start_ns > start_ns && (!time->next_ns || begin_ns < time->next_ns))
			time->next_ns = begin_ns;
	}
}

/* What is looked at in the timeline is bounded, however many processes there are: the others stay. */
#define LOOKED_AT 256

/* Leaves out those of which several threads were under tags at once. */
static void drop_parallel(struct top_processes *processes, const struct timeline *timeline, size_t n,
                          uint64_t booted_ns)
{
	size_t kept = 0;

	for (size_t i = 0; i < processes->count; i++) {
		struct top_process *process = &processes->processes[i];
		struct top_parallel time = { .has_class = has_class, .process = process, .ns = process->ns };

		if (i < LOOKED_AT)
			look_at_sharers(&time, process, processes->memory, n, booted_ns);
		if (i >= LOOKED_AT || !top_parallel(timeline, &time))
			processes->processes[kept++] = *process;
	}
	processes->count = kept;
}

int top_processes_build(struct top_processes *processes, const struct loaded_profiles *input)
{
	struct stamp_coverage covered = stamp_coverage(input->stamp);
	size_t n = ledger_count(input->ledger), first = 0, end;

	*processes = (struct top_processes){ .processes = calloc(n + 1, sizeof(struct top_process)),
		                             .memory = calloc(n + 1, sizeof(struct top_process_class)) };
	if (!processes->processes || !processes->memory || (n && !ledger_at(input->ledger, 0))) {
		top_processes_free(processes);
		return -ENOMEM;
	}
	n = sum_rows(processes->memory, take_rows(processes->memory, input->ledger));
	for (; first < n; first = end) {
		for (end = first + 1;
		     end < n && !compare_processes(processes->memory[first].row, processes->memory[end].row);)
			end++;
		take_process(processes, processes->memory + first, end - first, covered.covered_ns);
	}
	qsort(processes->processes, processes->count, sizeof(*processes->processes), compare_sums);
	drop_parallel(processes, input->timeline, n, covered.booted_ns);
	return 0;
}

void top_processes_free(struct top_processes *processes)
{
	free(processes->processes);
	free(processes->memory);
	*processes = (struct top_processes){ .count = 0 };
}

bool top_processes_have(const struct top_processes *processes, const char *class)
{
	for (size_t i = 0; processes && i < processes->count; i++)
		if (has_class(&processes->processes[i], class))
			return true;
	return false;
}

/* --- the sentences ---------------------------------------------------------------------------------------- */

/* A text that goes on in the next line, indented, where it does not fit. */
struct paragraph {
	FILE *out;
	size_t columns, used, lines;
};

static void print_part(struct paragraph *paragraph, const char *part)
{
	size_t length = text_columns(part);

	if (paragraph->used && paragraph->columns && paragraph->used + 1 + length > paragraph->columns) {
		fputs("\n ", paragraph->out);
		paragraph->used = 1;
		paragraph->lines++;
	}
	fprintf(paragraph->out, "%s%s", paragraph->used ? " " : "", part);
	paragraph->used += length + (paragraph->used != 0);
}

/* A name and its share, cleaned and cut. */
static void print_share(struct paragraph *paragraph, const char *name, int64_t ns, int64_t whole_ns, char end)
{
	char part[PART_BYTES];
	FILE *memory = fmemopen(part, sizeof(part), "w");

	if (!memory)
		return;
	text_print_clean(memory, name, NAME_COLUMNS);
	fprintf(memory, " %.1f %%%c", 100 * (double)ns / (double)whole_ns, end);
	if (!fclose(memory))
		print_part(paragraph, part);
}

static size_t print_process(FILE *out, const struct top_process *process, size_t columns)
{
	struct paragraph paragraph = { .out = out, .columns = columns, .lines = 1 };
	char text[128], amount[TEXT_DURATION_BYTES];
	int64_t left = process->ns;

	snprintf(text, sizeof(text), "Of the %s under tags in process %u, one thread's worth:",
	         text_short_duration(amount, (uint64_t)process->ns), process->row->pid);
	print_part(&paragraph, text);
	for (size_t i = 0; i < process->count && i < CLASSES_NAMED; i++) {
		const struct top_process_class *class = &process->classes[i];

		left -= class->ns;
		print_share(&paragraph, class->name, class->ns, process->ns,
		            i + 1 < process->count ? ',' : '.');
	}
	if (process->count > CLASSES_NAMED)
		print_share(&paragraph, "and others", left, process->ns, '.');
	fputc('\n', out);
	return paragraph.lines;
}

size_t top_text_processes(FILE *out, const struct top_processes *processes, size_t columns)
{
	size_t lines = 0;

	for (size_t i = 0; i < processes->count && i < PROCESSES_NAMED; i++)
		lines += print_process(out, &processes->processes[i], columns);
	if (processes->count > PROCESSES_NAMED) {
		fprintf(out, "And so in %zu more: --json.\n", processes->count - PROCESSES_NAMED);
		lines++;
	}
	return lines;
}
