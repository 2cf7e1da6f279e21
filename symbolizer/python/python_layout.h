/* The layouts of CPython's structs, without the addresses of a process. */
#ifndef SYMBOLIZER_PYTHON_LAYOUT_H
#define SYMBOLIZER_PYTHON_LAYOUT_H

#include "symbolizer/python/python.h"

/* As much of _Py_DebugOffsets as the newest version has. */
#define PYTHON_DEBUG_OFFSETS_MAX 96

/*
 * For `version` 0x0308 ... 0x030c, by tables. `runtime` and `code_type` become 0. -ENOTSUP: another version.
 */
int python_layout_by_table(uint16_t version, struct sym_python_layout *out);

/*
 * From the beginning of _PyRuntime as it is in the file, from 3.13 on: `n` words. -ENOTSUP: not final releases
 * of versions that are known; -EBADMSG: no such structure, or offsets that can't be.
 */
int python_layout_by_debug_offsets(const uint64_t *words, size_t n, struct sym_python_layout *out);

#endif
