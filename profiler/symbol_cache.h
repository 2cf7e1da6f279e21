/* The symbolizer as the configuration wants it, and the folder in which it keeps what it has found out. */
#ifndef STALLPROF_PROFILER_SYMBOL_CACHE_H
#define STALLPROF_PROFILER_SYMBOL_CACHE_H

#include "profiler/config.h"
#include "symbolizer/symbolizer.h"

/* The caller's to free, after symbolizer_save(). `config` must outlive it. NULL with errno set. */
struct symbolizer *symbol_cache_open(const struct config_symbolizer *config);

/* Says in one line why the folder is not used, when one is wanted and is not. */
void symbol_cache_check(struct symbolizer *symbolizer, const struct config_symbolizer *config,
                        void (*say)(const char *line));

#endif
