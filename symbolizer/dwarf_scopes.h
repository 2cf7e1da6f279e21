/*
 * The functions of one unit, and what was inlined into them, as two sorted arrays.
 *
 * functions	by address; one entry a range, so a function with a cold part has two
 * inlines	in the order of the DIEs, so an inner one comes after the one around it; depth counts from
 *		1. Each is inside the nearest one before it whose depth is less by one.
 *
 *	functions: [ low high | inlines 3..7 ] ...
 *	inlines:	3 depth 1	a() inlined at x.c:10
 *			4 depth 2	  b() inlined into a at x.c:4
 *			5 depth 1	c() ...
 */
#ifndef SYMBOLIZER_DWARF_SCOPES_H
#define SYMBOLIZER_DWARF_SCOPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolizer/dwarf_unit.h"

struct dwarf_inline {
	uint64_t low, high;
	uint64_t die; /* offset in .debug_info; its origin has the name */
	uint32_t call_file, call_line;
	uint32_t depth;
};

struct dwarf_function {
	uint64_t low, high;
	uint64_t die;
	uint32_t first_inline, end_inline;
};

struct dwarf_scopes {
	struct dwarf_function *functions;
	size_t n_functions, max_functions;
	struct dwarf_inline *inlines;
	size_t n_inlines, max_inlines;
	bool damaged; /* the unit could not be read to its end */
};

int dwarf_scopes_read(struct dwarf_info *d, struct dwarf_unit *u, struct dwarf_scopes **out);
void dwarf_scopes_free(struct dwarf_scopes *s);

/* NULL: no function there. */
const struct dwarf_function *dwarf_scopes_find(const struct dwarf_scopes *s, uint64_t address);

/*
 * The inlines of `f` at the address, outermost first; returns how many of at most `max`.
 */
size_t dwarf_scopes_inlines(const struct dwarf_scopes *s, const struct dwarf_function *f, uint64_t address,
                            const struct dwarf_inline **out, size_t max);
size_t dwarf_scopes_memory(const struct dwarf_scopes *s);

/*
 * Name of the function at or behind a DIE (abstract_origin, specification): the linkage name where there is
 * one, then *is_mangled. NULL: none.
 */
const char *dwarf_function_name(struct dwarf_info *d, uint64_t die, bool *is_mangled);

#endif
