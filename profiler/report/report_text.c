/* Writes a document as text and as Markdown. */

#include "profiler/report/report_document.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/format/markdown_text.h"
#include "profiler/format/text_cells.h"

#define TEXT_COLUMNS 100

static int written(FILE *out)
{
	return fflush(out) || ferror(out) ? -EIO : 0;
}

/* --- text --------------------------------------------------------------------------------------------------- */

/* Prints words up to TEXT_COLUMNS wide, further lines behind `indent` blanks. */
static void print_wrapped(FILE *out, const char *text, const char *first, size_t indent)
{
	char *words = text_clean(text), *at = words;
	size_t column = strlen(first);

	fputs(first, out);
	while (at && *at) {
		size_t length = strcspn(at, " ");
		char after = at[length];
		size_t width;

		at[length] = '\0';
		width = text_columns(at);
		if (column > indent && column + 1 + width > TEXT_COLUMNS) {
			fprintf(out, "\n%*s", (int)indent, "");
			column = indent;
		} else if (column > indent) {
			fputc(' ', out);
			column++;
		}
		fputs(at, out);
		column += width;
		at += length + (after != '\0');
	}
	fputc('\n', out);
	free(words);
}

/* The table's head and the rows behind it. */
static size_t table_end(const struct report_document *document, size_t head)
{
	size_t end = head + 1;

	while (end < document->count && document->items[end].kind == REPORT_ROW)
		end++;
	return end;
}

static void print_table(FILE *out, const struct report_document *document, size_t head, size_t end)
{
	size_t width[REPORT_COLUMNS_MAX] = { 0 };

	for (size_t i = head; i < end; i++)
		for (size_t c = 0; c < document->items[i].n; c++) {
			size_t columns = text_columns(document->items[i].cell[c]);

			width[c] = columns > width[c] ? columns : width[c];
		}
	for (size_t i = head; i < end; i++) {
		const struct report_item *item = &document->items[i];

		fputs("  ", out);
		for (size_t c = 0; c < item->n; c++) {
			text_print_clean(out, item->cell[c], 0);
			if (c + 1 < item->n)
				fprintf(out, "%*s", (int)(width[c] - text_columns(item->cell[c]) + 2), "");
		}
		fputc('\n', out);
	}
}

int report_write_text(FILE *out, const struct report_document *document)
{
	print_wrapped(out, document->title, "", 0);
	for (size_t i = 0; i < document->count; i++) {
		const struct report_item *item = &document->items[i];
		size_t end;

		switch (item->kind) {
		case REPORT_SECTION:
			fputc('\n', out);
			print_wrapped(out, item->cell[0], "", 0);
			break;
		case REPORT_SENTENCE:
			print_wrapped(out, item->cell[0], "  ", 2);
			break;
		case REPORT_POINT:
			print_wrapped(out, item->cell[0], "  - ", 4);
			break;
		case REPORT_HEAD:
		case REPORT_ROW:
			end = table_end(document, i);
			print_table(out, document, i, end);
			i = end - 1;
			break;
		}
	}
	return written(out);
}

/* --- Markdown ----------------------------------------------------------------------------------------------- */

static void print_markdown_row(FILE *out, const struct report_item *item)
{
	fputc('|', out);
	for (size_t c = 0; c < item->n; c++) {
		fputc(' ', out);
		markdown_print(out, item->cell[c]);
		fputs(" |", out);
	}
	fputc('\n', out);
	if (item->kind != REPORT_HEAD)
		return;
	fputc('|', out);
	for (size_t c = 0; c < item->n; c++)
		fputs(" --- |", out);
	fputc('\n', out);
}

static void print_markdown_item(FILE *out, const struct report_item *item, enum report_item_kind before)
{
	static const char *const marks[] = {
		[REPORT_SECTION] = "## ", [REPORT_SENTENCE] = "", [REPORT_POINT] = "- "
	};

	if (item->kind == REPORT_ROW || item->kind == REPORT_HEAD) {
		if (item->kind == REPORT_HEAD)
			fputc('\n', out);
		print_markdown_row(out, item);
		return;
	}
	if (item->kind != REPORT_POINT || before != REPORT_POINT)
		fputc('\n', out);
	fputs(marks[item->kind], out);
	markdown_print(out, item->cell[0]);
	fputc('\n', out);
}

int report_write_markdown(FILE *out, const struct report_document *document)
{
	fputs("# ", out);
	markdown_print(out, document->title);
	fputc('\n', out);
	for (size_t i = 0; i < document->count; i++)
		print_markdown_item(out, &document->items[i],
		                    i ? document->items[i - 1].kind : REPORT_SECTION);
	return written(out);
}
