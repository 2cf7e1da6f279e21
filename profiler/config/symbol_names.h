/* The setting that says how much of C++ and Rust names is shown. */
#ifndef PROFILER_SYMBOL_NAMES_H
#define PROFILER_SYMBOL_NAMES_H

#include <stdbool.h>

#include "symbolizer/symbolizer.h"

#define SYMBOL_NAMES_ALLOWED "templates, full, simplified or none"

/* Sets in `opts` (may be NULL) what `how` stands for. False, with `opts` unchanged: it is no such value. */
bool symbol_names_set(const char *how, struct symbolizer_opts *opts);

#endif
