/* Who ended a line of code's waits, and what it waited for through other threads, as the screen has it. */
#ifndef STALLPROF_PROFILER_TOP_INHERITED_TEXT_H
#define STALLPROF_PROFILER_TOP_INHERITED_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct loaded_wakers;
struct top_code;

/* "4.80 s block_io on vda of loader, 310 ms loader active": the longest parts, but for small ones. 0: there are none. */
size_t top_inherited_text(char *text, size_t size, const struct top_code *code);

/* "ended by tag loader", "mostly ended by tag loader" or "ended by tag loader and others", by its part `ns` of all; the name, and `programs`,
 * as loaded_waker_text() has them. "": the waker is not known. Returns text. */
const char *top_waker_text(char *text, size_t size, const struct loaded_wakers *wakers, const char *waker,
                           int64_t ns, int64_t all_ns, bool programs);

#endif
