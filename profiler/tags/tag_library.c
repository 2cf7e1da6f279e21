/* Lists the files that may hold the tag library's probes before a command runs. */

#include "profiler/tags/tag_library.h"

#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profiler/process/given_environment.h"

#define LIBRARY "libstalltag.so.1"

static const char *const system_dirs[] = { "/usr/local/lib", "/usr/lib/x86_64-linux-gnu",
	                                   "/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib" };

static void offer(const char *dir, size_t dir_len, const char *name, tag_library_fn found, void *ctx)
{
	char path[PATH_MAX], real[PATH_MAX];

	if (!dir_len || dir_len + strlen(name) + 2 > sizeof(path))
		return;
	snprintf(path, sizeof(path), "%.*s/%s", (int)dir_len, dir, name);
	if (access(path, R_OK) == 0 && realpath(path, real))
		found(ctx, real);
}

/* Each folder of a list with colons. */
static void offer_each(const char *list, const char *name, tag_library_fn found, void *ctx)
{
	while (list && *list) {
		size_t n = strcspn(list, ":");

		offer(list, n, name, found, ctx);
		list += n;
		list += *list == ':';
	}
}

/* Where pip puts it, for a Python of a virtual environment or of its own, and for the programs beside that. */
static void offer_module(const char *command, tag_library_fn found, void *ctx)
{
	char pattern[PATH_MAX], real[PATH_MAX];
	const char *slash = strrchr(command, '/');
	glob_t files;

	if (!slash ||
	    snprintf(pattern, sizeof(pattern), "%.*s/../lib/python3*/site-packages/stalltag/libstalltag*.so*",
	             (int)(slash - command), command) >= (int)sizeof(pattern))
		return;
	if (!glob(pattern, 0, NULL, &files))
		for (size_t i = 0; i < files.gl_pathc; i++)
			if (realpath(files.gl_pathv[i], real))
				found(ctx, real);
	globfree(&files);
}

static void offer_program(const char *path, tag_library_fn found, void *ctx)
{
	if (access(path, R_OK))
		return;
	found(ctx, path);
	offer_module(path, found, ctx);
}

/* A name is looked up in PATH; each that is found there is offered. */
static void offer_command(const char *command, tag_library_fn found, void *ctx)
{
	const char *list = getenv("PATH");
	char path[PATH_MAX];

	if (strchr(command, '/')) {
		offer_program(command, found, ctx);
		return;
	}
	while (list && *list) {
		int n = (int)strcspn(list, ":");

		if (n && snprintf(path, sizeof(path), "%.*s/%s", n, list, command) < (int)sizeof(path))
			offer_program(path, found, ctx);
		list += n;
		list += *list == ':';
	}
}

static void offer_beside_self(tag_library_fn found, void *ctx)
{
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	const char *slash;

	if (n <= 0)
		return;
	self[n] = '\0';
	slash = strrchr(self, '/');
	if (slash)
		offer(self, slash - self, LIBRARY, found, ctx);
}

void tag_library_candidates(const char *command, tag_library_fn found, void *ctx)
{
	size_t i;

	if (command)
		offer_command(command, found, ctx);
	offer_beside_self(found, ctx);
	offer_each(given_environment_value("LD_LIBRARY_PATH"), LIBRARY, found, ctx);
	if (getenv("STALLTAG_LIBRARY")) /* where the Python module is told to look */
		found(ctx, getenv("STALLTAG_LIBRARY"));
	for (i = 0; i < sizeof(system_dirs) / sizeof(system_dirs[0]); i++)
		offer(system_dirs[i], strlen(system_dirs[i]), LIBRARY, found, ctx);
}
