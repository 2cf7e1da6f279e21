/* One frame to its caller, given the rules for the frame's pc: any processor, no process. */
#ifndef SYMBOLIZER_UNWIND_STEP_H
#define SYMBOLIZER_UNWIND_STEP_H

#include "symbolizer/cfi/cfi_rules.h"
#include "symbolizer/types.h"

struct unwind_frame {
	uint64_t regs[CFI_MAX_REGISTERS]; /* the pc is regs[arch->pc] */
	uint64_t known;                   /* bit by register: those that are what they were */
	bool is_exact;                    /* the pc is not a return address */
};

/* What a step ends with instead of 0; or with a negative errno. */
enum { UNWIND_STEPPED, UNWIND_START_OF_THREAD };

/*
 * Makes the frame its caller's. Of `stack` the copy and read() are used. -EFAULT: what is needed was not copied;
 * -EBADMSG: rules or stack make no sense; the frame is as it was then.
 */
int unwind_step(const struct cfi_arch *arch, const struct cfi_rules *rules, const struct sym_stack *stack,
                struct unwind_frame *frame);

/* The same for the code that signal handlers return to, where it has no rules. -ENOENT: the pc is not there. */
int unwind_step_by_sigreturn(const struct cfi_arch *arch, const struct sym_stack *stack,
                             struct unwind_frame *frame);

/* The same for a function that has pushed nothing since it was called: the return address is on top of the stack. */
int unwind_step_by_top(const struct cfi_arch *arch, const struct sym_stack *stack,
                       struct unwind_frame *frame);

/*
 * The same for other code without rules, when its frame pointer points to something that can be a frame: up the stack,
 * with the caller's next to the return address. Whether that is code, the caller has to see. -ENOENT: it does not.
 */
int unwind_step_by_frame_pointer(const struct cfi_arch *arch, const struct sym_stack *stack,
                                 struct unwind_frame *frame);

#endif
