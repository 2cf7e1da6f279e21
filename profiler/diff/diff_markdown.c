/* A comparison as Markdown, for the summary of a CI run or a comment. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/diff/diff_result.h"
#include "profiler/diff/diff_cells.h"
#include "profiler/diff/diff_doubt.h"
#include "profiler/diff/diff_print.h"
#include "profiler/format/markdown_text.h"

static void print_row(FILE *out, const struct diff *diff, const struct diff_row *row, bool bold)
{
	char text[2 * DIFF_CELL_BYTES], name[2048];

	snprintf(name, sizeof(name), "%.*s", (int)diff_name_length(row->name), row->name);
	fputs(bold ? "| **" : "| ", out);
	markdown_print(out, name);
	fputs(bold ? "**" : "", out);
	fprintf(out, " | %s", diff_cell_value(text, diff, row->bound.value[0]));
	fprintf(out, " | %s", diff_cell_value(text, diff, row->bound.value[1]));
	fprintf(out, " | %s", diff_cell_change(text, diff, row->bound.value[1] - row->bound.value[0]));
	fprintf(out, " | %s", diff_cell_percent(text, &row->bound));
	fprintf(out, " | %s", diff_cell_bounds(text, diff, &row->bound));
	fprintf(out, " | %s |\n", diff_verdict_name(row->verdict));
}

static void print_table(FILE *out, struct diff *diff, size_t limit)
{
	struct diff_table *table = diff_shown(diff);
	size_t shown = diff_table_show(table, &diff->total, limit);

	fprintf(out, "\n| %s | base | new | diff | diff %% | bounds of diff | verdict |\n",
	        top_by_name(table->by));
	fputs("|---|---:|---:|---:|---:|---:|---|\n", out);
	print_row(out, diff, &diff->total, true);
	for (size_t i = 0; i < table->count; i++)
		if (table->rows[i]->shown)
			print_row(out, diff, table->rows[i], false);
	if (shown < table->count)
		fprintf(out, "\n%zu of %zu rows, without those that repeat another's values.\n", shown,
		        table->count);
	if (table->folded)
		fprintf(out, "\nWithout the C code below Python, %zu %s%s: `--native` shows it.\n",
		        table->folded, top_by_name(table->by), table->folded == 1 ? "" : "s");
}

static void print_items(FILE *out, const char *before, const struct diff_lines *lines)
{
	for (size_t i = 0; i < lines->count; i++) {
		fprintf(out, "- %s", before);
		markdown_print(out, lines->text[i]);
		fputc('\n', out);
	}
	if (lines->more)
		fprintf(out, "- ... and %zu more of this kind\n", lines->more);
}

static void print_findings(FILE *out, const struct diff *diff)
{
	static const char *const outcomes[] = { "passed", "**failed**", "**cannot be judged**" };

	if (diff->finding_count)
		fputs("\n| rule | outcome | |\n|---|---|---|\n", out);
	for (size_t i = 0; i < diff->finding_count; i++) {
		const struct diff_finding *finding = &diff->findings[i];

		fputs("| ", out);
		markdown_print(out, finding->rule->text);
		fprintf(out, " | %s | ", outcomes[finding->outcome]);
		markdown_print(out, finding->text);
		fputs(" |\n", out);
	}
}

static void print_overlap(FILE *out, const struct diff *diff)
{
	char text[DIFF_OVERLAP_BYTES];

	if (!diff->has_overlap || !diff->overlap.count)
		return;
	fprintf(out,
	        "\nWhat NEW caused of the other tags' stalls, by the same cause and device at the same "
	        "time%s:\n\n",
	        diff->overlap_by_timeline ? " (by the timeline, which has sampled waits)" : "");
	for (size_t i = 0; i < diff->overlap.count; i++) {
		fputs("- ", out);
		markdown_print(out, diff_overlap_text(text, &diff->overlap.rows[i]));
		fputc('\n', out);
	}
}

/* Those that took another time. */
static void print_uses(FILE *out, const struct diff *diff)
{
	char text[DIFF_USE_BYTES];
	size_t n = 0;

	for (size_t i = 0; i < diff->uses.n; i++) {
		if (!diff_uses_changed(&diff->uses.classes[i]))
			continue;
		fputs(n++ ? "- " : "\nHow long a use of a tag took (its own time, median):\n\n- ", out);
		markdown_print(out, diff_use_text(text, &diff->uses.classes[i]));
		fputc('\n', out);
	}
}

int diff_print_markdown(FILE *out, struct diff *diff, size_t limit)
{
	char text[DIFF_SIDE_BYTES], doubt[DIFF_DOUBT_BYTES];

	fprintf(out, "### stallprof: %s\n\n", diff_verdict(diff));
	for (int side = 0; side < 2; side++) {
		fputs(side ? "- NEW: " : "- BASE: ", out);
		markdown_print(out, diff_side_text(text, &diff->side[side]));
		fputc('\n', out);
	}
	print_items(out,
	            diff->refused ? "Not comparable: " : "Compared all the same, although: ", &diff->against);
	if (!diff->refused) {
		fputs("- ", out);
		markdown_print(out, diff->type);
		fprintf(out, "%s. %s\n", diff_unit(diff), diff_bounds_text(text, diff));
		if (*diff_rows_text(diff))
			fprintf(out, "- %s\n", diff_rows_text(diff));
		if (*diff_doubt_total(doubt, diff))
			fprintf(out, "- %s\n", doubt);
		print_items(out, "", &diff->remarks);
		print_findings(out, diff);
		print_uses(out, diff);
		print_table(out, diff, limit);
		print_overlap(out, diff);
	}
	return fflush(out) || ferror(out) ? -EIO : 0;
}
