/* Opens the symbolizer as configured, with its cache folder and the debuginfod thread. */

#include "profiler/symbols/symbol_cache.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "profiler/config/symbol_names.h"

static bool has_dir(const struct config_symbolizer *config)
{
	return strcmp(config->cache_dir, CONFIG_NO_CACHE) != 0;
}

/* The path of the folder of fetched debug files, below cache_dir. False: there is none, or the path is too long. */
static bool fetched_dir(const struct config_symbolizer *config, char *path, size_t size)
{
	int n = snprintf(path, size, "%s/debuginfod", config->cache_dir);

	return has_dir(config) && n > 0 && (size_t)n < size;
}

struct debuginfod *symbol_cache_fetcher(const struct config_symbolizer *config, say_fn say)
{
	char dir[PATH_MAX], line[512];
	struct debuginfod_opts opts = { .urls = config->debuginfod_urls,
		                        .dir = dir,
		                        .max_bytes = config->debuginfod_bytes,
		                        .timeout_seconds = config->debuginfod_timeout_seconds };
	struct debuginfod *fetcher;

	if (!*config->debuginfod_urls)
		return NULL;
	if (!fetched_dir(config, dir, sizeof(dir))) {
		say("debug files are not fetched: there is no symbolizer.cache_dir for them");
		return NULL;
	}
	fetcher = debuginfod_new(&opts);
	if (!fetcher) {
		snprintf(line, sizeof(line), "debug files are not fetched: %.400s: %s", dir,
		         errno == EPERM ? "others may write to it, or it is another user's"
		                        : strerror(errno));
		say(line);
	}
	return fetcher;
}

static void on_missing(const char *build_id, void *context)
{
	debuginfod_ask(context, build_id);
}

struct symbolizer *symbol_cache_open(const struct config_symbolizer *config, struct debuginfod *fetcher,
                                     const struct sym_beside *beside)
{
	char dir[PATH_MAX];
	struct symbolizer_opts opts = {
		.max_memory_bytes = config->max_memory_bytes,
		.debug_dir = config->debug_dir[0] ? config->debug_dir : NULL,
		.cache_dir = has_dir(config) ? config->cache_dir : NULL,
		.max_cache_bytes = config->cache_bytes,
		.beside = beside,
	};

	if (fetched_dir(config, dir, sizeof(dir)))
		opts.fetched_dir = dir;
	if (fetcher) {
		opts.debug_missing = on_missing;
		opts.missing_context = fetcher;
	}
	symbol_names_set(config->demangle, &opts);
	return symbolizer_new(&opts);
}

void symbol_cache_keep(struct symbolizer *symbolizer, struct debuginfod *fetcher)
{
	char build_id[DEBUGINFOD_ID_HEX_SIZE];

	while (debuginfod_take(fetcher, build_id))
		symbolizer_debug_arrived(symbolizer, build_id);
	symbolizer_save(symbolizer, false);
}

void symbol_cache_close(struct symbolizer *symbolizer, struct debuginfod *fetcher)
{
	if (symbolizer)
		symbolizer_save(symbolizer, true);
	symbolizer_free(symbolizer);
	debuginfod_free(fetcher);
}

void symbol_cache_check(struct symbolizer *symbolizer, const struct config_symbolizer *config, say_fn say)
{
	int err = symbolizer_save(symbolizer, false);
	char line[512];

	if (!err)
		return;
	snprintf(line, sizeof(line), "symbols are not kept for the next start: %.400s: %s", config->cache_dir,
	         err == -EPERM ? "others may write to it, or it is another user's" : strerror(-err));
	say(line);
}
