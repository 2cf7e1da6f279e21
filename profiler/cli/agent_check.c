/* Looks at folders, ports, causes and secrets of a configuration as the agent would. */

#include "profiler/cli/agent_check.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "profiler/config/config.h"
#include "profiler/output/sink.h"
#include "profiler/output/sink_spool.h"
#include "profiler/scrape/scrape.h"
#include "profiler/tracer/probe_table.h"
#include "profiler/tracer/tag_folders.h"

#define LINE_MAX_BYTES 8192

/* What is wrong with the folder that profiles go to, NULL: nothing that is seen without making it. */
static const char *folder_problem(const char *dir)
{
	char above[4096];
	struct stat seen;
	char *slash;

	if (!*dir)
		return NULL;
	if (!stat(dir, &seen))
		return S_ISDIR(seen.st_mode) ? NULL : strerror(ENOTDIR);
	snprintf(above, sizeof(above), "%s", dir);
	slash = strrchr(above, '/');
	if (slash && slash != above)
		*slash = '\0';
	return stat(above, &seen) ? strerror(errno) : NULL;
}

static int check_folders_and_causes(const char *config_path, const struct config *config, char *err,
                                    size_t err_len)
{
	const char *problem = folder_problem(config->output.directory);
	struct tag_folders *folders;
	int result;

	if (problem)
		snprintf(err, err_len, "%s: output.directory: %s: %s", config_path, config->output.directory,
		         problem);
	for (size_t i = 0; !problem && i < config->sampling.cause_off_count; i++) {
		problem = probe_cause_stays(config->sampling.causes_off[i]);
		if (problem)
			snprintf(err, err_len, "%s: sampling.causes_off: %s: %s", config_path,
			         config->sampling.causes_off[i], problem);
	}
	if (problem)
		return -EINVAL;
	result = tag_folders_open(config->tags.files, config->tags.files_count, &folders, err, err_len);
	tag_folders_close(folders);
	return result;
}

/* It is right if the agent that runs has this configuration; systemd sets MAINPID for what it runs to have one reloaded. */
static void warn_in_use(say_fn warn, const char *line)
{
	char text[LINE_MAX_BYTES + 128];

	if (getenv("MAINPID"))
		return;
	snprintf(text, sizeof(text), "%s (all is well if that is the agent which this configuration is for)",
	         line);
	warn(text);
}

/* Whether the spool is to be in output.directory, which the agent makes before. */
static bool is_in_output(const struct config *config)
{
	const char *dir = config->output.directory, *spool = config->push.spool, *last;
	size_t len = strlen(dir);

	while (len && dir[len - 1] == '/')
		len--;
	last = strrchr(spool, '/');
	return len && !strncmp(spool, dir, len) && last == spool + len;
}

/* The agent starts without it. */
static void check_spool(const struct config *config, say_fn warn)
{
	char line[LINE_MAX_BYTES];
	int err = 0;

	if (*config->push.url && *config->push.spool)
		err = sink_spool_check(config->push.spool, line, sizeof(line));
	if (err == -EWOULDBLOCK)
		warn_in_use(warn, line);
	else if (err && !(err == -ENOENT && is_in_output(config)))
		warn(line);
}

static int check_push(const struct config *config, say_fn warn, char *err, size_t err_len)
{
	struct sink *sink = sink_new(config, NULL, warn, err, err_len);
	int result = sink ? 0 : -errno;

	sink_free(sink);
	if (!result)
		check_spool(config, warn);
	return result;
}

int agent_check_host(const char *config_path, const struct config *config, say_fn warn, char *err,
                     size_t err_len)
{
	int result = check_folders_and_causes(config_path, config, err, err_len);

	if (!result)
		result = check_push(config, warn, err, err_len);
	if (!result)
		result = scrape_check(config, err, err_len);
	if (result != -EADDRINUSE)
		return result;
	warn_in_use(warn, err);
	return 0;
}
