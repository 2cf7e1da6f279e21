/* Looks up unwind rules by address: makes rows for CFI_CHUNK functions at a time and keeps them. */

#include "symbolizer/cfi/cfi.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/cfi/cfi_index.h"
#include "symbolizer/base/search.h"
#include "symbolizer/base/growing_array.h"

/* Rows of a chunk; code that has more is left to the exact evaluator from there on. */
#define MAX_ROWS (1 << 16)

/* In place of an id: ask the exact evaluator. */
#define ASK_EVALUATOR UINT32_MAX

struct wide_row {
	uint32_t start; /* from the start of the chunk's first function */
	uint32_t rules;
};

struct narrow_row {
	uint16_t start, rules;
};

/* Each row holds up to the next one, the last to the next chunk. */
struct chunk {
	uint32_t n;
	bool is_wide;
	union {
		struct wide_row wide[0];
		struct narrow_row narrow[0];
	} rows;
};

struct cfi {
	const struct cfi_arch *arch;
	struct cfi_section sections[2]; /* .eh_frame, .debug_frame */
	struct cfi_index index;
	struct chunk **chunks; /* NULL: not made yet */
	size_t n_chunks;
	struct arena chunk_memory;
	struct cfi_rule_pool pool;
};

/* A chunk in the making. */
struct builder {
	struct cfi *table;
	uint64_t base, limit; /* what rows are relative to; where the next function begins */
	struct wide_row *rows;
	size_t n, max;
	bool is_full;
	int err;
};

int cfi_new(struct elf_file *f, struct cfi **out)
{
	const struct cfi_arch *arch = cfi_arch_of(elf_file_machine(f));
	struct cfi *t;
	int err;

	if (!arch)
		return -ENOTSUP;
	t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->arch = t->sections[0].arch = t->sections[1].arch = arch;
	cfi_section_open(&t->sections[0], f, ".eh_frame");
	cfi_section_open(&t->sections[1], f, ".debug_frame");
	err = cfi_index_fill(&t->index, t->sections, f);
	t->n_chunks = (t->index.n + CFI_CHUNK - 1) / CFI_CHUNK;
	if (!err) {
		t->chunks = calloc(t->n_chunks, sizeof(struct chunk *));
		err = t->chunks ? 0 : -ENOMEM;
	}
	if (err) {
		cfi_free(t);
		return err;
	}
	*out = t;
	return 0;
}

void cfi_free(struct cfi *c)
{
	if (!c)
		return;
	cfi_section_close(&c->sections[0]);
	cfi_section_close(&c->sections[1]);
	cfi_index_free(&c->index);
	cfi_rule_pool_free(&c->pool);
	arena_free(&c->chunk_memory);
	free(c->chunks);
	free(c);
}

/* --- the exact way ---------------------------------------------------------------------------------- */

static struct cfi_section *section_of(struct cfi *t, const struct cfi_place *place)
{
	return &t->sections[place->fde & CFI_IN_DEBUG_FRAME ? 1 : 0];
}

/* False: nothing that rows can be made of. */
static bool read_fde(struct cfi *t, size_t place, struct cfi_known_cie *known, struct cfi_fde *out)
{
	const struct cfi_place *p = &t->index.places[place];

	return cfi_entry_read(section_of(t, p), p->fde & ~CFI_IN_DEBUG_FRAME, known, out, NULL) &&
	       out->length <= UINT32_MAX && out->length <= UINT64_MAX - out->start &&
	       out->start == t->index.base + p->start;
}

int cfi_find(struct cfi *c, uint64_t address, struct cfi_row *out)
{
	struct cfi_known_cie known = { 0 };
	size_t n = cfi_index_up_to(&c->index, address);
	struct cfi_fde fde;

	if (!n || !read_fde(c, n - 1, &known, &fde) || address - fde.start >= fde.length)
		return -ENOENT;
	return cfi_program_run(section_of(c, &c->index.places[n - 1]), &fde, address, out);
}

bool cfi_next_function(const struct cfi *c, uint64_t address, uint64_t *start)
{
	size_t n = address ? cfi_index_up_to(&c->index, address - 1) : 0;

	if (n == c->index.n || (address > c->index.base && address - c->index.base > UINT32_MAX))
		return false;
	*start = c->index.base + c->index.places[n].start;
	return true;
}

/* --- making rows ------------------------------------------------------------------------------------ */

static void add_row(struct builder *b, uint64_t start, uint32_t rules)
{
	/* Nothing is asked of addresses further up than 4 GiB. */
	if (b->err || b->is_full || start - b->base > UINT32_MAX ||
	    (b->n && b->rows[b->n - 1].rules == rules))
		return;
	b->err = growing_array_reserve((void **)&b->rows, b->n + 1, &b->max, sizeof(*b->rows), SIZE_MAX);
	if (b->err)
		return;
	b->is_full = b->n + 1 == MAX_ROWS;
	b->rows[b->n++] = (struct wide_row){ .start = (uint32_t)(start - b->base),
		                             .rules = b->is_full ? ASK_EVALUATOR : rules };
}

static void take_row(void *context, const struct cfi_row *row)
{
	struct builder *b = context;
	uint32_t id = CFI_RULES_BROKEN;
	int err;

	if (row->start >= b->limit || b->err)
		return;
	err = cfi_rule_pool_add(&b->table->pool, b->table->arch, row, &id);
	if (err == -ENOMEM)
		b->err = err;
	add_row(b, row->start, err == -ENOSPC ? ASK_EVALUATOR : id);
}

/* The rows of one function, up to where the next begins. */
static void take_function(struct builder *b, size_t place, struct cfi_known_cie *known)
{
	struct cfi *t = b->table;
	bool is_last = place + 1 == t->index.n;
	uint64_t start = t->index.base + t->index.places[place].start, broken, end;
	uint64_t next = is_last ? UINT64_MAX : t->index.base + t->index.places[place + 1].start;
	struct cfi_fde fde;

	end = start;
	if (read_fde(t, place, known, &fde) && fde.length) {
		end = start + fde.length;
		b->limit = end < next ? end : next;
		if (cfi_program_rows(section_of(t, &t->index.places[place]), &fde, take_row, b, &broken) &&
		    broken < b->limit)
			add_row(b, broken, CFI_RULES_BROKEN);
	}
	if (is_last || end < next)
		add_row(b, end, CFI_RULES_NONE);
}

static bool fits_narrow(const struct builder *b)
{
	size_t i;

	for (i = 0; i < b->n; i++)
		if (b->rows[i].start > UINT16_MAX || b->rows[i].rules > UINT16_MAX)
			return false;
	return true;
}

static struct chunk *keep(struct builder *b)
{
	bool is_wide = !fits_narrow(b);
	size_t i, size = b->n * (is_wide ? sizeof(struct wide_row) : sizeof(struct narrow_row));
	struct chunk *c = arena_alloc(&b->table->chunk_memory, sizeof(*c) + size);

	if (!c)
		return NULL;
	c->n = (uint32_t)b->n;
	c->is_wide = is_wide;
	if (is_wide)
		memcpy(c->rows.wide, b->rows, size);
	for (i = 0; i < b->n && !is_wide; i++)
		c->rows.narrow[i] =
		        (struct narrow_row){ (uint16_t)b->rows[i].start, (uint16_t)b->rows[i].rules };
	return c;
}

static struct chunk *make_chunk(struct cfi *t, size_t number)
{
	size_t place = number * CFI_CHUNK,
	       end = place + CFI_CHUNK < t->index.n ? place + CFI_CHUNK : t->index.n;
	struct builder b = { .table = t, .base = t->index.base + t->index.places[place].start };
	struct cfi_known_cie known = { 0 };
	struct chunk *made = NULL;

	for (; place < end; place++)
		take_function(&b, place, &known);
	if (!b.err)
		made = keep(&b);
	free(b.rows);
	return made;
}

/* --- asking for rules ------------------------------------------------------------------------------- */

static uint32_t row_start(const struct chunk *c, size_t i)
{
	return c->is_wide ? c->rows.wide[i].start : c->rows.narrow[i].start;
}

/* Of the last row at or below `offset`; the first row is at 0. */
static uint32_t rules_of(const struct chunk *c, uint64_t offset)
{
	size_t low = search_past(i, 1, c->n, row_start(c, i) <= offset);

	return c->is_wide ? c->rows.wide[low - 1].rules : c->rows.narrow[low - 1].rules;
}

static int ask_evaluator(struct cfi *c, uint64_t address, uint32_t *id)
{
	struct cfi_row row;
	int err = cfi_find(c, address, &row);

	return err ? err : cfi_rule_pool_add(&c->pool, c->arch, &row, id);
}

int cfi_rules_at(struct cfi *c, uint64_t address, const struct cfi_rules **out)
{
	size_t n = cfi_index_up_to(&c->index, address), number = (n - 1) / CFI_CHUNK;
	uint32_t id;
	int err = 0;

	if (!n)
		return -ENOENT;
	if (!c->chunks[number])
		c->chunks[number] = make_chunk(c, number);
	if (!c->chunks[number])
		return -ENOMEM;
	id = rules_of(c->chunks[number], address - c->index.base - c->index.places[number * CFI_CHUNK].start);
	if (id == ASK_EVALUATOR)
		err = ask_evaluator(c, address, &id);
	if (err || id == CFI_RULES_NONE)
		return err ? err : -ENOENT;
	if (id == CFI_RULES_BROKEN)
		return -EBADMSG;
	*out = c->pool.by_id[id];
	return 0;
}

size_t cfi_memory(const struct cfi *c)
{
	return c->index.max * sizeof(*c->index.places) + c->n_chunks * sizeof(struct chunk *) +
	       c->chunk_memory.bytes + cfi_rule_pool_memory(&c->pool) + cfi_section_memory(&c->sections[0]) +
	       cfi_section_memory(&c->sections[1]);
}
