/* Line tables: runs a unit's line program of .debug_line (versions 2 to 5) into sorted rows. */

#include "symbolizer/dwarf/dwarf_lines.h"

#include <dwarf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "symbolizer/dwarf/dwarf_line_header.h"
#include "symbolizer/base/search.h"
#include "symbolizer/base/growing_array.h"

/* Of one unit. The largest met have 2^16 rows (CPython, cargo). */
#define MAX_ROWS      (1 << 22)
#define MAX_SEQUENCES (1 << 20)

/* How many sequences a lookup goes back for one that overlaps those after it. */
#define MAX_OVERLAPS 16

struct row {
	uint64_t address;
	uint32_t file, line;
};

/* Rows first to end - 1 cover [start, end_address). */
struct sequence {
	uint64_t start, end_address;
	uint32_t first, end;
};

struct dwarf_lines {
	struct dwarf_line_header header;
	struct row *rows;
	size_t n_rows, max_rows;
	struct sequence *sequences; /* by start */
	size_t n_sequences, max_sequences;
	const char *comp_dir;
};

/* The registers of the line machine that are of use here. */
struct machine {
	uint64_t address;
	uint64_t file;
	uint64_t line;
	bool in_sequence;
};

static int begin_sequence(struct dwarf_lines *l, struct machine *m)
{
	int err = growing_array_reserve((void **)&l->sequences, l->n_sequences + 1, &l->max_sequences,
	                                sizeof(*l->sequences), MAX_SEQUENCES);

	if (err)
		return err;
	l->sequences[l->n_sequences] = (struct sequence){ .start = m->address,
		                                          .end_address = m->address,
		                                          .first = (uint32_t)l->n_rows };
	m->in_sequence = true;
	return 0;
}

static int emit_row(struct dwarf_lines *l, struct machine *m)
{
	struct sequence *s;
	int err = m->in_sequence ? 0 : begin_sequence(l, m);

	if (err)
		return err;
	s = &l->sequences[l->n_sequences];
	if (l->n_rows > s->first && l->rows[l->n_rows - 1].address == m->address)
		l->n_rows--;
	else if (m->address < s->end_address)
		return 0; /* goes backwards: not sorted, so not usable */
	if (l->n_rows == l->max_rows)
		err = growing_array_reserve((void **)&l->rows, l->n_rows + 1, &l->max_rows, sizeof(*l->rows),
		                            MAX_ROWS);
	if (err)
		return err;
	l->rows[l->n_rows++] = (struct row){ .address = m->address,
		                             .file = m->file > UINT32_MAX ? UINT32_MAX : (uint32_t)m->file,
		                             .line = m->line > UINT32_MAX ? 0 : (uint32_t)m->line };
	s->end_address = m->address;
	return 0;
}

static void reset(struct machine *m)
{
	*m = (struct machine){ .file = 1, .line = 1 };
}

/* Drops what the linker discarded: such sequences stand at 0 or at the very top, or are empty. */
static void end_sequence(struct dwarf_lines *l, struct machine *m)
{
	struct sequence *s = m->in_sequence ? &l->sequences[l->n_sequences] : NULL;

	if (s && m->address > s->start && s->start && s->start < UINT64_MAX - 1) {
		s->end_address = m->address;
		s->end = (uint32_t)l->n_rows;
		l->n_sequences++;
	} else if (s) {
		l->n_rows = s->first;
	}
	reset(m);
}

static void run_extended(struct dwarf_lines *l, struct machine *m, struct dwarf_cursor *c)
{
	uint64_t len = dwarf_uleb(c);
	struct dwarf_cursor op = *c;

	dwarf_skip(c, len);
	if (c->failed || !len)
		return;
	op.end = c->pos;
	switch (dwarf_u8(&op)) {
	case DW_LNE_end_sequence:
		end_sequence(l, m);
		break;
	case DW_LNE_set_address:
		m->address = dwarf_fixed(&op, dwarf_left(&op) < 8 ? (unsigned int)dwarf_left(&op) : 8);
		break;
	default:
		break;
	}
}

static void skip_unknown(const struct dwarf_line_header *h, uint8_t opcode, struct dwarf_cursor *c)
{
	uint8_t n = h->opcode_lengths[opcode - 1];

	while (n-- && !c->failed)
		dwarf_uleb(c);
}

static int run_standard(struct dwarf_lines *l, struct machine *m, struct dwarf_cursor *c, uint8_t opcode)
{
	const struct dwarf_line_header *h = &l->header;

	switch (opcode) {
	case DW_LNS_copy:
		return emit_row(l, m);
	case DW_LNS_advance_pc:
		m->address += dwarf_uleb(c) * h->min_instruction_length;
		break;
	case DW_LNS_advance_line:
		m->line += (uint64_t)dwarf_sleb(c);
		break;
	case DW_LNS_set_file:
		m->file = dwarf_uleb(c);
		break;
	case DW_LNS_const_add_pc:
		m->address += (uint64_t)((255 - h->opcode_base) / h->line_range) * h->min_instruction_length;
		break;
	case DW_LNS_fixed_advance_pc:
		m->address += dwarf_u16(c);
		break;
	default:
		skip_unknown(h, opcode, c);
	}
	return 0;
}

static int run_special(struct dwarf_lines *l, struct machine *m, uint8_t opcode)
{
	const struct dwarf_line_header *h = &l->header;
	unsigned int adjusted = opcode - h->opcode_base;

	m->address += (uint64_t)(adjusted / h->line_range) * h->min_instruction_length;
	m->line += (uint64_t)(int64_t)(h->line_base + (int)(adjusted % h->line_range));
	return emit_row(l, m);
}

/* On an error the rows before it stay. A sequence that does not end has none: it is not known how far its last row goes. */
static int run_program(struct dwarf_lines *l)
{
	struct dwarf_cursor c = l->header.program;
	struct machine m;
	uint8_t opcode;
	int err = 0;

	reset(&m);
	while (!err && dwarf_left(&c)) {
		opcode = dwarf_u8(&c);
		if (opcode >= l->header.opcode_base)
			err = run_special(l, &m, opcode);
		else if (opcode)
			err = run_standard(l, &m, &c, opcode);
		else
			run_extended(l, &m, &c);
	}
	if (m.in_sequence && err) {
		m.address = l->sequences[l->n_sequences].end_address;
		end_sequence(l, &m);
	}
	if (m.in_sequence)
		l->n_rows = l->sequences[l->n_sequences].first;
	return err;
}

static int compare_starts(const void *a, const void *b)
{
	const struct sequence *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* Units may share one table, so it counts; a broken header as far as it has been read. */
static uint64_t work_of(const struct dwarf_lines *l)
{
	return dwarf_lines_work(dwarf_left(&l->header.program)) +
	       (l->header.n_files + l->header.n_directories) * 16;
}

int dwarf_lines_read(struct dwarf_info *d, const struct dwarf_unit *u, struct dwarf_lines **out)
{
	struct dwarf_lines *l;
	int err;

	if (u->stmt_list == UINT64_MAX || !d->line.len)
		return -ENOENT;
	l = calloc(1, sizeof(*l));
	if (!l)
		return -ENOMEM;
	l->comp_dir = u->comp_dir ? u->comp_dir : "";
	err = dwarf_line_header_read(d, u, &l->header);
	if (!dwarf_info_work(d, work_of(l)) && !err)
		err = -EFBIG;
	if (err) {
		dwarf_lines_free(l);
		return err;
	}
	err = run_program(l);
	if (l->n_sequences)
		qsort(l->sequences, l->n_sequences, sizeof(*l->sequences), compare_starts);
	*out = l;
	return err;
}

void dwarf_lines_free(struct dwarf_lines *l)
{
	if (!l)
		return;
	dwarf_line_header_release(&l->header);
	free(l->rows);
	free(l->sequences);
	free(l);
}

static const struct row *row_in(const struct dwarf_lines *l, const struct sequence *s, uint64_t address)
{
	uint32_t low = search_past(i, s->first, s->end, l->rows[i].address <= address);

	return low > s->first ? &l->rows[low - 1] : NULL;
}

/* NULL: none has the address. Narrows `same` to where the answer is the same one. */
static const struct sequence *find_sequence(const struct dwarf_lines *l, uint64_t address,
                                            struct dwarf_interval *same)
{
	size_t low, i;
	const struct sequence *s;

	low = search_past(at, 0, l->n_sequences, l->sequences[at].start <= address);
	if (low < l->n_sequences)
		dwarf_interval_end(same, l->sequences[low].start);
	if (low)
		dwarf_interval_begin(same, l->sequences[low - 1].start);
	for (i = 0; i < MAX_OVERLAPS && i < low; i++) {
		s = &l->sequences[low - 1 - i];
		if (address < s->end_address) {
			dwarf_interval_end(same, s->end_address);
			return s;
		}
		dwarf_interval_begin(same, s->end_address);
	}
	return NULL;
}

bool dwarf_lines_find(const struct dwarf_lines *l, uint64_t address, uint32_t *file, uint32_t *line)
{
	struct dwarf_interval same = { 0, UINT64_MAX };
	const struct sequence *sequence = find_sequence(l, address, &same);
	const struct row *row = sequence ? row_in(l, sequence, address) : NULL;

	if (!row)
		return false;
	*file = row->file;
	*line = row->line;
	return true;
}

int dwarf_lines_each_row(const struct dwarf_lines *l, uint64_t address, struct dwarf_interval *same,
                         int (*each)(uint64_t row, void *context), void *context)
{
	const struct sequence *s = find_sequence(l, address, same);
	const struct row *row = s ? row_in(l, s, same->low) : NULL;
	int err = 0;

	for (row = row ? row : s ? l->rows + s->first : NULL; s && !err && row < l->rows + s->end; row++) {
		if (row->address >= same->high)
			break;
		if (row->address > same->low)
			err = each(row->address, context);
	}
	return err;
}

bool dwarf_lines_path(const struct dwarf_lines *l, uint32_t file, char *path, size_t size)
{
	const struct dwarf_line_header *h = &l->header;
	const char *name, *directory = "", *base = "";
	int n;

	if (file >= h->n_files)
		return false;
	name = h->files[file].name;
	if (name[0] != '/' && h->files[file].directory < h->n_directories)
		directory = h->directories[h->files[file].directory];
	if (name[0] != '/' && directory[0] != '/')
		base = l->comp_dir;
	if (base[0] && strcmp(base, directory) == 0)
		base = "";
	n = snprintf(path, size, "%s%s%s%s%s", base, base[0] ? "/" : "", directory, directory[0] ? "/" : "",
	             name);
	return n > 0 && (size_t)n < size;
}

size_t dwarf_lines_memory(const struct dwarf_lines *l)
{
	return sizeof(*l) + l->max_rows * sizeof(*l->rows) + l->max_sequences * sizeof(*l->sequences) +
	       l->header.n_files * sizeof(*l->header.files) +
	       l->header.n_directories * sizeof(*l->header.directories);
}
