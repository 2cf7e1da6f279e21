/* Prints the table of classes: times, shares, and lengths of steps. */

#include "profiler/top/top_class_text.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "profiler/format/ledger_row.h"
#include "profiler/format/saturating.h"
#include "profiler/format/stamp.h"
#include "profiler/format/text_cells.h"

#define NAME_WIDTH_MIN 12
#define NAME_WIDTH_MAX 40 /* unless the times leave more room */
#define CELL_WIDTH     9
#define THREADS_WIDTH  9
#define STEPS_WIDTH    (THREADS_WIDTH + 3 * CELL_WIDTH + 2) /* before the worst one's name */
#define ID_WIDTH_MAX   20

static size_t bounded(size_t count, size_t limit)
{
	return limit && limit < count ? limit : count;
}

static const char *plural(size_t n)
{
	return n == 1 ? "" : "s";
}

static const char *plural_es(size_t n)
{
	return n == 1 ? "" : "es";
}

static int cell_width(const char *name)
{
	size_t length = text_columns(name) + 2;

	return (int)(length < CELL_WIDTH ? CELL_WIDTH : length);
}

static void print_ns(FILE *out, int width, int64_t ns)
{
	char text[TEXT_DURATION_BYTES], signed_text[TEXT_DURATION_BYTES + 1];

	snprintf(signed_text, sizeof(signed_text), "%s%s", ns < 0 ? "-" : "",
	         text_short_duration(text, ns < 0 ? -(uint64_t)ns : (uint64_t)ns));
	fprintf(out, "%*s", width, ns ? signed_text : "-");
}

/* --- names ------------------------------------------------------------------------------------------------ */

static void print_id(FILE *out, uint64_t id)
{
	/* A small id is a counter, printed in decimal; a large one is a random identifier, printed in hex. */
	if (id >> 32)
		fprintf(out, " id %016" PRIx64, id);
	else if (id)
		fprintf(out, " id=%" PRIu64, id);
}

static size_t name_columns(const struct loaded_class *row)
{
	return text_columns(row->name) + (row->id >> 32 ? 20 : row->id ? 14 : 0);
}

static void print_name(FILE *out, const struct loaded_class *row, size_t width)
{
	size_t id = name_columns(row) - text_columns(row->name), room = width - id;
	size_t used = text_columns(row->name) < room ? text_columns(row->name) : room;
	char text[32] = "";
	FILE *memory = fmemopen(text, sizeof(text), "w");

	text_print_clean(out, row->name, room);
	if (memory) {
		print_id(memory, row->id);
		fclose(memory);
	}
	fprintf(out, "%-*s", (int)(width - used), text);
}

/* --- columns that fit ------------------------------------------------------------------------------------- */

static int64_t column_sum(const struct loaded_classes *table, size_t column)
{
	int64_t sum = 0;

	for (size_t i = 0; i < table->count; i++)
		sum = saturating_add(sum, table->rows[i].ns[column]);
	return sum;
}

static size_t table_width(const struct loaded_classes *table, size_t names)
{
	size_t width = names + THREADS_WIDTH + CELL_WIDTH;

	for (size_t i = 0; i < table->column_count; i++)
		width += (size_t)cell_width(table->columns[i]);
	return width;
}

static size_t name_width(const struct loaded_classes *table, size_t shown, size_t columns)
{
	size_t width = NAME_WIDTH_MIN, rest = STEPS_WIDTH + NAME_WIDTH_MIN + ID_WIDTH_MAX,
	       max = NAME_WIDTH_MAX;

	if (table_width(table, 0) > rest)
		rest = table_width(table, 0);
	if (columns > rest + max)
		max = columns - rest;
	for (size_t i = 0; i < shown; i++)
		if (name_columns(&table->rows[i]) > width)
			width = name_columns(&table->rows[i]);
	return !columns || width < max ? width : max;
}

static bool is_cause(const char *column)
{
	for (unsigned int state = 0; state < LEDGER_STATES; state++)
		if (!strcmp(column, ledger_state_name(state)))
			return false;
	return strcmp(column, LOADED_UNDECIDED) != 0;
}

/* Adds a column to another and removes it. */
static void join_column(struct loaded_classes *table, size_t from, size_t to)
{
	size_t left = table->column_count - from - 1;

	for (size_t i = 0; i < table->count; i++) {
		int64_t *ns = table->rows[i].ns;

		ns[to] = saturating_add(ns[to], ns[from]);
		memmove(ns + from, ns + from + 1, left * sizeof(*ns));
	}
	memmove(table->columns + from, table->columns + from + 1, left * sizeof(table->columns[0]));
	table->column_count--;
}

/* The cause with the least time, and the column of the others; false: there are less than two of both. */
static bool find_least(const struct loaded_classes *table, size_t *least, size_t *others)
{
	int64_t least_ns = INT64_MAX;
	size_t causes = 0;

	*least = 0;
	*others = SIZE_MAX;
	for (size_t i = 0; i < table->column_count; i++) {
		if (!strcmp(table->columns[i], ledger_state_name(LEDGER_STALL)))
			*others = i;
		if (!is_cause(table->columns[i]))
			continue;
		causes++;
		if (column_sum(table, i) < least_ns) {
			least_ns = column_sum(table, i);
			*least = i;
		}
	}
	return causes + (*others != SIZE_MAX) > 1 && causes;
}

/* Makes the table as narrow as the terminal: sums the least causes as "stall". */
static void fit_columns(struct loaded_classes *table, size_t names, size_t columns)
{
	size_t least, others;

	while (columns && table_width(table, names) > columns && find_least(table, &least, &others)) {
		if (others == SIZE_MAX) {
			table->columns[least] = ledger_state_name(LEDGER_STALL);
			find_least(table, &least, &others);
		}
		join_column(table, least, others);
	}
}

/* --- the table of times ----------------------------------------------------------------------------------- */

static void print_head(FILE *out, const struct loaded_classes *table, size_t names)
{
	fprintf(out, "%*s%*s%*s", (int)names, "", THREADS_WIDTH, "threads", CELL_WIDTH, "wall");
	for (size_t i = 0; i < table->column_count; i++) {
		const char *cause = table->columns[i];

		fprintf(out, "%*s", cell_width(cause) - (int)text_columns(cause), "");
		text_print_clean(out, cause, 0);
	}
	fputc('\n', out);
}

/* Prints each share below its time; nothing is written behind the last one. */
static void print_shares(FILE *out, const struct loaded_classes *table, const struct loaded_class *row,
                         int skipped)
{
	for (size_t i = 0; i < table->column_count; i++) {
		skipped += cell_width(table->columns[i]);
		if (!row->ns[i] || row->wall_ns <= 0)
			continue;
		fprintf(out, "%*.1f %%", skipped - 2, 100 * (double)row->ns[i] / (double)row->wall_ns);
		skipped = 0;
	}
}

static void print_row(FILE *out, const struct loaded_classes *table, const struct loaded_class *row,
                      size_t names, uint64_t covered_ns)
{
	print_name(out, row, names);
	if (covered_ns)
		fprintf(out, "%*.2f", THREADS_WIDTH, (double)row->wall_ns / (double)covered_ns);
	else
		fprintf(out, "%*s", THREADS_WIDTH, "-");
	print_ns(out, CELL_WIDTH, row->wall_ns);
	for (size_t i = 0; i < table->column_count; i++)
		print_ns(out, cell_width(table->columns[i]), row->ns[i]);
	fputc('\n', out);
	print_shares(out, table, row, (int)names + THREADS_WIDTH + CELL_WIDTH);
	fputc('\n', out);
}

static size_t print_times(FILE *out, const struct loaded_classes *table,
                          const struct stamp_coverage *coverage, size_t shown, size_t names)
{
	size_t lines = 2 + 2 * shown;

	print_head(out, table, names);
	for (size_t i = 0; i < shown; i++)
		print_row(out, table, &table->rows[i], names, stamp_span_ns(coverage));
	if (shown == table->count)
		return lines - 1;
	fprintf(out, "and %zu more, which waited less (-n 0 shows all)\n", table->count - shown);
	return lines;
}

/* --- the table of steps ----------------------------------------------------------------------------------- */

static bool has_steps(const struct loaded_class *row)
{
	return !row->base && row->tags > 1 && row->worst;
}

/* Room for the name of the worst before its id; 0: no bound. */
static size_t worst_columns(const struct ledger_row *worst, size_t columns, size_t used)
{
	used += worst->id >> 32 ? 20 : worst->id ? 14 : 0;
	return !columns ? 0 : columns > used + NAME_WIDTH_MIN ? columns - used : NAME_WIDTH_MIN;
}

static size_t print_steps(FILE *out, const struct loaded_classes *table, size_t shown, size_t names,
                          size_t columns)
{
	size_t lines = 0, used = names + STEPS_WIDTH;

	for (size_t i = 0; i < shown; i++) {
		const struct loaded_class *row = &table->rows[i];

		if (!has_steps(row))
			continue;
		if (!lines)
			fprintf(out, "\n%*s%*s%*s%*s%*s\n", (int)names, "", THREADS_WIDTH, "tags", CELL_WIDTH,
			        "p50", CELL_WIDTH, "p99", CELL_WIDTH, "worst");
		lines += lines ? 1 : 3;
		print_name(out, row, names);
		fprintf(out, "%*zu", THREADS_WIDTH, row->tags);
		print_ns(out, CELL_WIDTH, row->p50_ns);
		print_ns(out, CELL_WIDTH, row->p99_ns);
		print_ns(out, CELL_WIDTH, row->worst_ns);
		fputs("  ", out);
		text_print_clean(out, row->worst->tag, worst_columns(row->worst, columns, used));
		print_id(out, row->worst->id);
		fputc('\n', out);
	}
	return lines;
}

static void print_title(FILE *out, const struct loaded_classes *table, const struct stamp_coverage *coverage)
{
	char text[TEXT_DURATION_BYTES];

	fputs("Where the time went: ", out);
	if (coverage->windows)
		fprintf(out, "%s in %" PRIu64 " window%s, ", text_short_duration(text, coverage->covered_ns),
		        coverage->windows, plural(coverage->windows));
	fprintf(out,
	        "%zu process%s. A tag's times add up its\n"
	        "threads (so many at a time); below each is its share of the tag's wall time.\n\n",
	        table->processes, plural_es(table->processes));
}

size_t top_text_classes(FILE *out, struct loaded_classes *table, const struct stamp_coverage *coverage,
                        size_t limit, size_t columns)
{
	size_t shown = bounded(table->count, limit), names = name_width(table, shown, columns), lines = 3;

	print_title(out, table, coverage);
	fit_columns(table, names, columns);
	lines += print_times(out, table, coverage, shown, names);
	return lines + print_steps(out, table, shown, names, columns);
}
