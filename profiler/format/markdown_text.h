/*
 * Text in Markdown, as GitHub reads it.
 */
#ifndef STALLPROF_PROFILER_MARKDOWN_TEXT_H
#define STALLPROF_PROFILER_MARKDOWN_TEXT_H

#include <stdio.h>

/* Writes a line's or a table cell's text so that names stay names: nothing in it is markup, HTML or a formula, ends the cell, begins a list,
 * is a link by its scheme or calls anybody. Control characters and bytes that are not UTF-8 are written as \xHH. Without memory nothing. */
void markdown_print(FILE *out, const char *text);

#endif
