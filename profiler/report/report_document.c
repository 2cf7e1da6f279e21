/* Collects the items of a document. */

#include "profiler/report/report_document.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/base/growing_array.h"

void report_document_begin(struct report_document *document, const char *title)
{
	*document = (struct report_document){ .title = strdup(title) };
	document->err = document->title ? 0 : -ENOMEM;
}

void report_document_end(struct report_document *document)
{
	for (size_t i = 0; i < document->count; i++)
		for (size_t c = 0; c < document->items[i].n; c++)
			free(document->items[i].cell[c]);
	free(document->items);
	free(document->title);
	*document = (struct report_document){ .title = NULL };
}

/* Takes the item's texts over. */
static void add(struct report_document *document, struct report_item *item)
{
	int err = document->err;

	for (size_t i = 0; i < item->n; i++)
		err = item->cell[i] ? err : -ENOMEM;
	if (!err)
		err = growing_array_reserve((void **)&document->items, document->count + 1, &document->room,
		                            sizeof(*document->items), SIZE_MAX);
	if (!err) {
		document->items[document->count++] = *item;
		return;
	}
	document->err = -ENOMEM;
	for (size_t i = 0; i < item->n; i++)
		free(item->cell[i]);
}

static void add_text(struct report_document *document, enum report_item_kind kind, const char *format,
                     va_list args)
{
	struct report_item item = { .kind = kind, .n = 1 };

	if (vasprintf(&item.cell[0], format, args) < 0)
		item.cell[0] = NULL;
	add(document, &item);
}

static void add_cells(struct report_document *document, enum report_item_kind kind, const char *const *cells)
{
	struct report_item item = { .kind = kind };

	for (; cells[item.n] && item.n < REPORT_COLUMNS_MAX; item.n++)
		item.cell[item.n] = strdup(cells[item.n]);
	add(document, &item);
}

void report_document_section(struct report_document *document, const char *title)
{
	add_cells(document, REPORT_SECTION, (const char *[]){ title, NULL });
}

void report_document_say(struct report_document *document, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	add_text(document, REPORT_SENTENCE, format, args);
	va_end(args);
}

void report_document_point(struct report_document *document, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	add_text(document, REPORT_POINT, format, args);
	va_end(args);
}

void report_document_table(struct report_document *document, const char *const *heads)
{
	add_cells(document, REPORT_HEAD, heads);
}

void report_document_row(struct report_document *document, const char *const *cells)
{
	add_cells(document, REPORT_ROW, cells);
}
