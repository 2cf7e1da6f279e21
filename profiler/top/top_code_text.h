/*
 * The lines of code that wait (top_code.h) as text, a section for each cause and device, and one for what is blocked:
 *
 *     block_io on vda: 463 ms in 412 waits: 462 ms in data_load
 *       245 ms  10.2 % of data_load  Samples.__getitem__ train_torch.py:46
 *                in load …/torch/serialization.py:795
 *                in read(): folio_wait_bit_common < filemap_get_pages < filemap_read
 *                from train train_torch.py:88
 *
 * The first `in` is the innermost frame outside of the kernel; `from` are callers in own code. They are from the
 * heaviest stack that has the line.
 */
#ifndef STALLPROF_PROFILER_TOP_CODE_TEXT_H
#define STALLPROF_PROFILER_TOP_CODE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "profiler/loaded/loaded_classes.h"
#include "profiler/top/top_code.h"

#define TOP_SECTION_LINES_MAX 12

/*
 * Prints `sections` in at most `lines` lines, TOP_SECTION_LINES_MAX each; 0 lines: no bound but what->limit.
 * Blocked time is printed also where it has no stacks. Returns the number of lines; 0 also without memory.
 */
size_t top_text_sections(FILE *out, const struct top_code_text *what, const struct top_sections *sections,
                         size_t lines);

#endif
