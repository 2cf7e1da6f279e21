/* Looks at folders, ports, causes and secrets of a configuration as the agent would. */

#include "profiler/cli/agent_check.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profiler/config/config.h"
#include "profiler/output/sink.h"
#include "profiler/output/sink_spool.h"
#include "profiler/scrape/scrape.h"
#include "profiler/tracer/cgroup_filter.h"
#include "profiler/tracer/probe_table.h"
#include "profiler/tracer/tag_folders.h"

#define LINE_MAX_BYTES 8192

/* The folder that an absolute path is in. */
static void folder_above(const char *path, char *above, size_t size)
{
	size_t n;

	snprintf(above, size, "%s", path);
	n = strlen(above);
	while (n > 1 && above[n - 1] == '/')
		n--;
	while (n > 1 && above[n - 1] != '/')
		n--;
	while (n > 1 && above[n - 1] == '/')
		n--;
	above[n] = '\0';
}

/* Whether `path` is to be directly in `dir`, which may be "": nowhere. */
static bool is_in(const char *path, const char *dir)
{
	char above[PATH_MAX];
	size_t n;

	folder_above(path, above, sizeof(above));
	n = strlen(above);
	return !strncmp(above, dir, n) && !dir[n + strspn(dir + n, "/")];
}

/* Who may write there is not looked at, as the agent is mostly another user than who checks. */
static const char *present_folder_problem(const char *dir)
{
	struct stat seen;

	if (stat(dir, &seen))
		return strerror(errno);
	if (!S_ISDIR(seen.st_mode))
		return strerror(ENOTDIR);
	return access(dir, W_OK) && errno == EROFS ? strerror(EROFS) : NULL;
}

/* What is wrong with a folder that the agent makes when it is missing, after it has made `before` ("": nothing). NULL: nothing that
 * is seen without making it. */
static const char *folder_problem(const char *dir, const char *before)
{
	char above[PATH_MAX];
	struct stat seen;

	if (!*dir)
		return NULL;
	if (!stat(dir, &seen))
		return present_folder_problem(dir);
	if (is_in(dir, before))
		return NULL;
	folder_above(dir, above, sizeof(above));
	return present_folder_problem(above);
}

/* NULL, or the same with *setting and *dir: which one it is. */
static const char *output_problem(const struct config *config, const char **setting, const char **dir)
{
	const char *problem = folder_problem(config->output.directory, "");

	*setting = "output.directory";
	*dir = config->output.directory;
	if (problem)
		return problem;
	*setting = "output.reports";
	*dir = config->output.reports;
	return folder_problem(config->output.reports, config->output.directory);
}

static int check_folders_and_causes(const char *config_path, const struct config *config, char *err,
                                    size_t err_len)
{
	const char *setting, *dir, *problem = output_problem(config, &setting, &dir);
	struct cgroup_filter cgroup = { 0 };
	struct tag_folders *folders;
	int result;

	if (problem)
		snprintf(err, err_len, "%s: %s: %s: %s", config_path, setting, dir, problem);
	for (size_t i = 0; !problem && i < config->sampling.cause_off_count; i++) {
		problem = probe_cause_stays(config->sampling.causes_off[i]);
		if (problem)
			snprintf(err, err_len, "%s: sampling.causes_off: %s: %s", config_path,
			         config->sampling.causes_off[i], problem);
	}
	if (problem)
		return -EINVAL;
	result = cgroup_filter_choose(&cgroup, &config->filters, err, err_len);
	if (result)
		return result;
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

/* The agent starts without it. */
static void check_spool(const struct config *config, say_fn warn)
{
	char line[LINE_MAX_BYTES];
	int err = 0;

	if (*config->push.url && *config->push.spool)
		err = sink_spool_check(config->push.spool, line, sizeof(line));
	if (err == -EWOULDBLOCK)
		warn_in_use(warn, line);
	else if (err && !(err == -ENOENT && is_in(config->push.spool, config->output.directory)))
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
