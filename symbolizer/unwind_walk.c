#include "symbolizer/unwind_walk.h"

#include <errno.h>

static uint64_t looked_up(const struct cfi_arch *arch, const struct unwind_frame *frame)
{
	return frame->regs[arch->pc] - !frame->is_exact;
}

static int step(struct unwind_code *code, int found, const struct cfi_rules *rules,
                const struct sym_stack *stack, struct unwind_frame *frame)
{
	struct unwind_frame caller;
	int result;

	if (!found)
		return unwind_step(code->arch, rules, stack, frame);
	if (found == -EBADMSG || found == -ESRCH)
		return -EBADMSG;
	caller = *frame;
	result = unwind_step_by_frame_pointer(code->arch, stack, &caller);
	if (result)
		return result;
	/* What is no code was no return address, so there was no frame. */
	if (code->find(code->context, looked_up(code->arch, &caller), &rules) == -ESRCH)
		return -ENOENT;
	code->n_by_frame_pointer++;
	*frame = caller;
	return UNWIND_STEPPED;
}

static enum sym_unwind_end end_of(int step_result)
{
	switch (step_result) {
	case UNWIND_STEPPED: /* but no room for it */
	case -EFAULT:
		return SYM_UNWIND_TRUNCATED;
	case UNWIND_START_OF_THREAD:
		return SYM_UNWIND_COMPLETE;
	case -ENOENT:
		return SYM_UNWIND_NO_CFI;
	default:
		return SYM_UNWIND_BAD;
	}
}

size_t unwind_walk(struct unwind_code *code, const struct sym_stack *stack, struct unwind_frame *frame,
                   uint64_t *pcs, size_t max_pcs, enum sym_unwind_end *end)
{
	const struct cfi_arch *arch = code->arch;
	const struct cfi_rules *rules = NULL;
	int result, found = code->find(code->context, looked_up(arch, frame), &rules);
	size_t n = 0;

	for (;;) {
		pcs[n] = frame->regs[arch->pc];
		/* The pc at which a kernel-made frame returns is not the return address of a call. */
		if (stack->is_caller)
			stack->is_caller[n] = !frame->is_exact && (found || !rules->is_signal);
		n++;
		result = step(code, found, rules, stack, frame);
		if (result || n == max_pcs)
			break;
		found = code->find(code->context, looked_up(arch, frame), &rules);
		/* A pc outside every mapping is no frame: the step that led to it was wrong. */
		if (found == -ESRCH) {
			result = -EBADMSG;
			break;
		}
	}
	*end = end_of(result);
	return n;
}
