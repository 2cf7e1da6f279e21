/* Writes a document as a page of HTML. */

#include "profiler/report/report_document.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/format/text_cells.h"

static const char head[] = "<!doctype html>\n"
                           "<html lang=\"en\">\n"
                           "<head>\n"
                           "<meta charset=\"utf-8\">\n"
                           "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                           "style-src 'unsafe-inline'\">\n"
                           "<meta name=\"viewport\" content=\"width=device-width\">\n";

static const char style[] =
        "<style>\n"
        ":root { color-scheme: light dark; }\n"
        "body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; "
        "}\n"
        "h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin: 1.6rem 0 .4rem; }\n"
        "p, ul { margin: .3rem 0; } td, th, p, li { overflow-wrap: anywhere; }\n"
        "table { border-collapse: collapse; margin: .5rem 0; } th { text-align: left; }\n"
        "td, th { padding: .2rem .9rem .2rem 0; border-bottom: 1px solid #8885; vertical-align: top; }\n"
        ".verdict { font-weight: 600; border-left: .3rem solid #d33; padding-left: .8rem; }\n"
        "</style>\n";

static void print(FILE *out, const char *text)
{
	static const char marked[] = "<>&\"'";
	static const char *const entities[] = { "&lt;", "&gt;", "&amp;", "&quot;", "&#39;" };
	char *words = NULL;
	size_t size = 0;
	FILE *stream = open_memstream(&words, &size);

	if (!stream)
		return;
	text_print_clean(stream, text, 0);
	if (!fclose(stream))
		for (size_t i = 0; words[i]; i++) {
			const char *found = strchr(marked, words[i]);

			if (found)
				fputs(entities[found - marked], out);
			else
				fputc(words[i], out);
		}
	free(words);
}

static void print_element(FILE *out, const char *open, const char *text, const char *close)
{
	fputs(open, out);
	print(out, text);
	fputs(close, out);
}

static void print_row(FILE *out, const struct report_item *item)
{
	const char *const open = item->kind == REPORT_HEAD ? "<th>" : "<td>";
	const char *const close = item->kind == REPORT_HEAD ? "</th>" : "</td>";

	fputs(item->kind == REPORT_HEAD ? "<table>\n<tr>" : "<tr>", out);
	for (size_t c = 0; c < item->n; c++)
		print_element(out, open, item->cell[c], close);
	fputs("</tr>\n", out);
}

static void print_item(FILE *out, const struct report_document *document, size_t i)
{
	const struct report_item *item = &document->items[i];
	enum report_item_kind before = i ? document->items[i - 1].kind : REPORT_SECTION;
	enum report_item_kind after = i + 1 < document->count ? document->items[i + 1].kind : REPORT_SECTION;

	if (item->kind == REPORT_SECTION)
		print_element(out, "<h2>", item->cell[0], "</h2>\n");
	if (item->kind == REPORT_SENTENCE)
		print_element(out, i ? "<p>" : "<p class=\"verdict\">", item->cell[0], "</p>\n");
	if (item->kind == REPORT_POINT && before != REPORT_POINT)
		fputs("<ul>\n", out);
	if (item->kind == REPORT_POINT)
		print_element(out, "<li>", item->cell[0], "</li>\n");
	if (item->kind == REPORT_POINT && after != REPORT_POINT)
		fputs("</ul>\n", out);
	if (item->kind == REPORT_HEAD || item->kind == REPORT_ROW)
		print_row(out, item);
	if ((item->kind == REPORT_HEAD || item->kind == REPORT_ROW) && after != REPORT_ROW)
		fputs("</table>\n", out);
}

int report_write_html(FILE *out, const struct report_document *document)
{
	fputs(head, out);
	print_element(out, "<title>", document->title, "</title>\n");
	fputs(style, out);
	print_element(out, "</head>\n<body>\n<h1>", document->title, "</h1>\n");
	for (size_t i = 0; i < document->count; i++)
		print_item(out, document, i);
	fputs("</body>\n</html>\n", out);
	return fflush(out) || ferror(out) ? -EIO : 0;
}
