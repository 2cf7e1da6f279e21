/* Writes a document as text and as Markdown. */

#include "profiler/report/report_document.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/format/text_cells.h"

#define TEXT_COLUMNS 100

static int written(FILE *out)
{
	return fflush(out) || ferror(out) ? -EIO : 0;
}

/* The text as text_print_clean() has it. The caller frees it; NULL without memory. */
static char *clean(const char *text)
{
	char *made = NULL;
	size_t size = 0;
	FILE *stream = open_memstream(&made, &size);

	if (!stream)
		return NULL;
	text_print_clean(stream, text, 0);
	if (!fclose(stream))
		return made;
	free(made);
	return NULL;
}

/* --- text --------------------------------------------------------------------------------------------------- */

/* Prints words up to TEXT_COLUMNS wide, further lines behind `indent` blanks. */
static void print_wrapped(FILE *out, const char *text, const char *first, size_t indent)
{
	char *words = clean(text), *at = words;
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

/* What Markdown or the HTML in it would take for markup is escaped, so that names stay names. */
static void print_markdown(FILE *out, const char *text)
{
	char *words = clean(text);
	size_t digits;

	if (!words)
		return;
	/* A number with a dot, or a dash, would begin a list. */
	digits = strspn(words, "0123456789");
	for (size_t i = 0; words[i]; i++) {
		bool begins_list =
		        (!i && strchr("+-=", words[i])) || (digits && i == digits && strchr(".)", words[i]));

		if (words[i] == '<')
			fputs("&lt;", out);
		else if (words[i] == '&')
			fputs("&amp;", out);
		else if (begins_list || strchr("\\`*_{}[]#|>~!", words[i]))
			fprintf(out, "\\%c", words[i]);
		else if (words[i] == ':' && words[i + 1] == '/')
			fputs("&#58;", out); /* no link of its own accord */
		else if (words[i] == '@')
			fputs("&#64;", out);
		else
			fputc(words[i], out);
	}
	free(words);
}

static void print_markdown_row(FILE *out, const struct report_item *item)
{
	fputc('|', out);
	for (size_t c = 0; c < item->n; c++) {
		fputc(' ', out);
		print_markdown(out, item->cell[c]);
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
	print_markdown(out, item->cell[0]);
	fputc('\n', out);
}

int report_write_markdown(FILE *out, const struct report_document *document)
{
	fputs("# ", out);
	print_markdown(out, document->title);
	fputc('\n', out);
	for (size_t i = 0; i < document->count; i++)
		print_markdown_item(out, &document->items[i],
		                    i ? document->items[i - 1].kind : REPORT_SECTION);
	return written(out);
}
