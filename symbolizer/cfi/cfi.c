/* Looks up unwind rules by address: makes rows for CFI_CHUNK functions at a time, when asked often, and keeps them. */

#include "symbolizer/cfi/cfi.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/cfi/cfi_index.h"
#include "symbolizer/base/search.h"
#include "symbolizer/base/growing_array.h"

/* Rows of a chunk; code that has more is left to the exact evaluator from there on. */
#define MAX_ROWS (1 << 16)

/* So many bytes of instructions may be run for a table, and so many more a lookup; functions of no more than these are never refused. All
 * longer ones of the library that has most have 475 KB (libcufft.so.12), which are run five times at most. */
#define MAX_RUN  ((uint64_t)8 << 20)
#define FREE_RUN 1024u

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

/* Chunks whose pointers stand together. */
#define GROUP 64

/* How often a chunk is asked for before its rows are made. */
#define ASKED_BEFORE 4

struct group {
	struct chunk *of[GROUP]; /* NULL: not made yet */
	uint8_t asked[GROUP];    /* how often so far, up to ASKED_BEFORE */
};

struct cfi {
	const struct cfi_arch *arch;
	struct elf_file *file;
	struct cfi_section sections[2]; /* .eh_frame, .debug_frame */
	struct cfi_index index;
	bool is_by_segments;   /* and whether there is a .debug_frame has not been looked at */
	struct group **groups; /* NULL: none of its chunks has been asked for yet */
	size_t n_groups;
	uint64_t run;              /* bytes of instructions, as of MAX_RUN */
	struct arena chunk_memory; /* of groups, too */
	struct cfi_rule_pool pool;
};

/* A chunk in the making. */
struct builder {
	struct cfi *table;
	uint64_t base; /* what rows are relative to */
	uint64_t start,
	        limit; /* of the function, and how far it reaches from there: to the next one at most */
	struct wide_row *rows;
	size_t n, max;
	bool is_full;
	int err;
};

_Static_assert(CFI_INDEX_BLOCK % CFI_CHUNK == 0, "a chunk is in one block of the index");

/* None of its chunks is there. */
static int make_groups(struct cfi *t)
{
	free(t->groups);
	t->n_groups = t->index.n / (CFI_CHUNK * GROUP) + 1;
	t->groups = calloc(t->n_groups, sizeof(struct group *));
	if (!t->groups)
		t->n_groups = 0;
	return t->groups ? 0 : -ENOMEM;
}

static void close_tables(struct cfi *t)
{
	cfi_section_close(&t->sections[0]);
	cfi_section_close(&t->sections[1]);
	cfi_index_free(&t->index);
	t->sections[0].arch = t->sections[1].arch = t->arch;
	t->is_by_segments = false;
}

/* False, and nothing is open: the tables have to be found by the file's sections. */
static bool open_by_segments(struct cfi *t)
{
	struct elf_eh_frame at;

	if (!elf_file_eh_frame(t->file, &at))
		return false;
	cfi_section_open_at(&t->sections[0], t->file, &at.frames, at.frames_offset);
	t->is_by_segments = !cfi_index_open(&t->index, t->file, &at) && t->sections[0].data;
	if (!t->is_by_segments)
		close_tables(t);
	return t->is_by_segments;
}

static void open_sections(struct cfi *t)
{
	cfi_section_open(&t->sections[0], t->file, ".eh_frame");
	cfi_section_open(&t->sections[1], t->file, ".debug_frame");
}

static int open_table(struct elf_file *f, bool has_segments, struct cfi **out)
{
	const struct cfi_arch *arch = cfi_arch_of(elf_file_machine(f));
	struct cfi *t;
	int err = 0;

	if (!arch)
		return -ENOTSUP;
	t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->file = f;
	t->arch = arch;
	close_tables(t);
	if (!has_segments || !open_by_segments(t)) {
		open_sections(t);
		err = cfi_index_fill(&t->index, t->sections, f);
	}
	if (!err)
		err = make_groups(t);
	if (err) {
		cfi_free(t);
		return err;
	}
	*out = t;
	return 0;
}

int cfi_new(struct elf_file *f, struct cfi **out)
{
	return open_table(f, true, out);
}

int cfi_new_of_debug_file(struct elf_file *f, struct cfi **out)
{
	return open_table(f, false, out);
}

void cfi_free(struct cfi *c)
{
	if (!c)
		return;
	close_tables(c);
	cfi_rule_pool_free(&c->pool);
	arena_free(&c->chunk_memory);
	free(c->groups);
	free(c);
}

/* --- the exact way ---------------------------------------------------------------------------------- */

static struct cfi_section *section_of(struct cfi *t, const struct cfi_place *place)
{
	return &t->sections[place->fde & CFI_IN_DEBUG_FRAME ? 1 : 0];
}

/* False: nothing that rows can be made of. */
static bool read_fde(struct cfi *t, const struct cfi_place *p, struct cfi_known_cie *known,
                     struct cfi_fde *out)
{
	return cfi_entry_read(section_of(t, p), p->fde & ~CFI_IN_DEBUG_FRAME, known, out, NULL) &&
	       out->length <= UINT32_MAX && out->length <= UINT64_MAX - out->start &&
	       out->start == t->index.base + p->start;
}

/* A hostile file's functions may all have the same instructions, of as many bytes as an FDE may have. */
static bool may_run(struct cfi *c, const struct cfi_fde *fde)
{
	size_t bytes = dwarf_left(&fde->program);

	if (c->run > MAX_RUN && bytes > FREE_RUN)
		return false;
	c->run += bytes;
	return true;
}

/* By the instructions of the only function that may have the address. */
static int evaluate(struct cfi *c, uint64_t address, bool always, struct cfi_row *out)
{
	struct cfi_known_cie known = { 0 };
	const struct cfi_place *place;
	struct cfi_fde fde;
	size_t n;
	int err = cfi_index_up_to(&c->index, address, &n);

	place = !err && n ? cfi_index_place(&c->index, n - 1) : NULL;
	if (err || !place || !read_fde(c, place, &known, &fde) || address - fde.start >= fde.length)
		return err ? err : -ENOENT;
	if (!always && !may_run(c, &fde))
		return -ENOSPC;
	return cfi_program_run(section_of(c, place), &fde, address, out);
}

/* Is there more in the sections than the linker's table says, or something else? */
static bool is_by_less(struct cfi *c)
{
	bool is_by_segments = c->is_by_segments;

	c->is_by_segments = false;
	return !cfi_index_is_good(&c->index) ||
	       (is_by_segments && elf_file_has_section(c->file, ".debug_frame"));
}

/* After a lookup with this result: is another worth it, by an index made of the sections themselves? Rules given out before stay. */
static bool look_again(struct cfi *c, int err)
{
	if (err != -ENOENT || !is_by_less(c))
		return false;
	close_tables(c);
	open_sections(c);
	cfi_index_scan(&c->index, c->sections,
	               c->file); /* without memory it is empty, and nothing is found */
	return !make_groups(c);
}

int cfi_find(struct cfi *c, uint64_t address, struct cfi_row *out)
{
	int err = evaluate(c, address, true, out);

	return look_again(c, err) ? evaluate(c, address, true, out) : err;
}

bool cfi_next_function(struct cfi *c, uint64_t address, uint64_t *start)
{
	const struct cfi_place *place;
	size_t n = 0;

	look_again(c, -ENOENT);
	if ((int64_t)(address - c->index.base) > UINT32_MAX ||
	    (address && cfi_index_up_to(&c->index, address - 1, &n)))
		return false;
	place = cfi_index_place(&c->index, n);
	if (place)
		*start = c->index.base + place->start;
	return place;
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

	if (row->start - b->start >= b->limit || b->err || b->is_full)
		return;
	err = cfi_rule_pool_add(&b->table->pool, b->table->arch, row, &id);
	if (err == -ENOMEM)
		b->err = err;
	add_row(b, row->start, err == -ENOSPC ? ASK_EVALUATOR : id);
}

/* The rows of one function, up to where the next begins; NULL: it is the last. Starts are compared as the index has them: what a wrong file
 * puts below address 0 comes first. */
static void take_function(struct builder *b, const struct cfi_place *place, const struct cfi_place *after,
                          struct cfi_known_cie *known)
{
	struct cfi *t = b->table;
	uint64_t room = after ? after->start - place->start : UINT64_MAX, broken;
	struct cfi_fde fde;

	b->start = t->index.base + place->start;
	b->limit = 0;
	if (read_fde(t, place, known, &fde) && fde.length) {
		b->limit = fde.length < room ? fde.length : room;
		if (!may_run(t, &fde))
			add_row(b, b->start, ASK_EVALUATOR);
		else if (cfi_program_rows(section_of(t, place), &fde, take_row, b, &broken) &&
		         broken - b->start < b->limit)
			add_row(b, broken, CFI_RULES_BROKEN);
	}
	if (!after || b->limit < room)
		add_row(b, b->start + b->limit, CFI_RULES_NONE);
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

/* NULL: not all of it can be read, or there is no memory. */
static struct chunk *make_chunk(struct cfi *t, size_t number)
{
	size_t i = number * CFI_CHUNK, end = i + CFI_CHUNK < t->index.n ? i + CFI_CHUNK : t->index.n;
	const struct cfi_place *place = cfi_index_place(&t->index, i), *after;
	struct builder b = { .table = t, .base = place ? t->index.base + place->start : 0 };
	struct cfi_known_cie known = { 0 };
	struct chunk *made = NULL;

	for (; place && i < end; i++, place = after) {
		after = i + 1 < t->index.n ? cfi_index_place(&t->index, i + 1) : NULL;
		if (!after && i + 1 < t->index.n)
			break;
		take_function(&b, place, after, &known);
	}
	if (i == end && !b.err)
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
	int err = evaluate(c, address, false, &row);

	return err ? err : cfi_rule_pool_add(&c->pool, c->arch, &row, id);
}

/* The group of a chunk. NULL: no memory. */
static struct group *group_of(struct cfi *c, size_t number)
{
	struct group **group = number / GROUP < c->n_groups ? &c->groups[number / GROUP] : NULL;

	if (group && !*group) {
		*group = arena_alloc(&c->chunk_memory, sizeof(**group));
		if (*group)
			**group = (struct group){ 0 };
	}
	return group ? *group : NULL;
}

/* The rows of a chunk, made when it is asked for the fifth time. Most functions are on stacks at one address, whose rules the caller keeps:
 * for that it takes a twentieth of the time to run one function's instructions as far as there. NULL: ask the evaluator. */
static const struct chunk *rows_of(struct cfi *c, size_t number)
{
	struct group *group = group_of(c, number);
	size_t i = number % GROUP;

	if (!group)
		return NULL;
	if (!group->of[i] && group->asked[i] == ASKED_BEFORE)
		group->of[i] = make_chunk(c, number);
	else if (!group->of[i])
		group->asked[i]++;
	return group->of[i];
}

static int find_rules(struct cfi *c, uint64_t address, const struct cfi_rules **out)
{
	const struct chunk *rows;
	uint32_t id = ASK_EVALUATOR;
	size_t n, number;
	int err = cfi_index_up_to(&c->index, address, &n);

	if (err || !n)
		return err ? err : -ENOENT;
	number = (n - 1) / CFI_CHUNK;
	rows = rows_of(c, number);
	if (rows)
		id = rules_of(rows, address - c->index.base -
		                            cfi_index_place(&c->index, number * CFI_CHUNK)->start);
	if (id == ASK_EVALUATOR)
		err = ask_evaluator(c, address, &id);
	if (err || id == CFI_RULES_NONE)
		return err ? err : -ENOENT;
	if (id == CFI_RULES_BROKEN)
		return -EBADMSG;
	*out = c->pool.by_id[id];
	return 0;
}

int cfi_rules_at(struct cfi *c, uint64_t address, const struct cfi_rules **out)
{
	int err;

	c->run -= c->run < FREE_RUN ? c->run : FREE_RUN;
	err = find_rules(c, address, out);
	return look_again(c, err) ? find_rules(c, address, out) : err;
}

size_t cfi_memory(const struct cfi *c)
{
	return cfi_index_memory(&c->index) + c->n_groups * sizeof(struct group *) + c->chunk_memory.bytes +
	       cfi_rule_pool_memory(&c->pool) + cfi_section_memory(&c->sections[0]) +
	       cfi_section_memory(&c->sections[1]);
}
