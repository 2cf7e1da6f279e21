/* Makes an index block from DWARF: every answer for the addresses of one function. */

#include "symbolizer/index/dwarf_block.h"
#include "symbolizer/base/growing_array.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* A block ends so far from the address at the latest, and has at most so many changes. */
#define MAX_REACH   32768
#define MAX_SPAN    (2 * MAX_REACH)
#define MAX_CHANGES 512

/* At each change, what was inlined into the function is gone through: where that is much, there are fewer. */
#define MAX_STEPS ((size_t)1 << 22)

#define MAX_NAME 32768

/* A scope that is in the block. */
struct made_scope {
	uint64_t die;
	uint32_t outer;
};

struct making {
	struct dwarf_index *dwarf;
	const struct dwarf_block_wanted *wanted;
	struct dwarf_place place;
	struct index_builder builder;
	uint64_t base, marks[MAX_SPAN / 64]; /* a bit for each address from `base` on */
	/* Where the frames may be others than just below; the first is the block's beginning. */
	uint64_t changes[MAX_CHANGES];
	size_t n_changes;
	struct made_scope *made; /* as many as the builder has scopes */
	size_t max_made;
	uint32_t chain[INDEX_MAX_FRAMES]; /* scopes of the last segment, outermost first */
	size_t chain_len;
	const struct dwarf_lines *path_lines; /* whose is `path` */
	uint32_t path_file;
	char path[PATH_MAX], name[MAX_NAME];
};

/* For addresses in place.same. */
static bool is_change(const struct making *m, uint64_t address)
{
	return m->marks[(address - m->base) / 64] >> (address - m->base) % 64 & 1;
}

static int mark_change(uint64_t address, void *context)
{
	struct making *m = context;

	if (address - m->base < MAX_SPAN)
		m->marks[(address - m->base) / 64] |= (uint64_t)1 << (address - m->base) % 64;
	return 0;
}

/* How many changes the block may have. */
static size_t most_changes(const struct dwarf_function *f)
{
	size_t inlines = f ? f->end_inline - f->first_inline : 0;

	return inlines > MAX_STEPS / MAX_CHANGES ? MAX_STEPS / inlines : MAX_CHANGES;
}

/* Of the addresses that are marked, takes those around the one that is wanted, and cuts the block down to them. */
static void keep_nearest(struct making *m)
{
	struct dwarf_interval *same = &m->place.same;
	size_t max = most_changes(m->place.function), before = 0;
	uint64_t first = m->wanted->address, at;

	while (first > same->low && (!is_change(m, first) || before++ < max / 2))
		first--;
	dwarf_interval_begin(same, first);
	for (at = same->low; at < same->high; at++) {
		if (!is_change(m, at))
			continue;
		if (m->n_changes == max)
			dwarf_interval_end(same, at);
		else
			m->changes[m->n_changes++] = at;
	}
}

/* Fills m->changes, sorted, each once. */
static int find_changes(struct making *m)
{
	uint64_t address = m->wanted->address;
	struct dwarf_interval *same = &m->place.same;
	int err;

	dwarf_interval_begin(same, m->wanted->room.low);
	dwarf_interval_end(same, m->wanted->room.high);
	dwarf_interval_begin(same, address > MAX_REACH ? address - MAX_REACH : 0);
	dwarf_interval_end(same, address < UINT64_MAX - MAX_REACH ? address + MAX_REACH : UINT64_MAX);
	m->base = same->low;
	err = dwarf_index_each_change(&m->place, address, mark_change, m);
	if (err)
		return err;
	mark_change(same->low, m);
	keep_nearest(m);
	return 0;
}

/* NULL: not known. Good until the next call. */
static const char *path_of(struct making *m, const struct dwarf_frame *frame)
{
	if (!frame->lines)
		return NULL;
	if (m->path_lines == frame->lines && m->path_file == frame->file)
		return m->path;
	m->path_lines = NULL;
	if (!dwarf_lines_path(frame->lines, frame->file, m->path, sizeof(m->path)))
		return NULL;
	m->path_lines = frame->lines;
	m->path_file = frame->file;
	return m->path;
}

/* Good until the next call. NULL: it has none. */
static const char *name_of(struct making *m, const struct dwarf_frame *frame, bool outermost)
{
	bool named = dwarf_index_name(m->dwarf, frame->die, m->name, sizeof(m->name));
	const char *symbol = NULL;

	if (outermost && !named)
		symbol = m->wanted->symbol_at(m->wanted->address, m->wanted->context);
	else if (outermost && dwarf_index_lacks_linkage_name(m->dwarf, frame->die))
		symbol = m->wanted->symbol_at(m->place.function->low, m->wanted->context);
	if (symbol && (!named || strncmp(symbol, "_Z", 2) == 0))
		return symbol;
	return named ? m->name : NULL;
}

/* `outer` is the frame around it; NULL for the outermost. */
static uint32_t add_scope(struct making *m, const struct dwarf_frame *frame, const struct dwarf_frame *outer,
                          uint32_t outer_scope)
{
	uint32_t scope;

	if (growing_array_reserve((void **)&m->made, m->builder.block.n_scopes + 1, &m->max_made,
	                          sizeof(*m->made), SIZE_MAX)) {
		m->builder.err = -ENOMEM;
		return INDEX_NO_SCOPE;
	}
	scope = index_builder_scope(&m->builder, outer_scope, name_of(m, frame, !outer),
	                            outer ? path_of(m, outer) : NULL, outer ? outer->line : 0);
	if (scope != INDEX_NO_SCOPE)
		m->made[scope] = (struct made_scope){ .die = frame->die, .outer = outer_scope };
	return scope;
}

/* The scope at one depth of a chain: mostly it is that of the segment before. */
static uint32_t scope_at(struct making *m, size_t depth, const struct dwarf_frame *frame,
                         const struct dwarf_frame *outer, uint32_t outer_scope)
{
	uint32_t i = depth < m->chain_len ? m->chain[depth] : INDEX_NO_SCOPE;

	if (i != INDEX_NO_SCOPE && m->made[i].die == frame->die && m->made[i].outer == outer_scope)
		return i;
	for (i = m->builder.block.n_scopes; i > 0; i--)
		if (m->made[i - 1].die == frame->die && m->made[i - 1].outer == outer_scope)
			return i - 1;
	return add_scope(m, frame, outer, outer_scope);
}

static void add_segment(struct making *m, uint64_t start)
{
	struct dwarf_frame frames[INDEX_MAX_FRAMES];
	size_t n = dwarf_index_frames(&m->place, start, frames, INDEX_MAX_FRAMES), depth;
	uint32_t scope = INDEX_NO_SCOPE;

	for (depth = 0; depth < n && !m->builder.err; depth++) {
		scope = scope_at(m, depth, &frames[n - 1 - depth], depth ? &frames[n - depth] : NULL, scope);
		m->chain[depth] = scope;
	}
	m->chain_len = n;
	if (n)
		index_builder_segment(&m->builder, start + m->wanted->shift, scope, path_of(m, &frames[0]),
		                      frames[0].line);
}

static int make(struct making *m, struct index_block **out)
{
	struct dwarf_function *f = m->place.function;
	size_t i;
	int err;

	if (!f || !dwarf_index_name(m->dwarf, f->die, m->name, sizeof(m->name)))
		m->place.same = (struct dwarf_interval){ m->wanted->address, m->wanted->address + 1 };
	err = find_changes(m);
	if (err)
		return err;
	index_builder_start(&m->builder, m->place.same.low + m->wanted->shift, INDEX_DWARF);
	for (i = 0; i < m->n_changes; i++)
		add_segment(m, m->changes[i]);
	return index_builder_finish(&m->builder, m->place.same.high + m->wanted->shift, out);
}

int dwarf_block_make(struct dwarf_index *x, const struct dwarf_block_wanted *wanted, struct index_block **out)
{
	struct making *m = calloc(1, sizeof(*m));
	int err = m ? 0 : -ENOMEM;

	*out = NULL;
	if (err)
		return err;
	m->dwarf = x;
	m->wanted = wanted;
	if (dwarf_index_locate(x, wanted->address, &m->place))
		err = make(m, out);
	else
		err = -ENOENT;
	free(m->made);
	free(m);
	return err;
}
