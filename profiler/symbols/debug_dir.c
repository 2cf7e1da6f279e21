/* A folder of debug files by build-id: makes it, adds files, trims it to a size. */

#include "profiler/symbols/debug_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define UNFINISHED  "/.fetching-"
#define FILES_MAX   65536
#define DAY_SECONDS (24 * 60 * 60)

static int make_one(const char *path)
{
	return mkdir(path, 0700) && errno != EEXIST ? -errno : 0;
}

static void remove_unfinished(const char *dir)
{
	char pattern[PATH_MAX];
	struct stat st;
	glob_t found;
	size_t i;

	if ((size_t)snprintf(pattern, sizeof(pattern), "%s" UNFINISHED "*", dir) >= sizeof(pattern) ||
	    glob(pattern, GLOB_NOSORT, NULL, &found))
		return;
	for (i = 0; i < found.gl_pathc; i++)
		if (!lstat(found.gl_pathv[i], &st) && time(NULL) - st.st_mtime > DAY_SECONDS)
			unlink(found.gl_pathv[i]);
	globfree(&found);
}

int debug_dir_make(const char *dir)
{
	char path[PATH_MAX], *slash;
	struct stat st;
	int err;

	if ((size_t)snprintf(path, sizeof(path), "%s/.build-id", dir) >= sizeof(path))
		return -ENAMETOOLONG;
	slash = strrchr(path, '/');
	*slash = 0;
	if (strrchr(path, '/') > path) {
		*strrchr(path, '/') = 0;
		make_one(path);
	}
	err = make_one(dir);
	if (err)
		return err;
	if (lstat(dir, &st))
		return -errno;
	if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid() || st.st_mode & (S_IWGRP | S_IWOTH))
		return -EPERM;
	remove_unfinished(dir);
	snprintf(path, sizeof(path), "%s/.build-id", dir);
	return make_one(path);
}

int debug_dir_begin(const char *dir, char **path)
{
	int fd;

	if (asprintf(path, "%s" UNFINISHED "XXXXXX", dir) < 0)
		return -ENOMEM;
	fd = mkostemp(*path, O_CLOEXEC);
	if (fd < 0) {
		fd = -errno;
		free(*path);
		*path = NULL;
	}
	return fd;
}

int debug_dir_keep(const char *dir, const char *path, const char *build_id)
{
	char to[PATH_MAX];
	int n = snprintf(to, sizeof(to), "%s/.build-id/%.2s", dir, build_id), err;

	if (n < 0 || (size_t)n + strlen(build_id) + sizeof("/.debug") > sizeof(to))
		err = -ENAMETOOLONG;
	else
		err = make_one(to);
	if (!err) {
		snprintf(to + n, sizeof(to) - (size_t)n, "/%s.debug", build_id + 2);
		err = rename(path, to) ? -errno : 0;
	}
	if (err)
		unlink(path);
	return err;
}

struct kept {
	char *path;
	uint64_t size;
	time_t used;
};

static int compare_used(const void *a, const void *b)
{
	const struct kept *x = a, *y = b;

	return x->used < y->used ? -1 : x->used > y->used;
}

static size_t list(const char *dir, struct kept *files, uint64_t *sum)
{
	char path[PATH_MAX];
	char *const tops[] = { path, NULL };
	const struct stat *st;
	FTSENT *entry;
	size_t n = 0;
	FTS *walk;

	*sum = 0;
	snprintf(path, sizeof(path), "%s/.build-id", dir);
	walk = fts_open(tops, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	while (walk && n < FILES_MAX && (entry = fts_read(walk))) {
		if (entry->fts_info != FTS_F)
			continue;
		st = entry->fts_statp;
		files[n] = (struct kept){ .path = strdup(entry->fts_path),
			                  .size = (uint64_t)st->st_size,
			                  .used = st->st_atime > st->st_mtime ? st->st_atime : st->st_mtime };
		if (!files[n].path)
			break;
		*sum += files[n++].size;
	}
	if (walk)
		fts_close(walk);
	return n;
}

static int is_file_of(const char *path, const char *build_id)
{
	const char *name = strrchr(path, '/');

	return build_id && name && strlen(build_id) > 2 &&
	       strncmp(name + 1, build_id + 2, strlen(build_id + 2)) == 0;
}

void debug_dir_trim(const char *dir, uint64_t max_bytes, const char *except)
{
	struct kept *files = calloc(FILES_MAX, sizeof(*files));
	uint64_t sum;
	size_t n, i;

	if (!files)
		return;
	n = list(dir, files, &sum);
	qsort(files, n, sizeof(*files), compare_used);
	for (i = 0; i < n; i++) {
		if (sum > max_bytes && !is_file_of(files[i].path, except) && !unlink(files[i].path))
			sum -= files[i].size;
		free(files[i].path);
	}
	free(files);
}
