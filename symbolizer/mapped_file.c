/* Opens the file of a mapping, by map_files, by the process's root, or by ours. */

#include "symbolizer/mapped_file.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "symbolizer/base/intern.h"
#include "symbolizer/base/regular_file.h"
#include "symbolizer/object/object_cache.h"

static bool is_path(const char *path)
{
	return path[0] == '/';
}

/* Opens `path` below `root` when it is a regular file and, where the inode is known, that one. */
static int open_if_same(const char *root, const char *path, uint64_t inode, struct stat *st)
{
	int fd = regular_file_open_stat(root, path, 0, st);

	if (fd >= 0 && inode && st->st_ino != inode) {
		close(fd);
		return -ENOENT;
	}
	return fd;
}

/* Does the link in map_files name that path? One that was cut, or is escaped in maps, is not found so. */
static bool names_path(const char *link, const char *path)
{
	char target[PATH_MAX];
	ssize_t len = readlink(link, target, sizeof(target));
	size_t n = strlen(path), mark = strlen(MAPPED_FILE_DELETED);

	if (len < 0 || (size_t)len < n || strncmp(target, path, n) != 0)
		return false;
	return (size_t)len == n ||
	       ((size_t)len == n + mark && !strncmp(target + n, MAPPED_FILE_DELETED, mark));
}

/* Of a file that overlayfs has copied, Linux 6.1 has the copy's inode in maps, and for stat() that of the file below. */
static int open_map_file(const char *link, const struct mapped_file *file, struct stat *st)
{
	return open_if_same("", link, names_path(link, file->path) ? 0 : file->inode, st);
}

int mapped_file_open(const struct mapped_file *file, char *root, size_t root_size, struct stat *st)
{
	char path[PATH_MAX];
	int fd = -ENOENT;

	if (!file->exited) {
		snprintf(root, root_size, "%s/%u/root", file->proc, file->pid);
		snprintf(path, sizeof(path), "%s/%u/map_files/%llx-%llx", file->proc, file->pid,
		         (unsigned long long)file->start, (unsigned long long)file->end);
		fd = open_map_file(path, file, st);
		if (fd < 0 && !object_cache_may_pass(fd) && is_path(file->path))
			fd = open_if_same(root, file->path, file->inode, st);
	}
	if (fd >= 0 || object_cache_may_pass(fd) || !is_path(file->path))
		return fd;
	root[0] = 0;
	return open_if_same(root, file->path, file->inode, st);
}

/*
 * Of a path, the kernel makes none with ".." in it; a memfd may have any name. When there are too many paths, files whose
 * path is not kept are opened without it.
 */
bool mapped_file_is_one(const struct mapped_file *file)
{
	if (is_path(file->path))
		return !path_has_dotdot(file->path);
	return file->inode && strcmp(file->path, INTERN_FULL) == 0;
}
