/*
 * Text in columns, for terminals and files.
 */
#ifndef STALLPROF_PROFILER_TEXT_CELLS_H
#define STALLPROF_PROFILER_TEXT_CELLS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Columns of the terminal that `out` goes to; 0 when it is no terminal or does not say. */
size_t text_terminal_columns(FILE *out);

/* How long a line for people may be: as wide as the terminal that `out` goes to, else 140 columns. */
size_t text_line_columns(FILE *out);

/* Writes text with control characters and bytes that are not UTF-8 as \xHH, cut to at most columns characters
 * (0: in full), the last of which is then '…'. */
void text_print_clean(FILE *out, const char *text, size_t columns);

/* The whole text as text_print_clean() has it. The caller frees it; NULL without memory. */
char *text_clean(const char *text);

/* The same of a text of several lines: those behind the first are indented, so that none looks like another message. */
void text_print_clean_lines(FILE *out, const char *text);

/* How many columns text_print_clean() takes for the whole text. */
size_t text_columns(const char *text);

/* "12.345 s", "12.345 ms", "12.345 us" or "12 ns"; negative ones with '-'. At most 24 bytes with the NUL. */
#define TEXT_DURATION_BYTES 32
const char *text_duration(char buffer[TEXT_DURATION_BYTES], int64_t ns);
/* With three digits: "12.3 s", "1.23 ms", "123 us", "12 ns". */
const char *text_short_duration(char buffer[TEXT_DURATION_BYTES], uint64_t ns);
/* The same of what was computed, which may be anything: below 0, or not a number, is 0 ns; what has no 64 bits is UINT64_MAX ns. */
const char *text_computed_duration(char buffer[TEXT_DURATION_BYTES], double ns);

#endif
