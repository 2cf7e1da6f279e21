/* One step from a frame to its caller: by rules, sigreturn code, top of the stack or frame pointer. */

#include "symbolizer/cfi/unwind_step.h"

#include <errno.h>
#include <string.h>

#include "symbolizer/cfi/cfi_expression.h"

/* How far up a frame pointer may point for a frame that was merely not copied. */
#define MAX_FRAME ((uint64_t)1 << 20)

struct step {
	const struct cfi_arch *arch;
	const struct cfi_rules *rules;
	const struct sym_stack *stack;
	const struct unwind_frame *frame;
};

static bool is_known(const struct unwind_frame *f, unsigned int reg)
{
	return f->known >> reg & 1;
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
	const struct step *s = context;

	*value = 0;
	return read_stack(s->stack, address, value, len);
}

static int read_register(void *context, unsigned int reg, uint64_t *value)
{
	const struct step *s = context;

	if (!is_known(s->frame, reg))
		return -EFAULT;
	*value = s->frame->regs[reg];
	return 0;
}

static int evaluate(struct step *s, const struct cfi_rule *rule, const uint64_t *initial, uint64_t *result)
{
	const struct cfi_environment env = { .read_register = read_register,
		                             .read_memory = read_memory,
		                             .context = s,
		                             .n_registers = s->arch->pc + 1u };

	return cfi_expression_evaluate((const uint8_t *)s->rules + rule->n, rule->length, initial, &env,
	                               result);
}

static int find_cfa(struct step *s, uint64_t *cfa)
{
	const struct cfi_rule *rule = &s->rules->cfa;
	int err;

	if (rule->kind == CFI_EXPRESSION)
		return evaluate(s, rule, NULL, cfa);
	err = read_register(s, rule->reg, cfa);
	*cfa += (uint64_t)(int64_t)rule->n;
	return err;
}

static int apply_rule(struct step *s, const struct cfi_rule *rule, uint64_t cfa, uint64_t *value)
{
	int err;

	switch (rule->kind) {
	case CFI_OFFSET:
		return read_memory(s, cfa + (uint64_t)(int64_t)rule->n, 8, value);
	case CFI_VALUE_OFFSET:
		*value = cfa + (uint64_t)(int64_t)rule->n;
		return 0;
	case CFI_REGISTER:
		return rule->n < 0 || rule->n > s->arch->pc ? -EBADMSG
		                                            : read_register(s, (unsigned int)rule->n, value);
	case CFI_EXPRESSION:
		err = evaluate(s, rule, &cfa, value);
		return err ? err : read_memory(s, *value, 8, value);
	case CFI_VALUE_EXPRESSION:
		return evaluate(s, rule, &cfa, value);
	default:
		return -EFAULT;
	}
}

/* Fills the caller's registers; those that can't be had are not known. */
static int apply_rules(struct step *s, uint64_t cfa, struct unwind_frame *caller)
{
	uint8_t back = s->rules->return_register;
	int err, i;

	for (i = 0; i < s->rules->n_rules; i++) {
		const struct cfi_rule *rule = &s->rules->rules[i];

		err = apply_rule(s, rule, cfa, &caller->regs[rule->reg]);
		if (err && rule->reg == back)
			return err;
		caller->known &= ~((uint64_t)1 << rule->reg);
		caller->known |= (uint64_t)!err << rule->reg;
	}
	return UNWIND_STEPPED;
}

/*
 * Can it be a caller's? A call pushes, or the function that made it has put its link register on the stack: so the
 * caller's stack pointer is higher. It may be the same for a frame that has the return address in a register, which
 * only an interrupted one can: a leaf function with a link register, vfork() of glibc. Another stack only follows a
 * signal.
 */
static bool is_caller(const struct step *s, const struct unwind_frame *caller)
{
	uint8_t sp = s->arch->sp, back = s->rules->return_register;
	bool is_exact = s->frame->is_exact, is_saved = s->rules->saved >> back & 1;

	if (!is_known(caller, back) || !is_known(caller, sp) ||
	    (!is_saved && !(s->arch->has_link && is_exact)))
		return false;
	return s->rules->is_signal || caller->regs[sp] > s->frame->regs[sp] ||
	       (is_exact && caller->regs[sp] == s->frame->regs[sp]);
}

static int finish(const struct step *s, struct unwind_frame *caller)
{
	uint64_t pc = caller->regs[s->rules->return_register];

	caller->regs[s->arch->pc] = s->rules->is_signed ? pc & s->arch->unsigned_bits : pc;
	caller->is_exact = s->rules->is_signal;
	return pc ? UNWIND_STEPPED : UNWIND_START_OF_THREAD;
}

static int step_general(struct step *s, struct unwind_frame *frame)
{
	struct unwind_frame caller = *frame;
	uint64_t cfa = 0;
	int result = find_cfa(s, &cfa);

	if (!result)
		result = apply_rules(s, cfa, &caller);
	if (result)
		return result;
	if (!(s->rules->saved >> s->arch->sp & 1)) {
		caller.regs[s->arch->sp] = cfa;
		caller.known |= (uint64_t)1 << s->arch->sp;
	}
	if (!is_caller(s, &caller))
		return -EBADMSG;
	result = finish(s, &caller);
	*frame = caller;
	return result;
}

/* Where the CFA is in the copy, when all that plain rules read below it is there, too; else NULL. */
static const char *plain_cfa(const struct step *s)
{
	const struct cfi_rules *r = s->rules;
	uint64_t cfa = s->frame->regs[r->cfa.reg] + (uint64_t)(int64_t)r->cfa.n;
	uint64_t span = cfa - s->stack->copy_start;

	if (!r->is_plain || !is_known(s->frame, r->cfa.reg) || cfa <= s->frame->regs[s->arch->sp] ||
	    span > s->stack->copy_len || (int64_t)span < -(int64_t)r->lowest ||
	    !(r->saved >> r->return_register & 1))
		return NULL;
	return (const char *)s->stack->copy + span;
}

/* As step_general(), without what plain rules don't need. */
static int step_plain(const struct step *s, const char *cfa, struct unwind_frame *frame)
{
	const struct cfi_rule *rule = s->rules->rules, *end = rule + s->rules->n_rules;

	frame->regs[s->arch->sp] = s->stack->copy_start + (uint64_t)(cfa - (const char *)s->stack->copy);
	for (; rule < end; rule++)
		memcpy(&frame->regs[rule->reg], cfa + rule->n, sizeof(uint64_t));
	frame->known |= s->rules->saved | (uint64_t)1 << s->arch->sp;
	return finish(s, frame);
}

int unwind_step(const struct cfi_arch *arch, const struct cfi_rules *rules, const struct sym_stack *stack,
                struct unwind_frame *frame)
{
	struct step s = { .arch = arch, .rules = rules, .stack = stack, .frame = frame };
	const char *cfa = plain_cfa(&s);

	if (rules->is_outermost)
		return UNWIND_START_OF_THREAD;
	return cfa ? step_plain(&s, cfa, frame) : step_general(&s, frame);
}

bool unwind_may_be_signal(const struct cfi_arch *arch, const struct sym_stack *stack,
                          const struct unwind_frame *frame)
{
	uint64_t context[2];

	return is_known(frame, arch->sp) &&
	       !read_stack(stack, frame->regs[arch->sp] + arch->ucontext, context, sizeof(context)) &&
	       context[0] >= arch->uc_flags_least && context[0] <= arch->uc_flags_most &&
	       !context[1]; /* uc_link, which it leaves 0 */
}

int unwind_step_by_sigreturn(const struct cfi_arch *arch, const struct sym_stack *stack,
                             struct unwind_frame *frame)
{
	uint64_t saved[CFI_MAX_REGISTERS], sp = frame->regs[arch->sp];

	if (read_stack(stack, sp + arch->signal_registers, saved, arch->n_signal * sizeof(*saved)))
		return -EFAULT;
	frame->known = 0;
	for (uint8_t i = 0; i < arch->n_signal; i++) {
		uint8_t reg = arch->signal_order ? arch->signal_order[i] : i;

		frame->regs[reg] = saved[i];
		frame->known |= (uint64_t)1 << reg;
	}
	frame->is_exact = true;
	return UNWIND_STEPPED;
}

int unwind_step_by_top(const struct cfi_arch *arch, const struct sym_stack *stack, struct unwind_frame *frame)
{
	uint64_t sp = frame->regs[arch->sp], pc = 0;

	if (arch->has_link || !is_known(frame, arch->sp))
		return -ENOENT;
	if (read_stack(stack, sp, &pc, sizeof(pc)))
		return -EFAULT;
	frame->regs[arch->sp] = sp + sizeof(pc);
	frame->regs[arch->pc] = pc;
	frame->is_exact = false;
	return UNWIND_STEPPED;
}

/* Were its registers read from a frame record? Then no others are known. */
static bool is_of_chain(const struct cfi_arch *arch, const struct unwind_frame *frame)
{
	uint64_t of_record = (uint64_t)1 << arch->fp | (uint64_t)1 << arch->pc;

	return (frame->known & ~((uint64_t)1 << arch->sp)) == of_record;
}

int unwind_step_by_frame_pointer(const struct cfi_arch *arch, const struct sym_stack *stack,
                                 struct unwind_frame *frame)
{
	uint64_t fp = frame->regs[arch->fp], sp = frame->regs[arch->sp], saved[2];

	if (!fp && is_of_chain(arch, frame))
		return UNWIND_START_OF_THREAD;
	if (!is_known(frame, arch->fp) || fp < sp || fp & 7)
		return -ENOENT;
	if (read_stack(stack, fp, saved, sizeof(saved)))
		return fp - sp < MAX_FRAME ? -EFAULT : -ENOENT;
	if (!saved[1])
		return UNWIND_START_OF_THREAD;
	frame->regs[arch->fp] = saved[0];
	frame->regs[arch->sp] = fp + sizeof(saved);
	frame->regs[arch->pc] = saved[1] & arch->unsigned_bits;
	frame->known = (uint64_t)1 << arch->fp | (uint64_t)1 << arch->pc;
	/* With a link register the pair may be anywhere in the frame, so it is but a bound for the caller's. */
	if (!arch->has_link)
		frame->known |= (uint64_t)1 << arch->sp;
	frame->is_exact = false;
	return UNWIND_STEPPED;
}
