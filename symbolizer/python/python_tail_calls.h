/*
 * Finds where a Python built with tail calls calls its instruction handlers.
 *
 * In builds --with-tail-call-interp (3.14), _PyEval_EvalFrameDefault only sets a frame up and calls the function of
 * the first instruction, its handler; handlers go on by jumping to each other, by a table that has one for each
 * opcode. It has become so small that link-time optimization puts copies of it into its callers (all that a Python
 * function is called by), so that its symbol is not on the stack at all. A copy is recognised by calling a handler,
 * to which everything else only jumps: by the table, or directly one of the handlers that a training run found to be
 * the most frequent.
 */
#ifndef SYMBOLIZER_PYTHON_TAIL_CALLS_H
#define SYMBOLIZER_PYTHON_TAIL_CALLS_H

#include "symbolizer/elf/elf_file.h"
#include "symbolizer/python/python.h"

/*
 * `evaluator` is the symbol's range. Fills `out` with the return addresses of these calls (the symbol's own among
 * them), and 0 after the last; without any if this is no such build. If it is one, reads all of the file's code. ELF
 * addresses. What looks like a call and is none does no harm: nothing returns there.
 */
void python_tail_calls(struct elf_file *f, const struct sym_python_range *evaluator,
                       uint64_t out[SYM_PYTHON_EVALUATOR_CALLS]);

#endif
