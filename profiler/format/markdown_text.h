/*
 * Text in Markdown, as GitHub reads it.
 */
#ifndef STALLPROF_PROFILER_MARKDOWN_TEXT_H
#define STALLPROF_PROFILER_MARKDOWN_TEXT_H

#include <stdio.h>

/* Writes text, of a line or of a table's cell, so that names stay names: nothing in it is markup or HTML, ends the cell, begins a list,
 * becomes a link or calls anybody. Control characters and bytes that are not UTF-8 are written as \xHH. Without memory nothing. */
void markdown_print(FILE *out, const char *text);

#endif
