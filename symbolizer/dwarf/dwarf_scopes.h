/*
 * The functions of one unit, and what was inlined into them, as two sorted arrays. The functions are read
 * at once, stepping over their bodies where the compiler has left a way to do so (gcc has, clang has not);
 * what was inlined into one, when it is asked for.
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

#include "symbolizer/dwarf/dwarf_interval.h"
#include "symbolizer/dwarf/dwarf_unit.h"

struct dwarf_inline {
	uint64_t low, high;
	uint64_t die; /* offset in .debug_info; its origin has the name */
	uint32_t call_file, call_line;
	uint32_t depth;
	uint32_t
	        end; /* index of the first one that is not inside of this; 0: not known, or this has further ranges */
};

struct dwarf_function {
	uint64_t low, high;
	uint64_t die;
	uint32_t first_inline, end_inline;
	bool inlines_read;
};

/* A namespace, class or structure: what stands between start and end is named after it. */
struct dwarf_enclosing_scope {
	uint64_t start, end; /* in .debug_info */
	const char *name;    /* NULL: it has none */
	uint32_t outer;      /* index of the one around it; UINT32_MAX: none */
	uint16_t tag;
};

struct dwarf_scopes {
	struct dwarf_function *functions;
	size_t n_functions, max_functions;
	struct dwarf_inline *inlines;
	size_t n_inlines, max_inlines;
	struct dwarf_enclosing_scope *enclosing; /* by start */
	size_t n_enclosing, max_enclosing;
	bool damaged;    /* the unit could not be read to its end */
	bool has_unread; /* there are bodies of functions that were stepped over */
};

/* `whole`: also reads the bodies of functions, where other functions and classes may be. */
int dwarf_scopes_read(struct dwarf_info *d, struct dwarf_unit *u, bool whole, struct dwarf_scopes **out);
void dwarf_scopes_free(struct dwarf_scopes *s);

/*
 * Finds the function at an address. NULL: none. Narrows `same` to the addresses with the same answer.
 */
struct dwarf_function *dwarf_scopes_find(const struct dwarf_scopes *s, uint64_t address,
                                         struct dwarf_interval *same);

/*
 * Reads what was inlined into `f`, once; needed before dwarf_scopes_inlines(). On errors, such as no memory, some
 * inlines are missing and s->damaged is set.
 */
void dwarf_scopes_read_inlines(struct dwarf_info *d, struct dwarf_unit *u, struct dwarf_scopes *s,
                               struct dwarf_function *f);

/*
 * The inlines of `f` at the address, outermost first; returns how many of at most `max`. *steps becomes how many it
 * looked at: where many stand beside each other, all of them.
 */
size_t dwarf_scopes_inlines(const struct dwarf_scopes *s, const struct dwarf_function *f, uint64_t address,
                            const struct dwarf_inline **out, size_t max, uint64_t *steps);
size_t dwarf_scopes_memory(const struct dwarf_scopes *s);

/* A function's name. */
struct dwarf_name {
	const char *name; /* NULL: nothing is known */
	bool is_mangled;  /* the linkage name */
	/* The DIE that has `name`. To a name that is not mangled belong the namespaces and classes around that DIE. */
	struct dwarf_info *info;
	uint64_t die;
};

/* Follows abstract_origin and specification from `die` to the linkage name, or else to the plain one. */
struct dwarf_name dwarf_function_name(struct dwarf_info *d, uint64_t die);

/* Writes "outer::inner::name" for the DIE at `die`, cut short if `size` is too little. */
void dwarf_scopes_qualify(const struct dwarf_scopes *s, uint64_t die, const char *name, char *out,
                          size_t size);

#endif
