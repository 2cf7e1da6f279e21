/* The layouts of CPython's structs, without the addresses of a process. */
#ifndef SYMBOLIZER_PYTHON_LAYOUT_H
#define SYMBOLIZER_PYTHON_LAYOUT_H

#include "symbolizer/python/python.h"

/* Words of _Py_DebugOffsets in the newest version. */
#define PYTHON_DEBUG_OFFSETS_MAX 96

/*
 * For versions 0x0308 to 0x030c, by tables. `runtime` and `code_type` become 0. -ENOTSUP: another version.
 */
int python_layout_by_table(uint16_t version, struct sym_python_layout *out);

/*
 * From 3.13 on, by the first `n` words of _PyRuntime in the file. -ENOTSUP: an unknown version, or no final release;
 * -EBADMSG: no such structure, or impossible offsets.
 */
int python_layout_by_debug_offsets(const uint64_t *words, size_t n, struct sym_python_layout *out);

#endif
