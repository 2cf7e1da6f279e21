/* Evaluates the DWARF expressions of call frame information on a small stack machine. */

#include "symbolizer/cfi/cfi_expression.h"

#include <dwarf.h>
#include <errno.h>

#include "symbolizer/base/dwarf_cursor.h"

#define MAX_STACK 64
#define MAX_STEPS 1000

struct machine {
	const struct cfi_environment *env;
	struct dwarf_cursor c;
	const uint8_t *start;
	uint64_t stack[MAX_STACK];
	size_t depth;
	int err;
};

static void fail(struct machine *m, int err)
{
	if (!m->err)
		m->err = err;
}

static void push(struct machine *m, uint64_t value)
{
	if (m->depth == MAX_STACK)
		fail(m, -EBADMSG);
	else
		m->stack[m->depth++] = value;
}

static uint64_t pop(struct machine *m)
{
	if (!m->depth) {
		fail(m, -EBADMSG);
		return 0;
	}
	return m->stack[--m->depth];
}

/* The value `down` below the top. */
static void pick(struct machine *m, size_t down)
{
	if (down >= m->depth)
		fail(m, -EBADMSG);
	else
		push(m, m->stack[m->depth - 1 - down]);
}

static void push_register(struct machine *m, uint64_t reg, int64_t offset)
{
	uint64_t value = 0;
	int err = reg >= m->env->n_registers
	                  ? -EBADMSG
	                  : m->env->read_register(m->env->context, (unsigned int)reg, &value);

	if (err)
		fail(m, err);
	push(m, value + (uint64_t)offset);
}

static void dereference(struct machine *m, size_t len)
{
	uint64_t value = 0, address = pop(m);
	int err = m->err;

	if (!err)
		err = len && len <= 8 ? m->env->read_memory(m->env->context, address, len, &value) : -EBADMSG;
	if (err)
		fail(m, err);
	push(m, value);
}

static void swap(struct machine *m)
{
	uint64_t top = pop(m), below = pop(m);

	push(m, top);
	push(m, below);
}

/* The top goes below the two under it. */
static void rotate(struct machine *m)
{
	uint64_t a = pop(m), b = pop(m), c = pop(m);

	push(m, a);
	push(m, c);
	push(m, b);
}

static void jump(struct machine *m, int16_t distance)
{
	int64_t to = m->c.failed ? -1 : m->c.pos - m->start + distance;

	if (to < 0 || to > m->c.end - m->start)
		fail(m, -EBADMSG);
	else
		m->c.pos = m->start + to;
}

static uint64_t arithmetic(struct machine *m, uint8_t op, uint64_t a, uint64_t b)
{
	int64_t sa = (int64_t)a, sb = (int64_t)b;

	switch (op) {
	case DW_OP_and:
		return a & b;
	case DW_OP_or:
		return a | b;
	case DW_OP_xor:
		return a ^ b;
	case DW_OP_plus:
		return a + b;
	case DW_OP_minus:
		return a - b;
	case DW_OP_mul:
		return a * b;
	case DW_OP_div:
		if (!sb || (sa == INT64_MIN && sb == -1))
			fail(m, -EBADMSG);
		return m->err ? 0 : (uint64_t)(sa / sb);
	case DW_OP_mod:
		if (!b)
			fail(m, -EBADMSG);
		return m->err ? 0 : a % b;
	case DW_OP_shl:
		return b < 64 ? a << b : 0;
	case DW_OP_shr:
		return b < 64 ? a >> b : 0;
	case DW_OP_shra:
		return (uint64_t)(sa >> (b < 64 ? b : 63));
	case DW_OP_eq:
		return sa == sb;
	case DW_OP_ne:
		return sa != sb;
	case DW_OP_lt:
		return sa < sb;
	case DW_OP_le:
		return sa <= sb;
	case DW_OP_gt:
		return sa > sb;
	case DW_OP_ge:
		return sa >= sb;
	default:
		fail(m, -EBADMSG);
		return 0;
	}
}

/* A number that stands in the expression. False: the operation is no such thing. */
static bool run_constant(struct machine *m, uint8_t op)
{
	if (op >= DW_OP_lit0 && op <= DW_OP_lit31)
		return push(m, op - DW_OP_lit0), true;
	switch (op) {
	case DW_OP_addr:
		return push(m, dwarf_u64(&m->c) + m->env->load_bias), true;
	case DW_OP_const1u:
		return push(m, dwarf_u8(&m->c)), true;
	case DW_OP_const1s:
		return push(m, (uint64_t)(int64_t)(int8_t)dwarf_u8(&m->c)), true;
	case DW_OP_const2u:
		return push(m, dwarf_u16(&m->c)), true;
	case DW_OP_const2s:
		return push(m, (uint64_t)(int64_t)(int16_t)dwarf_u16(&m->c)), true;
	case DW_OP_const4u:
		return push(m, dwarf_u32(&m->c)), true;
	case DW_OP_const4s:
		return push(m, (uint64_t)(int64_t)(int32_t)dwarf_u32(&m->c)), true;
	case DW_OP_const8u:
	case DW_OP_const8s:
		return push(m, dwarf_u64(&m->c)), true;
	case DW_OP_constu:
		return push(m, dwarf_uleb(&m->c)), true;
	case DW_OP_consts:
		return push(m, (uint64_t)dwarf_sleb(&m->c)), true;
	default:
		return false;
	}
}

/* Moving values about. False: the operation is no such thing. */
static bool run_stack(struct machine *m, uint8_t op)
{
	switch (op) {
	case DW_OP_dup:
		return pick(m, 0), true;
	case DW_OP_drop:
		return pop(m), true;
	case DW_OP_over:
		return pick(m, 1), true;
	case DW_OP_pick:
		return pick(m, dwarf_u8(&m->c)), true;
	case DW_OP_swap:
		return swap(m), true;
	case DW_OP_rot:
		return rotate(m), true;
	case DW_OP_deref:
		return dereference(m, 8), true;
	case DW_OP_deref_size:
		return dereference(m, dwarf_u8(&m->c)), true;
	case DW_OP_nop:
		return true;
	default:
		return false;
	}
}

static void run_rest(struct machine *m, uint8_t op)
{
	uint64_t a, b;
	int16_t distance;

	if (op >= DW_OP_breg0 && op <= DW_OP_breg31) {
		push_register(m, op - DW_OP_breg0, dwarf_sleb(&m->c));
		return;
	}
	switch (op) {
	case DW_OP_bregx:
		a = dwarf_uleb(&m->c);
		push_register(m, a, dwarf_sleb(&m->c));
		break;
	case DW_OP_plus_uconst:
		push(m, pop(m) + dwarf_uleb(&m->c));
		break;
	case DW_OP_neg:
		push(m, 0 - pop(m));
		break;
	case DW_OP_not:
		push(m, ~pop(m));
		break;
	case DW_OP_abs:
		a = pop(m);
		push(m, (int64_t)a < 0 ? 0 - a : a);
		break;
	case DW_OP_skip:
		jump(m, (int16_t)dwarf_u16(&m->c));
		break;
	case DW_OP_bra:
		distance = (int16_t)dwarf_u16(&m->c);
		if (pop(m))
			jump(m, distance);
		break;
	default:
		b = pop(m);
		a = pop(m);
		push(m, arithmetic(m, op, a, b));
	}
}

int cfi_expression_evaluate(const uint8_t *ops, size_t len, const uint64_t *initial,
                            const struct cfi_environment *env, uint64_t *result)
{
	struct machine m = { .env = env, .c = dwarf_cursor_at(ops, len, 0), .start = ops };
	unsigned int steps = 0;
	uint8_t op;

	if (initial)
		push(&m, *initial);
	while (!m.err && dwarf_left(&m.c)) {
		if (steps++ == MAX_STEPS)
			return -EBADMSG;
		op = dwarf_u8(&m.c);
		if (!run_constant(&m, op) && !run_stack(&m, op))
			run_rest(&m, op);
		if (m.c.failed)
			fail(&m, -EBADMSG);
	}
	*result = pop(&m);
	return m.err;
}
