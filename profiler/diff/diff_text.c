/* A comparison as text for people. */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "profiler/diff/diff_result.h"
#include "profiler/diff/diff_cells.h"
#include "profiler/diff/diff_doubt.h"
#include "profiler/diff/diff_print.h"
#include "profiler/format/text_cells.h"

#define NUMBER_COLUMNS  11
#define BOUNDS_COLUMNS  24
#define VERDICT_COLUMNS 13

/* In the sentence before the table. */
#define NAMED         3
#define NAMED_COLUMNS 80

const char *diff_verdict(const struct diff *diff)
{
	enum diff_verdict worst = diff->total.verdict;
	const struct diff_table *table = &diff->table[diff->task->by];

	if (diff->refused)
		return "refused";
	for (size_t i = 0; i < table->count; i++)
		if (table->rows[i]->verdict > worst)
			worst = table->rows[i]->verdict;
	for (size_t i = 0; i < diff->finding_count; i++)
		if (diff->findings[i].rule->grows && diff->findings[i].outcome == DIFF_FAILED)
			worst = DIFF_WORSE;
	if (worst != DIFF_WORSE && diff_status(diff) == 2)
		return "cannot be judged";
	return diff_verdict_name(worst == DIFF_SMALL ? DIFF_NOISE : worst);
}

const char *diff_overlap_text(char text[DIFF_OVERLAP_BYTES], const struct diff_overlap_row *row)
{
	double caused = row->together_ns - row->expected_ns;
	char part[TEXT_DURATION_BYTES], whole[TEXT_DURATION_BYTES], low[TEXT_DURATION_BYTES],
	        high[TEXT_DURATION_BYTES];
	size_t used = (size_t)snprintf(text, DIFF_OVERLAP_BYTES, "%.100s's %.60s%s%.60s: ", row->class,
	                               row->stall, *row->device ? " on " : "", row->device);

	text_computed_duration(whole, row->whole_ns);
	if (!row->judged) {
		snprintf(text + used, DIFF_OVERLAP_BYTES - used,
		         "%s, all of it at the same time, so nothing to compare with", whole);
		return text;
	}
	if (row->low_ns <= 0) {
		snprintf(text + used, DIFF_OVERLAP_BYTES - used,
		         "%s, of which what came at the same time is within noise", whole);
		return text;
	}
	snprintf(text + used, DIFF_OVERLAP_BYTES - used, "%s of %s, %.1f %% (%s to %s)",
	         text_computed_duration(part, caused), whole, 100 * caused / row->whole_ns,
	         text_computed_duration(low, row->low_ns), text_computed_duration(high, row->high_ns));
	return text;
}

/* --- the table -------------------------------------------------------------------------------------------- */

static void print_cell(FILE *out, const char *text, int columns)
{
	fprintf(out, " %*s", columns - 1, text);
}

static void print_row(FILE *out, const struct diff *diff, const struct diff_row *row, size_t columns)
{
	size_t used = 4 * NUMBER_COLUMNS + BOUNDS_COLUMNS + VERDICT_COLUMNS + 4;
	char text[2 * DIFF_CELL_BYTES], name[8192];

	print_cell(out, diff_cell_value(text, diff, row->bound.value[0]), NUMBER_COLUMNS);
	print_cell(out, diff_cell_value(text, diff, row->bound.value[1]), NUMBER_COLUMNS);
	print_cell(out, diff_cell_change(text, diff, row->bound.value[1] - row->bound.value[0]),
	           NUMBER_COLUMNS);
	print_cell(out, diff_cell_percent(text, &row->bound), NUMBER_COLUMNS);
	print_cell(out, diff_cell_bounds(text, diff, &row->bound), BOUNDS_COLUMNS);
	fprintf(out, "  %-*s", VERDICT_COLUMNS, diff_verdict_name(row->verdict));
	snprintf(name, sizeof(name), "%.*s", (int)diff_name_length(row->name), row->name);
	text_print_clean(out, name, columns > used + 16 ? columns - used : 0);
	fputc('\n', out);
	for (const char *line = row->name + diff_name_length(row->name); *line;) {
		line++;
		snprintf(name, sizeof(name), "%.*s", (int)diff_name_length(line), line);
		fprintf(out, "%*s", (int)used, "");
		text_print_clean(out, name, columns > used + 16 ? columns - used : 0);
		fputc('\n', out);
		line += diff_name_length(line);
	}
}

static void print_table(FILE *out, struct diff *diff, size_t shown)
{
	struct diff_table *table = diff_shown(diff);
	size_t columns = text_terminal_columns(out);
	static const char *const heads[] = { "base", "new", "diff", "diff%" };

	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
		print_cell(out, heads[i], NUMBER_COLUMNS);
	print_cell(out, "bounds of diff", BOUNDS_COLUMNS);
	fprintf(out, "  %-*s%s\n", VERDICT_COLUMNS, "verdict", top_by_name(table->by));
	print_row(out, diff, &diff->total, columns);
	for (size_t i = 0; i < table->count; i++)
		if (table->rows[i]->shown)
			print_row(out, diff, table->rows[i], columns);
	if (shown < table->count)
		fprintf(out,
		        "(%zu of %zu rows: -n says how many; without those that repeat another's values)\n",
		        shown, table->count);
	if (table->folded)
		fprintf(out, "(without the C code below Python, %zu %s%s: --native shows it)\n",
		        table->folded, top_by_name(table->by), table->folded == 1 ? "" : "s");
}

/* Cut where it is too long; of a line the end stays, which says where it is. */
static void print_name(FILE *out, const struct diff_table *table, const char *name)
{
	char text[8192], *slash;
	size_t end;

	snprintf(text, sizeof(text), "%.*s", (int)diff_name_length(name), name);
	slash = table->by == TOP_BY_LINE ? strrchr(text, '/') : NULL;
	end = slash ? text_columns(slash) : 0;
	if (text_columns(text) <= NAMED_COLUMNS || !slash || end >= NAMED_COLUMNS) {
		text_print_clean(out, text, NAMED_COLUMNS);
		return;
	}
	*slash = '\0';
	text_print_clean(out, text, NAMED_COLUMNS - end);
	*slash = '/';
	text_print_clean(out, slash, 0);
}

/* The first rows of a verdict, in words, without those that the table leaves out. Returns how many there are. */
static size_t print_changed(FILE *out, const struct diff *diff, enum diff_verdict verdict, const char *words)
{
	const struct diff_table *table = &diff->table[diff->task->by];
	char percent[DIFF_CELL_BYTES];
	size_t n = 0;

	for (size_t i = 0; i < table->count; i++) {
		const struct diff_row *row = table->rows[i];

		if (row->verdict != verdict || row->repeated || n++ >= NAMED)
			continue;
		fputs(n > 1 ? ", " : words, out);
		print_name(out, table, row->name);
		fprintf(out, " (%s)", diff_cell_percent(percent, &row->bound));
	}
	if (n)
		fputs(n > NAMED ? ", ...\n" : "\n", out);
	return n;
}

static void print_verdict(FILE *out, const struct diff *diff)
{
	size_t changed = print_changed(out, diff, DIFF_WORSE, "Worse beyond noise: ");
	char doubt[DIFF_DOUBT_BYTES], percent[DIFF_CELL_BYTES];

	changed += print_changed(out, diff, DIFF_BETTER, "Better beyond noise: ");
	if (*diff_doubt_total(doubt, diff))
		fprintf(out, "%s\n", doubt);
	else if (!changed && diff->total.verdict >= DIFF_BETTER)
		fprintf(out, "The total is %s beyond noise (%s), no row by itself.\n",
		        diff_verdict_name(diff->total.verdict),
		        diff_cell_percent(percent, &diff->total.bound));
	else if (!changed && diff->total.bound.judged)
		fputs("Nothing differs beyond noise.\n", out);
	fputc('\n', out);
}

/* Those that took another time. */
static void print_uses(FILE *out, const struct diff *diff)
{
	char text[DIFF_USE_BYTES];
	size_t n = 0;

	for (size_t i = 0; i < diff->uses.n; i++) {
		if (!diff_uses_changed(&diff->uses.classes[i]))
			continue;
		if (!n++)
			fputs("How long a use of a tag took (its own time, median):\n", out);
		fputs("  ", out);
		text_print_clean(out, diff_use_text(text, &diff->uses.classes[i]), 0);
		fputc('\n', out);
	}
	if (n)
		fputc('\n', out);
}

/* --- what is around it ------------------------------------------------------------------------------------ */

static void print_line(FILE *out, const char *before, const char *text)
{
	fputs(before, out);
	text_print_clean(out, text, 0);
	fputc('\n', out);
}

static void print_lines(FILE *out, const char *before, const struct diff_lines *lines)
{
	for (size_t i = 0; i < lines->count; i++)
		print_line(out, before, lines->text[i]);
	if (lines->more)
		fprintf(out, "%s... and %zu more of this kind\n", before, lines->more);
}

static void print_overlap(FILE *out, const struct diff *diff)
{
	const struct diff_overlap *overlap = &diff->overlap;
	char text[DIFF_OVERLAP_BYTES], bucket[TEXT_DURATION_BYTES];

	if (!diff->has_overlap || !overlap->buckets)
		return;
	fprintf(out,
	        "\nWhat NEW caused of the other tags' stalls, by the same cause and device at the same time "
	        "(in "
	        "buckets of %s, %s):\n",
	        text_computed_duration(bucket, overlap->bucket_ns),
	        diff->overlap_by_timeline ? "by the timeline, which has sampled waits" : "the windows");
	for (size_t i = 0; i < overlap->count; i++)
		print_line(out, "  ", diff_overlap_text(text, &overlap->rows[i]));
	if (!overlap->count)
		fputs("  none: no other tag waited for what NEW waited for\n", out);
}

static void print_findings(FILE *out, const struct diff *diff)
{
	static const char *const outcomes[] = { "passed", "FAILED", "CANNOT BE JUDGED" };

	for (size_t i = 0; i < diff->finding_count; i++) {
		const struct diff_finding *finding = &diff->findings[i];

		fprintf(out, "%s%s: ", i ? "" : "\n", outcomes[finding->outcome]);
		text_print_clean(out, finding->rule->text, 0);
		print_line(out, ": ", finding->text);
	}
}

int diff_print_text(FILE *out, struct diff *diff, size_t limit)
{
	char text[DIFF_SIDE_BYTES];
	size_t shown;

	print_line(out, "BASE ", diff_side_text(text, &diff->side[0]));
	print_line(out, "NEW  ", diff_side_text(text, &diff->side[1]));
	if (diff->refused) {
		print_lines(out, "Not comparable: ", &diff->against);
		return fflush(out) || ferror(out) ? -EIO : 0;
	}
	print_lines(out, "Compared all the same (--force), although: ", &diff->against);
	text_print_clean(out, diff->type, 0);
	fprintf(out, "%s. %s\n", diff_unit(diff), diff_bounds_text(text, diff));
	if (*diff_rows_text(diff))
		print_line(out, "", diff_rows_text(diff));
	shown = diff_table_show(diff_shown(diff), &diff->total, limit);
	print_uses(out, diff);
	print_verdict(out, diff);
	print_table(out, diff, shown);
	print_overlap(out, diff);
	print_lines(out, "\n", &diff->remarks);
	print_findings(out, diff);
	return fflush(out) || ferror(out) ? -EIO : 0;
}
