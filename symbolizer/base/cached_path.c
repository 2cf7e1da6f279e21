/* Follows paths in the kernel's cache of names alone. */

#include "symbolizer/base/cached_path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define TRIES 3 /* one fails also if something is mounted just then */

/* The link to a process's root can only be followed in the way that may wait, but for no file system. */
static int open_root(const char *root)
{
	int fd = open(*root ? root : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int open_below(int root, const char *path)
{
	const struct open_how how = { .flags = O_PATH | O_CLOEXEC,
		                      .resolve = RESOLVE_CACHED | RESOLVE_IN_ROOT };
	int fd = -EAGAIN;

	for (int i = 0; i < TRIES && fd == -EAGAIN; i++) {
		fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
		fd = fd < 0 ? -errno : fd;
	}
	return fd;
}

int cached_path_open(const char *root, const char *path)
{
	int top = open_root(root), fd;

	if (top < 0)
		return top;
	fd = open_below(top, path);
	close(top);
	return fd;
}

/* Cuts off its last part. False: it has none. */
static bool go_up(char *path)
{
	char *slash = strrchr(path, '/');

	if (!slash || !path[1])
		return false;
	slash[slash == path] = '\0';
	return true;
}

int cached_path_device_at(int fd, const char *path, uint64_t *dev)
{
	struct statx st;

	if (statx(fd, path, AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO, &st))
		return -errno;
	*dev = makedev(st.stx_dev_major, st.stx_dev_minor);
	return 0;
}

int cached_path_device(const char *root, const char *path, uint64_t *dev)
{
	char known[PATH_MAX];
	int top, fd, err;

	if (path[0] != '/' || strlen(path) >= sizeof(known))
		return -ENAMETOOLONG;
	top = open_root(root);
	if (top < 0)
		return top;
	memcpy(known, path, strlen(path) + 1);
	do
		fd = open_below(top, known);
	while (fd < 0 && go_up(known));
	close(top);
	if (fd < 0)
		return fd;
	err = cached_path_device_at(fd, "", dev);
	close(fd);
	return err;
}
