#include "profiler/symbol_cache.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "profiler/symbol_names.h"

struct symbolizer *symbol_cache_open(const struct config_symbolizer *config)
{
	struct symbolizer_opts opts = {
		.max_memory_bytes = config->max_memory_bytes,
		.debug_dir = config->debug_dir[0] ? config->debug_dir : NULL,
		.cache_dir = strcmp(config->cache_dir, CONFIG_NO_CACHE) != 0 ? config->cache_dir : NULL,
		.max_cache_bytes = config->cache_bytes,
	};

	symbol_names_set(config->demangle, &opts);
	return symbolizer_new(&opts);
}

void symbol_cache_check(struct symbolizer *symbolizer, const struct config_symbolizer *config,
                        void (*say)(const char *line))
{
	int err = symbolizer_save(symbolizer, false);
	char line[512];

	if (!err)
		return;
	snprintf(line, sizeof(line), "symbols are not kept for the next start: %.400s: %s", config->cache_dir,
	         err == -EPERM ? "others may write to it, or it is another user's" : strerror(-err));
	say(line);
}
