/* Opens regular files only, and tells which ones nobody but root or us may write to. */

#include "symbolizer/base/regular_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "symbolizer/base/file_gate.h"

/* Takes `at`, a descriptor that is only looked at. Opened through it, so that it is what has been looked at. */
static int open_looked_at(int at, struct stat *st)
{
	char self[64];
	int fd;

	if (at < 0)
		return -errno;
	if (fstat(at, st)) {
		fd = -errno;
	} else if (!S_ISREG(st->st_mode)) {
		fd = -EBADMSG;
	} else {
		snprintf(self, sizeof(self), "/proc/self/fd/%d", at);
		fd = open(self, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
		fd = fd < 0 ? -errno : fd;
	}
	close(at);
	return fd;
}

int regular_file_open(const char *path, int flags)
{
	return regular_file_open_in("", path, flags);
}

int regular_file_open_in(const char *root, const char *path, int flags)
{
	struct stat st;

	return regular_file_open_stat(root, path, flags, &st);
}

int regular_file_open_stat(const char *root, const char *path, int flags, struct stat *st)
{
	struct open_how how = { .flags = (uint64_t)(O_PATH | O_CLOEXEC | flags),
		                .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
	int top, fd;

	if (!file_gate_path(root, path))
		return -EAGAIN;
	if (!*root)
		return open_looked_at(open(path, O_PATH | O_CLOEXEC | flags), st);
	top = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (top < 0)
		return -errno;
	fd = open_looked_at((int)syscall(SYS_openat2, top, path, &how, sizeof(how)), st);
	close(top);
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

#define ZFS_SUPER_MAGIC 0x2fc12fc1

bool regular_file_keeps_pages(int fd)
{
	static const uint32_t keeping[] = { EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC,
		                            F2FS_SUPER_MAGIC, ZFS_SUPER_MAGIC, SQUASHFS_MAGIC,
		                            TMPFS_MAGIC,      RAMFS_MAGIC };
	struct stat st, own;
	struct statfs fs;
	size_t i;

	if (fstatfs(fd, &fs))
		return false;
	for (i = 0; i < sizeof(keeping) / sizeof(keeping[0]); i++)
		if ((uint32_t)fs.f_type == keeping[i])
			return true;
	return (uint32_t)fs.f_type == OVERLAYFS_SUPER_MAGIC && !fstat(fd, &st) &&
	       !stat("/proc/self/exe", &own) && st.st_dev == own.st_dev;
}

bool path_has_dotdot(const char *path)
{
	const char *at;

	for (at = path; *at; at++)
		if (at[0] == '.' && at[1] == '.' && (!at[2] || at[2] == '/') && (at == path || at[-1] == '/'))
			return true;
	return false;
}
