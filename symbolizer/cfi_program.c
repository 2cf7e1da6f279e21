#include "symbolizer/cfi_program.h"

#include <dwarf.h>
#include <errno.h>

#define MAX_REMEMBERED 16
#define CFA            CFI_REGISTERS /* where the CFA's rule stands among the others */

struct rules {
	struct cfi_rule of[CFI_REGISTERS + 1];
};

struct machine {
	const struct cfi_section *section;
	const struct cfi_cie *cie;
	struct dwarf_cursor c;
	uint64_t location, target;
	uint64_t row_end; /* set when the location passes the target */
	bool done;
	struct rules now, initial;
	struct rules remembered[MAX_REMEMBERED];
	size_t n_remembered;
};

/* DW_EH_PE_ constants, which are in the LSB and not in DWARF. */
enum {
	PE_ABSPTR = 0,
	PE_ULEB = 1,
	PE_UDATA2 = 2,
	PE_UDATA4 = 3,
	PE_UDATA8 = 4,
	PE_SLEB = 9,
	PE_SDATA2 = 10,
	PE_SDATA4 = 11,
	PE_SDATA8 = 12,
	PE_FORMAT = 15,
	PE_PCREL = 0x10,
	PE_APPLICATION = 0x70,
	PE_INDIRECT = 0x80,
};

static uint64_t pointer_value(struct dwarf_cursor *c, uint8_t format, uint8_t address_size)
{
	switch (format) {
	case PE_ABSPTR:
		return dwarf_fixed(c, address_size);
	case PE_ULEB:
		return dwarf_uleb(c);
	case PE_UDATA2:
		return dwarf_u16(c);
	case PE_UDATA4:
		return dwarf_u32(c);
	case PE_UDATA8:
	case PE_SDATA8:
		return dwarf_u64(c);
	case PE_SLEB:
		return (uint64_t)dwarf_sleb(c);
	case PE_SDATA2:
		return (uint64_t)(int64_t)(int16_t)dwarf_u16(c);
	case PE_SDATA4:
		return (uint64_t)(int64_t)(int32_t)dwarf_u32(c);
	default:
		dwarf_fail(c);
		return 0;
	}
}

uint64_t cfi_pointer(const struct cfi_section *s, struct dwarf_cursor *c, uint8_t encoding,
                     uint8_t address_size)
{
	uint64_t here = s->address + (c->failed ? 0 : (uint64_t)(c->pos - s->data));
	uint64_t value = pointer_value(c, encoding & PE_FORMAT, address_size);

	if (encoding & PE_INDIRECT)
		dwarf_fail(c);
	switch (encoding & PE_APPLICATION) {
	case 0:
		return value;
	case PE_PCREL:
		return value + here;
	default:
		dwarf_fail(c);
		return 0;
	}
}

/* A rule for a register that nobody unwinds by (vector registers) goes nowhere. */
static void set_rule(struct machine *m, uint64_t reg, enum cfi_kind kind, int64_t n)
{
	if (n < INT32_MIN || n > INT32_MAX)
		dwarf_fail(&m->c);
	if (reg == m->cie->return_register)
		reg = CFI_RETURN_ADDRESS;
	else if (reg >= CFI_RETURN_ADDRESS)
		return;
	m->now.of[reg] = (struct cfi_rule){ .kind = (uint8_t)kind, .reg = (uint8_t)reg, .n = (int32_t)n };
}

static void set_cfa(struct machine *m, uint64_t reg, int64_t n)
{
	if (reg >= CFI_RETURN_ADDRESS || n < INT32_MIN || n > INT32_MAX)
		dwarf_fail(&m->c);
	m->now.of[CFA] = (struct cfi_rule){ .kind = CFI_OFFSET, .reg = (uint8_t)reg, .n = (int32_t)n };
}

/* The block that begins here. */
static void set_expression(struct machine *m, uint64_t reg, enum cfi_kind kind)
{
	uint64_t len = dwarf_uleb(&m->c);
	int64_t at = m->c.failed ? 0 : m->c.pos - m->section->data;

	dwarf_skip(&m->c, len);
	if (len > UINT16_MAX)
		dwarf_fail(&m->c);
	if (reg == CFA)
		m->now.of[CFA] = (struct cfi_rule){ .kind = (uint8_t)kind, .n = (int32_t)at };
	else
		set_rule(m, reg, kind, at);
	if (reg == m->cie->return_register)
		reg = CFI_RETURN_ADDRESS;
	if (reg <= CFA)
		m->now.of[reg].length = (uint16_t)len;
}

static void restore_rule(struct machine *m, uint64_t reg)
{
	if (reg == m->cie->return_register)
		reg = CFI_RETURN_ADDRESS;
	if (reg < CFI_REGISTERS)
		m->now.of[reg] = m->initial.of[reg];
}

static void move_to(struct machine *m, uint64_t location)
{
	if (location > m->target) {
		m->row_end = location;
		m->done = true;
	} else {
		m->location = location;
	}
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
		set_cfa(m, dwarf_uleb(&m->c), cfa->n);
		return true;
	case DW_CFA_def_cfa_offset:
		set_cfa(m, cfa->reg, (int64_t)dwarf_uleb(&m->c));
		return true;
	case DW_CFA_def_cfa_offset_sf:
		set_cfa(m, cfa->reg, factored_sleb(m));
		return true;
	case DW_CFA_def_cfa_expression:
		set_expression(m, CFA, CFI_EXPRESSION);
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
		set_rule(m, reg, CFI_OFFSET, -factored_uleb(m));
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
		move_to(m, cfi_pointer(m->section, &m->c, m->cie->pointer_encoding, m->cie->address_size));
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
	default:
		dwarf_fail(&m->c);
	}
}

static int run(struct machine *m, struct dwarf_cursor program)
{
	uint8_t op;

	m->c = program;
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

int cfi_program_run(const struct cfi_section *s, const struct cfi_cie *cie, struct dwarf_cursor fde,
                    uint64_t start, uint64_t end, uint64_t address, struct cfi_row *out)
{
	struct machine m = { .section = s, .cie = cie, .location = start, .target = address, .row_end = end };
	int i, err = run(&m, cie->program);

	m.initial = m.now;
	if (!err && !m.done)
		err = run(&m, fde);
	if (err || m.now.of[CFA].kind == CFI_SAME)
		return -EBADMSG;
	*out = (struct cfi_row){ .start = m.location,
		                 .end = m.row_end < end ? m.row_end : end,
		                 .expressions = s->data,
		                 .cfa = m.now.of[CFA],
		                 .is_signal = cie->is_signal };
	for (i = 0; i < CFI_REGISTERS; i++)
		if (m.now.of[i].kind != CFI_SAME)
			out->rules[out->n_rules++] = m.now.of[i];
	return 0;
}
