/*
 * Walking a copied stack.
 *
 * One frame to the next: find the row for the pc (pc - 1 behind a call, so that a call that never returns,
 * at the very end of its function, still finds that function's row), work the CFA out, fetch the saved
 * registers from the copy. Code without rows is walked by its frame pointer, when rbp points to something
 * that can be a frame: up the stack, with a return address in executable memory above it.
 */
#include <errno.h>
#include <string.h>

#include "symbolizer/cfi_expression.h"
#include "symbolizer/symbolizer_state.h"

enum { RBX = 3, RBP = 6, RSP = 7, RIP = CFI_RETURN_ADDRESS };

struct frame {
	uint64_t regs[CFI_REGISTERS];
	uint32_t known; /* bit by register */
	bool is_exact;  /* the pc is not a return address */
};

struct walk {
	struct sym_process *process;
	const struct sym_stack *stack;
	struct frame frame;
	struct process_location at; /* where the frame's pc is */
	bool is_trampoline; /* the last step left a frame that the kernel made for a signal handler to return to */
};

/* Steps end with one of these instead of 0, or with a negative errno: -EFAULT for memory that wasn't copied.
 */
enum { STEP_OK, STEP_START_OF_THREAD };

static void load_registers(const struct sym_regs *from, struct frame *to)
{
	const uint64_t regs[CFI_REGISTERS] = { from->ax,  from->dx,  from->cx,  from->bx,  from->si,
		                               from->di,  from->bp,  from->sp,  from->r8,  from->r9,
		                               from->r10, from->r11, from->r12, from->r13, from->r14,
		                               from->r15, from->ip };

	memcpy(to->regs, regs, sizeof(regs));
	to->known = (1u << CFI_REGISTERS) - 1;
	to->is_exact = true;
}

static int read_stack(const struct sym_stack *stack, uint64_t address, void *buffer, size_t len)
{
	uint64_t offset = address - stack->copy_start;

	if (address >= stack->copy_start && offset <= stack->copy_len && len <= stack->copy_len - offset) {
		memcpy(buffer, (const char *)stack->copy + offset, len);
		return 0;
	}
	if (stack->read && !stack->read(stack->read_context, address, buffer, len))
		return 0;
	return -EFAULT;
}

static int read_memory(void *context, uint64_t address, size_t len, uint64_t *value)
{
	const struct walk *w = context;

	*value = 0;
	return read_stack(w->stack, address, value, len);
}

static int read_register(void *context, unsigned int reg, uint64_t *value)
{
	const struct walk *w = context;

	if (!(w->frame.known & 1u << reg))
		return -EFAULT;
	*value = w->frame.regs[reg];
	return 0;
}

static int evaluate(struct walk *w, const struct cfi_row *row, const struct cfi_rule *rule,
                    const uint64_t *initial, uint64_t *result)
{
	const struct cfi_environment env = { .read_register = read_register,
		                             .read_memory = read_memory,
		                             .context = w };

	return cfi_expression_evaluate(row->expressions + (uint32_t)rule->n, rule->length, initial, &env,
	                               result);
}

static int find_cfa(struct walk *w, const struct cfi_row *row, uint64_t *cfa)
{
	int err;

	if (row->cfa.kind == CFI_EXPRESSION)
		return evaluate(w, row, &row->cfa, NULL, cfa);
	err = read_register(w, row->cfa.reg, cfa);
	*cfa += (uint64_t)(int64_t)row->cfa.n;
	return err;
}

static int apply_rule(struct walk *w, const struct cfi_row *row, const struct cfi_rule *rule, uint64_t cfa,
                      uint64_t *value)
{
	int err;

	switch (rule->kind) {
	case CFI_OFFSET:
		return read_memory(w, cfa + (uint64_t)(int64_t)rule->n, 8, value);
	case CFI_VALUE_OFFSET:
		*value = cfa + (uint64_t)(int64_t)rule->n;
		return 0;
	case CFI_REGISTER:
		return rule->n < 0 || rule->n >= CFI_REGISTERS
		               ? -EBADMSG
		               : read_register(w, (unsigned int)rule->n, value);
	case CFI_EXPRESSION:
		err = evaluate(w, row, rule, &cfa, value);
		return err ? err : read_memory(w, *value, 8, value);
	case CFI_VALUE_EXPRESSION:
		return evaluate(w, row, rule, &cfa, value);
	default:
		return -EFAULT;
	}
}

/* Fills the caller's registers; those that can't be had are not known. */
static int apply_row(struct walk *w, const struct cfi_row *row)
{
	struct frame caller = w->frame;
	uint64_t cfa = 0;
	int err = find_cfa(w, row, &cfa), i;
	bool has_sp = false, has_ip = false;

	if (err)
		return err;
	for (i = 0; i < row->n_rules; i++) {
		const struct cfi_rule *rule = &row->rules[i];

		if (rule->reg == RIP && rule->kind == CFI_UNDEFINED)
			return STEP_START_OF_THREAD;
		err = apply_rule(w, row, rule, cfa, &caller.regs[rule->reg]);
		if (err && rule->reg == RIP)
			return err;
		caller.known = err ? caller.known & ~(1u << rule->reg) : caller.known | 1u << rule->reg;
		has_sp |= rule->reg == RSP;
		has_ip |= rule->reg == RIP;
	}
	if (!has_ip)
		return -EBADMSG;
	if (!has_sp) {
		caller.regs[RSP] = cfa;
		caller.known |= 1u << RSP;
	}
	/* A call pushes, so the caller's stack pointer is higher; another stack only follows a signal. */
	if (!row->is_signal && caller.regs[RSP] <= w->frame.regs[RSP])
		return -EBADMSG;
	caller.is_exact = row->is_signal;
	w->frame = caller;
	return caller.regs[RIP] ? STEP_OK : STEP_START_OF_THREAD;
}

static int step_by_frame_pointer(struct walk *w)
{
	struct frame *f = &w->frame;
	uint64_t bp = f->regs[RBP], saved[2];
	struct process_location at;

	if (!(f->known & 1u << RBP) || bp < f->regs[RSP] || bp & 7)
		return -ENOENT;
	if (read_stack(w->stack, bp, saved, sizeof(saved)))
		return bp - f->regs[RSP] < 1 << 20 ? -EFAULT : -ENOENT;
	if (!saved[1])
		return STEP_START_OF_THREAD;
	if (!process_locate(w->process, saved[1] - 1, &at))
		return -ENOENT;
	w->process->owner->stats.unwind_frame_pointers++;
	f->regs[RBP] = saved[0];
	f->regs[RSP] = bp + 16;
	f->regs[RIP] = saved[1];
	f->known = 1u << RBP | 1u << RSP | 1u << RIP;
	f->is_exact = false;
	return STEP_OK;
}

/* w->at is where the frame is. */
static int step(struct walk *w)
{
	struct object *o = w->at.object;
	const struct cfi_row *row;
	int err;

	w->is_trampoline = false;
	if (!o)
		return step_by_frame_pointer(w);
	row = object_row(o, w->at.address);
	err = errno;
	process_object_used(w->process, o);
	if (!row)
		return err == EBADMSG ? -EBADMSG : step_by_frame_pointer(w);
	w->is_trampoline = row->is_signal;
	return apply_row(w, row);
}

static enum sym_unwind_end end_of(int step_result)
{
	switch (step_result) {
	case STEP_OK: /* but no room for it */
	case -EFAULT:
		return SYM_UNWIND_TRUNCATED;
	case STEP_START_OF_THREAD:
		return SYM_UNWIND_COMPLETE;
	case -ENOENT:
		return SYM_UNWIND_NO_CFI;
	default:
		return SYM_UNWIND_BAD;
	}
}

/* A pc outside every mapping is no frame: the step that led to it was wrong. */
static bool locate(struct walk *w)
{
	return process_locate(w->process, w->frame.regs[RIP] - !w->frame.is_exact, &w->at);
}

int symbolizer_unwind(struct sym_process *p, const struct sym_stack *stack, uint64_t *pcs, size_t max_pcs,
                      size_t *n_pcs, enum sym_unwind_end *end)
{
	struct walk w = { .process = p, .stack = stack };
	bool found, more;
	int result;
	size_t n = 0;

	if (!max_pcs)
		return -EINVAL;
	load_registers(&stack->regs, &w.frame);
	found = locate(&w);
	do {
		pcs[n] = w.frame.regs[RIP];
		if (stack->is_caller)
			stack->is_caller[n] = !w.frame.is_exact;
		n++;
		result = found ? step(&w) : -EBADMSG;
		if (w.is_trampoline && stack->is_caller)
			stack->is_caller[n - 1] = false;
		more = !result && n < max_pcs;
		found = more && locate(&w);
		if (more && !found)
			result = -EBADMSG;
	} while (found);
	*n_pcs = n;
	*end = end_of(result);
	p->owner->stats.unwind_ends[*end]++;
	return 0;
}
