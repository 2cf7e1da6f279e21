/*
 * Looks up the line of an instruction in a code object's line table, in each of the three forms that CPython has had.
 * `offset` is in bytes from the first instruction. Tables are not trusted: malformed ones yield 0.
 */
#ifndef SYMBOLIZER_PYTHON_LINES_H
#define SYMBOLIZER_PYTHON_LINES_H

#include <stddef.h>
#include <stdint.h>

enum python_lines_form {
	PYTHON_LINES_LNOTAB,   /* up to 3.9: pairs of increments, of the address and of the line */
	PYTHON_LINES_RANGES,   /* 3.10, PEP 626: pairs of length of a range and the increment of its line */
	PYTHON_LINES_LOCATIONS /* from 3.11: entries of variable length, with columns, too */
};

/* 0: the instruction has no line, or the table does not reach it. Before the first instruction: `first_line`. */
uint32_t python_line(enum python_lines_form form, const uint8_t *table, size_t len, int32_t first_line,
                     int64_t offset);

#endif
