/* Makes an index block from DWARF: every answer for the addresses of one function. */

#include "symbolizer/index/dwarf_block.h"
#include "symbolizer/base/growing_array.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* A block ends so far from the address at the latest, and has at most so many changes. */
#define MAX_REACH   32768
#define MAX_CHANGES 512

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
	uint64_t *
	        changes; /* where the frames may be others than just below; the first is the block's beginning */
	size_t n_changes, max_changes;
	struct made_scope *made; /* as many as the builder has scopes */
	size_t max_made;
	uint32_t chain[INDEX_MAX_FRAMES]; /* scopes of the last segment, outermost first */
	size_t chain_len;
	const struct dwarf_lines *path_lines; /* whose is `path` */
	uint32_t path_file;
	char path[PATH_MAX], name[MAX_NAME];
};

static int add_change(uint64_t address, void *context)
{
	struct making *m = context;
	int err = growing_array_reserve((void **)&m->changes, m->n_changes + 1, &m->max_changes,
	                                sizeof(*m->changes), SIZE_MAX);

	if (!err)
		m->changes[m->n_changes++] = address;
	return err;
}

static int compare_addresses(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Cuts the block down to MAX_CHANGES around the address; `changes` are sorted. */
static void keep_nearest(struct making *m)
{
	struct dwarf_interval *same = &m->place.same;
	size_t first = 0, n = m->n_changes, i;

	while (first + 1 < n && m->changes[first + 1] <= m->wanted->address)
		first++;
	first = first > MAX_CHANGES / 2 ? first - MAX_CHANGES / 2 : 0;
	if (n > first + MAX_CHANGES)
		dwarf_interval_end(same, m->changes[first + MAX_CHANGES]);
	dwarf_interval_begin(same, m->changes[first]);
	for (i = 0; first + i < n && m->changes[first + i] < same->high; i++)
		m->changes[i] = m->changes[first + i];
	m->n_changes = i;
}

/* Fills m->changes, sorted, each once. */
static int find_changes(struct making *m)
{
	uint64_t address = m->wanted->address;
	struct dwarf_interval *same = &m->place.same;
	size_t from, to = 0;
	int err;

	dwarf_interval_begin(same, m->wanted->room.low);
	dwarf_interval_end(same, m->wanted->room.high);
	dwarf_interval_begin(same, address > MAX_REACH ? address - MAX_REACH : 0);
	dwarf_interval_end(same, address < UINT64_MAX - MAX_REACH ? address + MAX_REACH : UINT64_MAX);
	err = dwarf_index_each_change(&m->place, address, add_change, m);
	if (!err)
		err = add_change(same->low, m);
	if (err)
		return err;
	qsort(m->changes, m->n_changes, sizeof(*m->changes), compare_addresses);
	for (from = 0; from < m->n_changes; from++)
		if (m->changes[from] >= same->low && (!to || m->changes[to - 1] != m->changes[from]))
			m->changes[to++] = m->changes[from];
	m->n_changes = to;
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
	free(m->changes);
	free(m->made);
	free(m);
	return err;
}
