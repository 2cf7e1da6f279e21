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

/* `whole`: into the bodies of functions, too, where other functions and classes may be. */
int dwarf_scopes_read(struct dwarf_info *d, struct dwarf_unit *u, bool whole, struct dwarf_scopes **out);
void dwarf_scopes_free(struct dwarf_scopes *s);

/*
 * NULL: no function there. Narrows `same` to where the answer is the same one. -ENOMEM and the like of
 * reading a body leave a function without some of its inlines, and s->damaged set.
 */
struct dwarf_function *dwarf_scopes_find(const struct dwarf_scopes *s, uint64_t address,
                                         struct dwarf_interval *same);

/* Reads what was inlined into `f`, once; needed before dwarf_scopes_inlines(). */
void dwarf_scopes_read_inlines(struct dwarf_info *d, struct dwarf_unit *u, struct dwarf_scopes *s,
                               struct dwarf_function *f);

/*
 * The inlines of `f` at the address, outermost first; returns how many of at most `max`.
 */
size_t dwarf_scopes_inlines(const struct dwarf_scopes *s, const struct dwarf_function *f, uint64_t address,
                            const struct dwarf_inline **out, size_t max);
size_t dwarf_scopes_memory(const struct dwarf_scopes *s);

/* What a function is called. */
struct dwarf_name {
	const char *name; /* NULL: nothing is known */
	bool is_mangled;  /* the linkage name */
	/* Where the DIE is that has `name`: what is around it belongs to the name of one that is not mangled. */
	struct dwarf_info *info;
	uint64_t die;
};

/* Follows abstract_origin and specification from `die` to the linkage name, or else to the plain one. */
struct dwarf_name dwarf_function_name(struct dwarf_info *d, uint64_t die);

/* "outer::inner::name" of what stands at `die`, cut short where `size` is too little. */
void dwarf_scopes_qualify(const struct dwarf_scopes *s, uint64_t die, const char *name, char *out,
                          size_t size);

#endif
