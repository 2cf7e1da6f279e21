/* The symbolizer as the configuration wants it, and the folder in which it keeps what it has found out. */
#ifndef STALLPROF_PROFILER_SYMBOL_CACHE_H
#define STALLPROF_PROFILER_SYMBOL_CACHE_H

#include "profiler/config/config.h"
#include "profiler/symbols/debuginfod.h"
#include "symbolizer/symbolizer.h"

/* Where its folder of fetched debug files is, below cache_dir. False: none, or a path too long. */
bool symbol_cache_fetched_dir(const struct config_symbolizer *config, char *path, size_t size);

/*
 * What fetches debug files, if that is configured; else NULL, as when it can't be done, which is said in one line.
 * All of debuginfod.h takes NULL.
 */
struct debuginfod *symbol_cache_fetcher(const struct config_symbolizer *config,
                                        void (*say)(const char *line));

/* For symbol_cache_close(). `config` and `beside` must outlive it; without the latter (NULL) who keeps waits for the disk. NULL
 * with errno set. */
struct symbolizer *symbol_cache_open(const struct config_symbolizer *config, struct debuginfod *fetcher,
                                     const struct sym_beside *beside);

/* To be called where nobody waits: files that have come are made known, what was found out is kept. */
void symbol_cache_keep(struct symbolizer *symbolizer, struct debuginfod *fetcher);

/* Keeps all, and frees both. NULL is fine. */
void symbol_cache_close(struct symbolizer *symbolizer, struct debuginfod *fetcher);

/* Says in one line why the folder is not used, when one is wanted and is not. */
void symbol_cache_check(struct symbolizer *symbolizer, const struct config_symbolizer *config,
                        void (*say)(const char *line));

#endif
