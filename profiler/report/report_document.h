/*
 * What a report says, in sections of sentences, points and tables: made once, written as text, Markdown or HTML.
 *
 *     report_document_section(document, "Primary cause");
 *     report_document_say(document, "%s on %s", …);
 *     report_document_table(document, (const char *[]){ "cause", "score", NULL });
 *     report_document_row(document, (const char *[]){ "block_io", "0.93", NULL });
 *
 * Texts are copied, and may hold anything: writers clean and escape them. Want of memory is kept in `err`, and what
 * comes after it is left out.
 */
#ifndef STALLPROF_PROFILER_REPORT_DOCUMENT_H
#define STALLPROF_PROFILER_REPORT_DOCUMENT_H

#include <stddef.h>
#include <stdio.h>

#define REPORT_COLUMNS_MAX 8

enum report_item_kind { REPORT_SECTION, REPORT_SENTENCE, REPORT_POINT, REPORT_HEAD, REPORT_ROW };

struct report_item {
	enum report_item_kind kind;
	size_t n;                       /* cells */
	char *cell[REPORT_COLUMNS_MAX]; /* the first one alone, but for heads and rows of tables */
};

struct report_document {
	char *title;
	struct report_item *items;
	size_t count, room;
	int err; /* 0 or -ENOMEM */
};

void report_document_begin(struct report_document *document, const char *title);
void report_document_end(struct report_document *document);

void report_document_section(struct report_document *document, const char *title);
void report_document_say(struct report_document *document, const char *format, ...)
        __attribute__((format(printf, 2, 3)));
void report_document_point(struct report_document *document, const char *format, ...)
        __attribute__((format(printf, 2, 3)));
/* Cells end with NULL; more than REPORT_COLUMNS_MAX are left out. Rows follow the head of their table. */
void report_document_table(struct report_document *document, const char *const *heads);
void report_document_row(struct report_document *document, const char *const *cells);

/* Each writes the document. 0 or -EIO. */
int report_write_text(FILE *out, const struct report_document *document);
int report_write_markdown(FILE *out, const struct report_document *document);
/* A page of its own, without scripts. */
int report_write_html(FILE *out, const struct report_document *document);

#endif
