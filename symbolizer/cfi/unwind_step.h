/* One frame to its caller, given the rules for the frame's pc: any processor, no process. */
#ifndef SYMBOLIZER_UNWIND_STEP_H
#define SYMBOLIZER_UNWIND_STEP_H

#include "symbolizer/cfi/cfi_rules.h"
#include "symbolizer/types.h"

struct unwind_frame {
	uint64_t regs[CFI_MAX_REGISTERS]; /* the pc is regs[arch->pc] */
	uint64_t known;                   /* one bit a register: those whose values are known */
	bool is_exact;                    /* the pc is not a return address */
};

/* What a step returns if not a negative errno. */
enum { UNWIND_STEPPED, UNWIND_START_OF_THREAD };

/*
 * Replaces the frame by its caller's. Uses only the copy and read() of `stack`. -EFAULT: needed memory was not
 * copied; -EBADMSG: rules or stack make no sense. After an error the frame is unchanged.
 */
int unwind_step(const struct cfi_arch *arch, const struct cfi_rules *rules, const struct sym_stack *stack,
                struct unwind_frame *frame);

/* Whether what lies at the stack pointer may be what the kernel leaves for a handler, above its return address. */
bool unwind_may_be_signal(const struct cfi_arch *arch, const struct sym_stack *stack,
                          const struct unwind_frame *frame);

/* The same as unwind_step() for the code that signal handlers return to: the caller of this function checks that it is that (cfi_arch.h). */
int unwind_step_by_sigreturn(const struct cfi_arch *arch, const struct sym_stack *stack,
                             struct unwind_frame *frame);

/* The same for a function that has pushed nothing since it was called: the return address is on top of the stack. */
int unwind_step_by_top(const struct cfi_arch *arch, const struct sym_stack *stack,
                       struct unwind_frame *frame);

/*
 * The same for other code without rules, when its frame pointer points to something that can be a frame: up the
 * stack, with the caller's next to the return address. The caller of this function checks that the return address is
 * code. -ENOENT: it points elsewhere.
 */
int unwind_step_by_frame_pointer(const struct cfi_arch *arch, const struct sym_stack *stack,
                                 struct unwind_frame *frame);

#endif
