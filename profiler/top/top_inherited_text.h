/* What a line of code waited for through other threads, as the screen has it. */
#ifndef STALLPROF_PROFILER_TOP_INHERITED_TEXT_H
#define STALLPROF_PROFILER_TOP_INHERITED_TEXT_H

#include <stddef.h>

struct top_code;

/* "4.80 s block_io on vda of loader, 310 ms loader active": the longest parts, but for small ones. 0: there are none. */
size_t top_inherited_text(char *text, size_t size, const struct top_code *code);

#endif
