/*
 * A Python's layout as the BPF programs take it.
 */
#ifndef STALLPROF_PROFILER_PYTHON_ABI_H
#define STALLPROF_PROFILER_PYTHON_ABI_H

#include <stdbool.h>

struct abi_python;
struct sym_python_layout;

/* All but the start of the process. False: the programs cannot follow it, as its structs are too large. */
bool python_abi_layout(const struct sym_python_layout *from, struct abi_python *to);

#endif
