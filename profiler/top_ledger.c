#include "profiler/top_ledger.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/ledger_row.h"
#include "profiler/top_input.h"

/* Two columns go before the causes, two after them, one stands for causes that found no room. */
#define CAUSES_MAX (TOP_LEDGER_COLUMNS_MAX - 5)

static int compare_text(const void *left, const void *right)
{
	return strcmp(*(const char *const *)left, *(const char *const *)right);
}

static bool find_column(const struct top_ledger *table, const char *name, size_t *index)
{
	for (size_t i = 0; i < table->column_count; i++) {
		if (!strcmp(table->columns[i], name)) {
			*index = i;
			return true;
		}
	}
	return false;
}

static const char *column_name(const struct ledger_row *row)
{
	if (row->state == LEDGER_STALL && *row->cause)
		return row->cause;
	return ledger_state_name(row->state);
}

static void add_column(struct top_ledger *table, const char *name)
{
	table->columns[table->column_count++] = name;
}

/* The columns, in their order, for the rows that occur. */
static void make_columns(struct top_ledger *table, struct ledger *ledger)
{
	bool unobserved = false, others = false;
	size_t index;

	add_column(table, ledger_state_name(LEDGER_ONCPU));
	add_column(table, ledger_state_name(LEDGER_RUNQUEUE));
	for (size_t i = 0; i < ledger_count(ledger); i++) {
		const struct ledger_row *row = ledger_at(ledger, i);

		unobserved |= row->state == LEDGER_UNOBSERVED && row->ns;
		if (row->state != LEDGER_STALL || find_column(table, column_name(row), &index))
			continue;
		if (*row->cause && table->column_count < CAUSES_MAX + 2)
			add_column(table, row->cause);
		else
			others = true;
	}
	qsort(table->columns + 2, table->column_count - 2, sizeof(table->columns[0]), compare_text);
	if (others)
		add_column(table, ledger_state_name(LEDGER_STALL));
	add_column(table, ledger_state_name(LEDGER_BLOCKED));
	if (unobserved)
		add_column(table, ledger_state_name(LEDGER_UNOBSERVED));
}

static void add_to_row(const struct top_ledger *table, struct top_ledger_row *sum,
                       const struct ledger_row *row)
{
	size_t column;

	if (find_column(table, column_name(row), &column) ||
	    find_column(table, ledger_state_name(LEDGER_STALL), &column))
		sum->ns[column] += row->ns;
	sum->wall_ns += row->ns;
	if (row->state == LEDGER_STALL)
		sum->stalled_ns += row->ns;
}

static int compare_rows(const void *left, const void *right)
{
	const struct top_ledger_row *a = left, *b = right;

	if (a->stalled_ns != b->stalled_ns)
		return a->stalled_ns < b->stalled_ns ? 1 : -1;
	if (a->wall_ns != b->wall_ns)
		return a->wall_ns < b->wall_ns ? 1 : -1;
	return strcmp(a->tag, b->tag);
}

/* Ledger rows come sorted by tag, so those of a tag follow each other. */
static void add_rows(struct top_ledger *table, const struct top_input *input, const struct top_tags *tags,
                     const struct top_filter *filter)
{
	struct top_ledger_row *last = NULL;

	for (size_t i = 0; i < ledger_count(input->ledger); i++) {
		const struct ledger_row *row = ledger_at(input->ledger, i);

		if (!top_filter_row(filter, tags, row))
			continue;
		if (!last || strcmp(last->tag, row->tag)) {
			last = table->rows + table->row_count++;
			last->tag = row->tag;
		}
		add_to_row(table, last, row);
		add_to_row(table, &table->sum, row);
	}
}

struct process {
	uint32_t pid;
	uint64_t start_ns;
};

static int compare_processes(const void *left, const void *right)
{
	const struct process *a = left, *b = right;

	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

static int count_processes(struct top_ledger *table, const struct top_input *input,
                           const struct top_tags *tags, const struct top_filter *filter)
{
	size_t count = 0;
	struct process *seen = calloc(ledger_count(input->ledger) + 1, sizeof(*seen));

	if (!seen)
		return -ENOMEM;
	for (size_t i = 0; i < ledger_count(input->ledger); i++) {
		const struct ledger_row *row = ledger_at(input->ledger, i);

		if (top_filter_row(filter, tags, row))
			seen[count++] = (struct process){ .pid = row->pid, .start_ns = row->start_ns };
	}
	qsort(seen, count, sizeof(*seen), compare_processes);
	for (size_t i = 0; i < count; i++)
		table->processes += !i || compare_processes(&seen[i - 1], &seen[i]) != 0;
	free(seen);
	return 0;
}

int top_ledger_build(struct top_ledger *table, const struct top_input *input, const struct top_tags *tags,
                     const struct top_filter *filter)
{
	*table = (struct top_ledger){ .sum = { .tag = "" } };
	if (ledger_count(input->ledger) && !ledger_at(input->ledger, 0))
		return -ENOMEM;
	table->rows = calloc(ledger_count(input->ledger) + 1, sizeof(*table->rows));
	if (!table->rows)
		return -ENOMEM;
	make_columns(table, input->ledger);
	add_rows(table, input, tags, filter);
	qsort(table->rows, table->row_count, sizeof(*table->rows), compare_rows);
	if (!count_processes(table, input, tags, filter))
		return 0;
	top_ledger_free(table);
	return -ENOMEM;
}

void top_ledger_free(struct top_ledger *table)
{
	free(table->rows);
	*table = (struct top_ledger){ .row_count = 0 };
}
