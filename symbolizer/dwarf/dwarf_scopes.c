/* Reads the functions of a unit, and what was inlined into them, into sorted arrays. */

#include "symbolizer/dwarf/dwarf_scopes.h"
#include "symbolizer/base/search.h"
#include "symbolizer/base/growing_array.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>

/* Of one unit, of each kind: 40 bytes or so each. The largest met has 46,852 inlined functions (in cargo). */
#define MAX_SCOPES   (1 << 21)
#define MAX_LEVELS   512
#define NO_ENCLOSING UINT32_MAX

/* How many functions a lookup goes back for one that encloses those after it. */
#define MAX_NESTING 8

/* What encloses the DIEs being read. */
struct level {
	uint32_t enclosing; /* index of the innermost one; NO_ENCLOSING: none */
	uint32_t depth;     /* of inlining */
	uint32_t inlined; /* index + 1 of the inlined function's last range; 0: this is no inlined function */
	bool ignored;     /* nothing in here has code */
};

struct walk {
	struct dwarf_info *info;
	struct dwarf_unit *unit;
	struct dwarf_scopes *scopes;
	const struct dwarf_die *die; /* being added */
	bool whole;                  /* go into the bodies of functions */
	bool in_body;                /* of one function: its inlines are wanted, and nothing else */
	size_t n_levels;
	struct level levels[MAX_LEVELS]; /* set one by one, as there is a walk for each function */
};

/* A walk that is inside of nothing yet; the caller frees it. NULL: no memory. */
static struct walk *walk_new(struct dwarf_info *d, struct dwarf_unit *u, struct dwarf_scopes *s)
{
	struct walk *w = malloc(sizeof(*w));

	if (!w)
		return NULL;
	w->info = d;
	w->unit = u;
	w->scopes = s;
	w->die = NULL;
	w->whole = w->in_body = false;
	w->n_levels = 1;
	w->levels[0] = (struct level){ .enclosing = NO_ENCLOSING };
	return w;
}

static int add_function(uint64_t low, uint64_t high, void *context)
{
	struct walk *w = context;
	struct dwarf_scopes *s = w->scopes;
	int err = growing_array_reserve((void **)&s->functions, s->n_functions + 1, &s->max_functions,
	                                sizeof(*s->functions), MAX_SCOPES);

	if (err)
		return err;
	s->functions[s->n_functions++] =
	        (struct dwarf_function){ .low = low, .high = high, .die = w->die->offset };
	return 0;
}

static int add_inline(uint64_t low, uint64_t high, void *context)
{
	struct walk *w = context;
	struct dwarf_scopes *s = w->scopes;
	int err = growing_array_reserve((void **)&s->inlines, s->n_inlines + 1, &s->max_inlines,
	                                sizeof(*s->inlines), MAX_SCOPES);

	if (err)
		return err;
	s->inlines[s->n_inlines++] = (struct dwarf_inline){ .low = low,
		                                            .high = high,
		                                            .die = w->die->offset,
		                                            .call_file = (uint32_t)w->die->call_file.number,
		                                            .call_line = (uint32_t)w->die->call_line.number,
		                                            .depth = w->levels[w->n_levels - 1].depth + 1 };
	return 0;
}

static int each_range_of(struct walk *w, const struct dwarf_die *die, dwarf_range_fn each)
{
	w->die = die;
	return dwarf_each_range(w->info, w->unit, &die->low_pc, &die->high_pc, &die->ranges, each, w);
}

static int add_enclosing(struct walk *w, const struct dwarf_die *die, struct level *inside)
{
	struct dwarf_scopes *s = w->scopes;
	int err;

	/* rustc before 1.72 or so has the methods of enumerations without data in there. */
	inside->ignored = die->abbrev->tag == DW_TAG_enumeration_type &&
	                  !(die->abbrev->is_wanted && dwarf_unit_is_rust(w->unit));
	if (!die->abbrev->has_children || inside->ignored || dwarf_unit_is_c(w->unit))
		return 0;
	err = growing_array_reserve((void **)&s->enclosing, s->n_enclosing + 1, &s->max_enclosing,
	                            sizeof(*s->enclosing), MAX_SCOPES);
	if (err)
		return err;
	s->enclosing[s->n_enclosing] =
	        (struct dwarf_enclosing_scope){ .start = die->offset,
		                                .end = w->unit->end,
		                                .name = dwarf_value_string(w->info, w->unit, &die->name),
		                                .outer = inside->enclosing,
		                                .tag = die->abbrev->tag };
	inside->enclosing = (uint32_t)s->n_enclosing++;
	return 0;
}

static int add_nested_function(struct walk *w, const struct dwarf_die *die, struct level *inside)
{
	int err;

	inside->depth = 0;
	if (w->in_body) {
		inside->ignored = true; /* what was inlined into another function */
		return 0;
	}
	err = each_range_of(w, die, add_function);
	if (die->sibling.form && die->abbrev->has_children && !w->whole) {
		inside->ignored = true;
		w->scopes->has_unread = true;
	}
	return err;
}

static int add_inlined(struct walk *w, const struct dwarf_die *die, struct level *inside)
{
	size_t before = w->scopes->n_inlines;
	int err = each_range_of(w, die, add_inline);

	inside->depth++;
	if (w->scopes->n_inlines > before)
		inside->inlined = (uint32_t)w->scopes->n_inlines;
	return err;
}

/* Adds what the DIE is; *inside becomes what its children are inside of. */
static int visit(struct walk *w, const struct dwarf_die *die, struct level *inside)
{
	int err = 0;

	*inside = w->levels[w->n_levels - 1];
	inside->inlined = 0;
	switch (die->abbrev->tag) {
	case DW_TAG_subprogram:
		err = add_nested_function(w, die, inside);
		break;
	case DW_TAG_inlined_subroutine:
		if (!w->in_body)
			break;
		err = add_inlined(w, die, inside);
		break;
	case DW_TAG_compile_unit:
	case DW_TAG_partial_unit:
	case DW_TAG_skeleton_unit:
	case DW_TAG_module:
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
		break;
	case DW_TAG_namespace:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_enumeration_type:
		if (w->in_body)
			inside->ignored = true;
		else
			err = add_enclosing(w, die, inside);
		break;
	default:
		inside->ignored = true;
	}
	return err;
}

/* The end of a row of siblings, at `offset`: what they were in is complete. */
static void leave(struct walk *w, uint64_t offset)
{
	struct level *left = &w->levels[--w->n_levels];

	if (left->inlined)
		w->scopes->inlines[left->inlined - 1].end = (uint32_t)w->scopes->n_inlines;
	if (w->n_levels && left->enclosing != w->levels[w->n_levels - 1].enclosing)
		w->scopes->enclosing[left->enclosing].end = offset;
}

/* C has no code inside structures, and they are most of its DIEs. */
static bool can_skip(const struct dwarf_unit *u, const struct dwarf_die *die, const struct level *inside)
{
	if (!die->sibling.form)
		return false;
	if (inside->ignored)
		return true;
	return die->abbrev->tag == DW_TAG_structure_type && dwarf_unit_is_c(u);
}

static int enter(struct walk *w, struct dwarf_cursor *c, const struct dwarf_die *die,
                 const struct level *inside)
{
	struct dwarf_info *in;
	struct dwarf_cursor to;
	uint64_t offset;

	if (can_skip(w->unit, die, inside) &&
	    dwarf_value_reference(w->info, w->unit, &die->sibling, &in, &offset) && in == w->info) {
		to = dwarf_unit_cursor(w->info, w->unit, offset);
		if (!to.failed && to.pos > c->pos) {
			*c = to;
			return 0;
		}
	}
	if (w->n_levels == MAX_LEVELS)
		return -EBADMSG;
	w->levels[w->n_levels++] = *inside;
	return 0;
}

/* From `c` to the end of what w->levels[0] stands for. */
static int walk_from(struct walk *w, struct dwarf_cursor c)
{
	struct dwarf_die die;
	struct level inside;
	int got;

	while (w->n_levels) {
		dwarf_skip_unneeded(w->info, w->unit, &c);
		if (!dwarf_left(&c))
			break;
		got = dwarf_read_die(w->info, w->unit, &c, &die);
		if (got < 0)
			return got;
		if (!got) {
			leave(w, die.offset);
			continue;
		}
		inside = w->levels[w->n_levels - 1];
		if (!inside.ignored)
			got = visit(w, &die, &inside);
		if (got >= 0 && die.abbrev->has_children)
			got = enter(w, &c, &die, &inside);
		if (got < 0)
			return got;
	}
	return 0;
}

static int compare_lows(const void *a, const void *b)
{
	const struct dwarf_function *x = a, *y = b;

	return x->low < y->low ? -1 : x->low > y->low;
}

int dwarf_scopes_read(struct dwarf_info *d, struct dwarf_unit *u, bool whole, struct dwarf_scopes **out)
{
	struct dwarf_scopes *s = calloc(1, sizeof(*s));
	struct walk *w = walk_new(d, u, s);
	int err = w && s ? dwarf_unit_prepare(d, u) : -ENOMEM;

	if (err) {
		free(w);
		free(s);
		return err;
	}
	w->whole = whole;
	s->damaged = walk_from(w, dwarf_unit_cursor(d, u, u->first_die));
	while (w->n_levels)
		leave(w, u->end);
	if (s->n_functions)
		qsort(s->functions, s->n_functions, sizeof(*s->functions), compare_lows);
	free(w);
	*out = s;
	return 0;
}

void dwarf_scopes_read_inlines(struct dwarf_info *d, struct dwarf_unit *u, struct dwarf_scopes *s,
                               struct dwarf_function *f)
{
	struct dwarf_cursor c = dwarf_unit_cursor(d, u, f->die);
	struct walk *w = f->inlines_read ? NULL : walk_new(d, u, s);
	struct dwarf_die die;
	int got;

	if (!w)
		return;
	w->in_body = true;
	f->inlines_read = true;
	f->first_inline = (uint32_t)s->n_inlines;
	got = dwarf_unit_prepare(d, u);
	if (!got)
		got = dwarf_read_die(d, u, &c, &die);
	if (got == 1 && die.abbrev->has_children)
		got = walk_from(w, c);
	if (got < 0)
		s->damaged = true;
	f->end_inline = (uint32_t)s->n_inlines;
	free(w);
}

void dwarf_scopes_free(struct dwarf_scopes *s)
{
	if (!s)
		return;
	free(s->functions);
	free(s->inlines);
	free(s->enclosing);
	free(s);
}

struct dwarf_function *dwarf_scopes_find(const struct dwarf_scopes *s, uint64_t address,
                                         struct dwarf_interval *same)
{
	size_t low, i;
	struct dwarf_function *f;

	low = search_past(at, 0, s->n_functions, s->functions[at].low <= address);
	if (low < s->n_functions)
		dwarf_interval_end(same, s->functions[low].low);
	if (low)
		dwarf_interval_begin(same, s->functions[low - 1].low);
	for (i = 0; i < MAX_NESTING && i < low; i++) {
		f = &s->functions[low - 1 - i];
		if (address < f->high) {
			dwarf_interval_end(same, f->high);
			return f;
		}
		dwarf_interval_begin(same, f->high);
	}
	return NULL;
}

size_t dwarf_scopes_inlines(const struct dwarf_scopes *s, const struct dwarf_function *f, uint64_t address,
                            const struct dwarf_inline **out, size_t max, uint64_t *steps)
{
	const struct dwarf_inline *inlined;
	size_t n = 0;
	uint32_t i, next;

	*steps = 0;
	for (i = f->first_inline; i < f->end_inline && n < max; i = next) {
		++*steps;
		inlined = &s->inlines[i];
		next = i + 1;
		if (n && inlined->depth <= n && inlined->die != out[n - 1]->die)
			break; /* behind the end of the one that has the address */
		if (inlined->depth != n + 1)
			continue;
		if (address >= inlined->low && address < inlined->high)
			out[n++] = inlined;
		else if (inlined->end)
			next = inlined->end;
	}
	return n;
}

size_t dwarf_scopes_memory(const struct dwarf_scopes *s)
{
	return sizeof(*s) + s->max_functions * sizeof(*s->functions) + s->max_inlines * sizeof(*s->inlines) +
	       s->max_enclosing * sizeof(*s->enclosing);
}
