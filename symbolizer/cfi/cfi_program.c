/* Runs the call frame instructions of a CIE and an FDE into rows of rules. */

#include "symbolizer/cfi/cfi_program.h"

#include <dwarf.h>
#include <errno.h>
#include <string.h>

#define MAX_REMEMBERED    16
#define MAX_PROGRAM_BYTES CFI_MAX_FDE_BYTES
#define CFA               CFI_MAX_REGISTERS /* where the CFA's rule stands among the others */

/* Instructions of aadwarf64, whose numbers other processors use for other things. */
enum { AARCH64_NEGATE_RA_STATE_WITH_PC = 0x2c, AARCH64_NEGATE_RA_STATE = 0x2d };

struct rules {
	struct cfi_rule of[CFI_MAX_REGISTERS + 1];
	uint64_t touched; /* bit by register: those that have been spoken of; the others are CFI_SAME */
	bool is_signed;
};

struct machine {
	const struct cfi_section *section;
	const struct cfi_bytes *bytes; /* that the instructions are in */
	const struct cfi_arch *arch;
	const struct cfi_cie *cie;
	struct dwarf_cursor c;
	uint64_t location, target;
	uint64_t row_end; /* set when the location passes the target */
	bool done;
	cfi_row_function on_row; /* NULL: only the row at the target is wanted */
	void *context;
	struct rules now, initial;
	struct rules remembered[MAX_REMEMBERED];
	size_t n_remembered;
};

/*
 * Where the rule for a register stands. False: nobody unwinds by it (vector registers), so its rules go nowhere.
 */
static bool find_column(const struct machine *m, uint64_t reg, unsigned int *column)
{
	if (!m->arch->has_link && reg == m->cie->return_register)
		reg = m->arch->pc;
	else if (reg >= m->arch->pc)
		return false;
	*column = (unsigned int)reg;
	return true;
}

static void put_rule(struct machine *m, unsigned int column, struct cfi_rule rule)
{
	rule.reg = (uint8_t)column;
	m->now.of[column] = rule;
	m->now.touched |= (uint64_t)1 << column;
}

static void set_rule(struct machine *m, uint64_t reg, enum cfi_kind kind, int64_t n)
{
	unsigned int column;

	if (n < INT32_MIN || n > INT32_MAX)
		dwarf_fail(&m->c);
	if (find_column(m, reg, &column))
		put_rule(m, column, (struct cfi_rule){ .kind = (uint8_t)kind, .n = (int32_t)n });
}

static void set_cfa(struct machine *m, uint64_t reg, int64_t n)
{
	if (reg >= m->arch->pc || n < INT32_MIN || n > INT32_MAX)
		dwarf_fail(&m->c);
	m->now.of[CFA] = (struct cfi_rule){ .kind = CFI_OFFSET, .reg = (uint8_t)reg, .n = (int32_t)n };
}

/* One of the two alone, of a CFA that has both: what an expression has in their place is no offset. */
static void change_cfa(struct machine *m, uint64_t reg, int64_t n)
{
	if (m->now.of[CFA].kind == CFI_EXPRESSION)
		dwarf_fail(&m->c);
	set_cfa(m, reg, n);
}

/* A rule that is the block that begins here. */
static struct cfi_rule read_expression(struct machine *m, enum cfi_kind kind)
{
	uint64_t len = dwarf_uleb(&m->c);
	int64_t at = m->c.failed ? 0 : m->c.pos - m->section->data;

	dwarf_skip(&m->c, len);
	if (len > CFI_MAX_EXPRESSION || at > INT32_MAX)
		dwarf_fail(&m->c);
	return (struct cfi_rule){ .kind = (uint8_t)kind, .length = (uint16_t)len, .n = (int32_t)at };
}

static void set_expression(struct machine *m, uint64_t reg, enum cfi_kind kind)
{
	struct cfi_rule rule = read_expression(m, kind);
	unsigned int column;

	if (find_column(m, reg, &column))
		put_rule(m, column, rule);
}

static void restore_rule(struct machine *m, uint64_t reg)
{
	unsigned int column;

	if (find_column(m, reg, &column))
		put_rule(m, column, m->initial.of[column]);
}

/* The rules as they are now, which hold from the location to `end`. */
static void fill_row(const struct machine *m, uint64_t end, struct cfi_row *out)
{
	uint64_t left;

	out->start = m->location;
	out->end = end;
	out->expressions = m->section->data;
	out->cfa = m->now.of[CFA];
	out->is_signal = m->cie->is_signal;
	out->is_signed = m->now.is_signed;
	out->return_register = m->arch->has_link ? (uint8_t)m->cie->return_register : m->arch->pc;
	out->n_rules = 0;
	for (left = m->now.touched; left; left &= left - 1) {
		const struct cfi_rule *rule = &m->now.of[__builtin_ctzll(left)];

		if (rule->kind != CFI_SAME)
			out->rules[out->n_rules++] = *rule;
	}
}

static void report_row(const struct machine *m, uint64_t end)
{
	struct cfi_row row;

	fill_row(m, end, &row);
	m->on_row(m->context, &row);
}

/* Locations go up only. */
static void move_to(struct machine *m, uint64_t location)
{
	if (location < m->location)
		dwarf_fail(&m->c);
	if (m->c.failed)
		return;
	if (location > m->target) {
		m->row_end = location;
		m->done = true;
		return;
	}
	if (m->on_row && location > m->location)
		report_row(m, location);
	m->location = location;
}

static void advance(struct machine *m, uint64_t delta)
{
	move_to(m, m->location + delta * m->cie->code_alignment);
}

static void remember(struct machine *m)
{
	if (m->n_remembered == MAX_REMEMBERED)
		dwarf_fail(&m->c);
	else
		m->remembered[m->n_remembered++] = m->now;
}

static void restore_remembered(struct machine *m)
{
	if (!m->n_remembered)
		dwarf_fail(&m->c);
	else
		m->now = m->remembered[--m->n_remembered];
}

static int64_t factored_uleb(struct machine *m)
{
	return (int64_t)(dwarf_uleb(&m->c) * (uint64_t)m->cie->data_alignment);
}

static int64_t factored_sleb(struct machine *m)
{
	return (int64_t)((uint64_t)dwarf_sleb(&m->c) * (uint64_t)m->cie->data_alignment);
}

/* Instructions about the CFA. False: it is none of them. */
static bool run_cfa(struct machine *m, uint8_t op)
{
	struct cfi_rule *cfa = &m->now.of[CFA];
	uint64_t reg;

	switch (op) {
	case DW_CFA_def_cfa:
		reg = dwarf_uleb(&m->c);
		set_cfa(m, reg, (int64_t)dwarf_uleb(&m->c));
		return true;
	case DW_CFA_def_cfa_sf:
		reg = dwarf_uleb(&m->c);
		set_cfa(m, reg, factored_sleb(m));
		return true;
	case DW_CFA_def_cfa_register:
		change_cfa(m, dwarf_uleb(&m->c), cfa->n);
		return true;
	case DW_CFA_def_cfa_offset:
		change_cfa(m, cfa->reg, (int64_t)dwarf_uleb(&m->c));
		return true;
	case DW_CFA_def_cfa_offset_sf:
		change_cfa(m, cfa->reg, factored_sleb(m));
		return true;
	case DW_CFA_def_cfa_expression:
		m->now.of[CFA] = read_expression(m, CFI_EXPRESSION);
		return true;
	default:
		return false;
	}
}

static bool is_register_op(uint8_t op)
{
	switch (op) {
	case DW_CFA_offset_extended:
	case DW_CFA_restore_extended:
	case DW_CFA_undefined:
	case DW_CFA_same_value:
	case DW_CFA_register:
	case DW_CFA_expression:
	case DW_CFA_offset_extended_sf:
	case DW_CFA_val_offset:
	case DW_CFA_val_offset_sf:
	case DW_CFA_val_expression:
	case DW_CFA_GNU_negative_offset_extended:
		return true;
	default:
		return false;
	}
}

/* Instructions about where a register is, which all begin with its number. */
static void run_register(struct machine *m, uint8_t op)
{
	uint64_t reg = dwarf_uleb(&m->c);

	switch (op) {
	case DW_CFA_offset_extended:
		set_rule(m, reg, CFI_OFFSET, factored_uleb(m));
		break;
	case DW_CFA_offset_extended_sf:
		set_rule(m, reg, CFI_OFFSET, factored_sleb(m));
		break;
	case DW_CFA_GNU_negative_offset_extended:
		set_rule(m, reg, CFI_OFFSET, (int64_t)(0 - (uint64_t)factored_uleb(m)));
		break;
	case DW_CFA_val_offset:
		set_rule(m, reg, CFI_VALUE_OFFSET, factored_uleb(m));
		break;
	case DW_CFA_val_offset_sf:
		set_rule(m, reg, CFI_VALUE_OFFSET, factored_sleb(m));
		break;
	case DW_CFA_restore_extended:
		restore_rule(m, reg);
		break;
	case DW_CFA_undefined:
		set_rule(m, reg, CFI_UNDEFINED, 0);
		break;
	case DW_CFA_same_value:
		set_rule(m, reg, CFI_SAME, 0);
		break;
	case DW_CFA_register:
		set_rule(m, reg, CFI_REGISTER, (int64_t)dwarf_uleb(&m->c));
		break;
	case DW_CFA_expression:
		set_expression(m, reg, CFI_EXPRESSION);
		break;
	case DW_CFA_val_expression:
		set_expression(m, reg, CFI_VALUE_EXPRESSION);
		break;
	default:
		dwarf_fail(&m->c);
	}
}

/* The others. */
static void run_rest(struct machine *m, uint8_t op)
{
	switch (op) {
	case DW_CFA_nop:
		break;
	case DW_CFA_set_loc:
		move_to(m, cfi_pointer(m->bytes, &m->c, m->cie->pointer_encoding, m->cie->address_size));
		break;
	case DW_CFA_advance_loc1:
		advance(m, dwarf_u8(&m->c));
		break;
	case DW_CFA_advance_loc2:
		advance(m, dwarf_u16(&m->c));
		break;
	case DW_CFA_advance_loc4:
		advance(m, dwarf_u32(&m->c));
		break;
	case DW_CFA_remember_state:
		remember(m);
		break;
	case DW_CFA_restore_state:
		restore_remembered(m);
		break;
	case DW_CFA_GNU_args_size:
		dwarf_uleb(&m->c);
		break;
	case AARCH64_NEGATE_RA_STATE:
	case AARCH64_NEGATE_RA_STATE_WITH_PC:
		if (!m->arch->has_link)
			dwarf_fail(&m->c);
		m->now.is_signed = !m->now.is_signed;
		break;
	default:
		dwarf_fail(&m->c);
	}
}

static int run(struct machine *m, struct dwarf_cursor program, const struct cfi_bytes *bytes)
{
	uint8_t op;

	m->c = program;
	m->bytes = bytes;
	if (dwarf_left(&m->c) > MAX_PROGRAM_BYTES)
		return -EBADMSG;
	while (!m->done && dwarf_left(&m->c)) {
		op = dwarf_u8(&m->c);
		if ((op & 0xc0) == DW_CFA_advance_loc)
			advance(m, op & 0x3f);
		else if ((op & 0xc0) == DW_CFA_offset)
			set_rule(m, op & 0x3f, CFI_OFFSET, factored_uleb(m));
		else if ((op & 0xc0) == DW_CFA_restore)
			restore_rule(m, op & 0x3f);
		else if (is_register_op(op))
			run_register(m, op);
		else if (!run_cfa(m, op))
			run_rest(m, op);
	}
	return m->c.failed ? -EBADMSG : 0;
}

static int run_both(struct machine *m, const struct cfi_fde *fde)
{
	int err;

	memset(&m->now, 0, sizeof(m->now));
	m->initial = m->now;
	m->arch = m->section->arch;
	m->cie = &fde->cie;
	m->location = fde->start;
	err = run(m, fde->cie.program, &fde->cie.bytes);
	m->initial = m->now;
	if (!err && !m->done)
		err = run(m, fde->program, &fde->bytes);
	return err;
}

int cfi_program_run(const struct cfi_section *s, const struct cfi_fde *fde, uint64_t address,
                    struct cfi_row *out)
{
	uint64_t end = fde->start + fde->length;
	struct machine m;

	m.section = s;
	m.target = address;
	m.row_end = end;
	m.done = false;
	m.on_row = NULL;
	m.n_remembered = 0;
	if (run_both(&m, fde) || m.now.of[CFA].kind == CFI_SAME)
		return -EBADMSG;
	fill_row(&m, m.row_end < end ? m.row_end : end, out);
	return 0;
}

int cfi_program_rows(const struct cfi_section *s, const struct cfi_fde *fde, cfi_row_function on_row,
                     void *context, uint64_t *broken_from)
{
	struct machine m;
	int err;

	m.section = s;
	m.target = UINT64_MAX;
	m.done = false;
	m.on_row = on_row;
	m.context = context;
	m.n_remembered = 0;
	err = run_both(&m, fde);
	if (err)
		*broken_from = m.location;
	else if (m.location < fde->start + fde->length)
		report_row(&m, fde->start + fde->length);
	return err;
}
