/*
 * Finds the code of Python's evaluator in files without a symbol table.
 *
 * Compilers cut a function in two: what a training run found busy, or what does not look like an error path,
 * and the rest, NAME.cold, which stands elsewhere and is no symbol of .dynsym. In Debian's 3.13 and 3.14 nearly
 * all of the evaluator is in the second part. The first part jumps into the second at many places, and no
 * function jumps into another one's middle: so the second part is that entry of .eh_frame_hdr into which most
 * of the first one's jumps go.
 */
#ifndef SYMBOLIZER_PYTHON_EVALUATOR_H
#define SYMBOLIZER_PYTHON_EVALUATOR_H

#include "symbolizer/elf/elf_file.h"
#include "symbolizer/python/python.h"

/*
 * `start` and `size` are the symbol's, and become the first range. The second one is empty when there is no other
 * part, or it was not found. ELF addresses.
 */
void python_evaluator_ranges(struct elf_file *f, uint64_t start, uint64_t size,
                             struct sym_python_range out[SYM_PYTHON_EVALUATOR_RANGES]);

#endif
