/* Opens the symbolizer as configured, with the folder in which it caches its results. */
#ifndef STALLPROF_PROFILER_SYMBOL_CACHE_H
#define STALLPROF_PROFILER_SYMBOL_CACHE_H

#include "profiler/config/config.h"
#include "profiler/format/say.h"
#include "profiler/symbols/debuginfod.h"
#include "symbolizer/symbolizer.h"

/*
 * Starts the fetcher of debug files. NULL if none is configured, or if it can't be started, which is said in one
 * line. All functions of debuginfod.h take NULL.
 */
struct debuginfod *symbol_cache_fetcher(const struct config_symbolizer *config, say_fn say);

/* Close it with symbol_cache_close(). `config` and `beside` must outlive it; without the latter (NULL) symbol_cache_keep() waits
 * for the disk. NULL with errno set. */
struct symbolizer *symbol_cache_open(const struct config_symbolizer *config, struct debuginfod *fetcher,
                                     const struct sym_beside *beside);

/* Tells the symbolizer of debug files that have come, and writes its results to the cache. Call it where nobody
 * waits. */
void symbol_cache_keep(struct symbolizer *symbolizer, struct debuginfod *fetcher);

/* Writes the cache, and frees both. Takes NULL. */
void symbol_cache_close(struct symbolizer *symbolizer, struct debuginfod *fetcher);

/* Says in one line why the cache folder is not used, when one is configured and is not. */
void symbol_cache_check(struct symbolizer *symbolizer, const struct config_symbolizer *config, say_fn say);

#endif
