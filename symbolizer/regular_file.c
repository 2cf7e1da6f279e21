#include "symbolizer/regular_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int regular_file_open(const char *path, int flags)
{
	char self[64];
	struct stat st;
	int at = open(path, O_PATH | O_CLOEXEC | flags), fd;

	if (at < 0)
		return -errno;
	if (fstat(at, &st)) {
		fd = -errno;
	} else if (!S_ISREG(st.st_mode)) {
		fd = -EBADMSG;
	} else {
		/* Through the descriptor, so that it is what has been looked at. */
		snprintf(self, sizeof(self), "/proc/self/fd/%d", at);
		fd = open(self, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
		fd = fd < 0 ? -errno : fd;
	}
	close(at);
	return fd;
}

static bool is_safe(const struct stat *st)
{
	return (st->st_uid == 0 || st->st_uid == geteuid()) && !(st->st_mode & (S_IWGRP | S_IWOTH));
}

bool regular_file_is_safe(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && is_safe(&st);
}

bool regular_file_is_safe_in(int fd, const char *path, const char *dir)
{
	char real[PATH_MAX], real_dir[PATH_MAX];
	struct stat st, there;
	size_t len;

	if (!realpath(dir, real_dir) || !realpath(path, real))
		return false;
	len = strlen(real_dir);
	if (strncmp(real, real_dir, len) != 0 || real[len] != '/')
		return false;
	return !fstat(fd, &st) && !lstat(real, &there) && st.st_dev == there.st_dev &&
	       st.st_ino == there.st_ino && is_safe(&st);
}

bool regular_file_climbs(const char *path)
{
	size_t len;

	for (; *path; path += len + (path[len] == '/')) {
		len = strcspn(path, "/");
		if (len == 2 && memcmp(path, "..", 2) == 0)
			return true;
	}
	return false;
}
