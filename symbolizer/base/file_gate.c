/* Finds the file system of a path or file without waiting for it, and asks the gate of this thread. */

#include "symbolizer/base/file_gate.h"

#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "symbolizer/base/cached_path.h"
#include "symbolizer/base/growing_array.h"

#define ROOT_BYTES 64

/* Without initial-exec it is found by a function of the loader's, which the program would need as a library. */
static _Thread_local struct {
	const struct file_gate *gate; /* NULL: none */
	uint64_t refusals;
	int *left; /* open, as they could not be closed */
	size_t n_left, left_room;
} own __attribute__((tls_model("initial-exec")));

void file_gate_set(const struct file_gate *gate)
{
	own.gate = gate;
}

/* Those without a device of their own have the major number 0: of a network, of another process, but also in memory, overlayfs, btrfs. */
static bool may_hang(uint64_t dev)
{
	return major(dev) == 0;
}

static bool answers(uint64_t dev, const char *path)
{
	bool yes = own.gate->answers(own.gate->ctx, dev, path);

	own.refusals += !yes;
	return yes;
}

/* Splits /proc/PID/root/PATH. False: it is none. */
static bool split_root(const char *path, char root[ROOT_BYTES], const char **below)
{
	int len = -1;

	if (sscanf(path, "/proc/%*[0-9a-z]/root%n", &len) != 0 || len < 0 || len >= ROOT_BYTES ||
	    path[len] != '/')
		return false;
	memcpy(root, path, (size_t)len);
	root[len] = '\0';
	*below = path + len;
	return true;
}

static int device_of(const char *root, const char *path, uint64_t *dev)
{
	char of_process[ROOT_BYTES];
	const char *below;

	if (*root || strncmp(path, "/proc/", 6) != 0)
		return cached_path_device(root, path, dev);
	if (split_root(path, of_process, &below))
		return cached_path_device(of_process, below, dev);
	/* Such a link leads to the file itself, wherever that is, and to follow it asks nobody. */
	return cached_path_device_at(AT_FDCWD, path, dev);
}

bool file_gate_path(const char *root, const char *path)
{
	char whole[ROOT_BYTES + PATH_MAX];
	uint64_t dev;

	/* What cannot be found is for the caller to find out. */
	if (!own.gate || device_of(root, path, &dev) || !may_hang(dev))
		return true;
	snprintf(whole, sizeof(whole), "%s%s", root, path);
	return answers(dev, whole);
}

bool file_gate_fd(int fd, uint64_t dev)
{
	char path[64];

	if (!own.gate || fd < 0 || !may_hang(dev))
		return true;
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)getpid(), fd);
	return answers(dev, path);
}

uint64_t file_gate_refusals(void)
{
	return own.refusals;
}

/* --- closing ---------------------------------------------------------------------------------------------- */

static bool may_close(int fd)
{
	uint64_t dev;

	return !own.gate || cached_path_device_at(fd, "", &dev) || file_gate_fd(fd, dev);
}

/* Closes those that were left open and can be closed by now. */
static void close_left(void)
{
	size_t kept = 0;

	for (size_t i = 0; i < own.n_left; i++)
		if (may_close(own.left[i]))
			close(own.left[i]);
		else
			own.left[kept++] = own.left[i];
	own.n_left = kept;
}

void file_gate_close(int fd)
{
	close_left();
	if (may_close(fd))
		close(fd);
	else if (!growing_array_reserve((void **)&own.left, own.n_left + 1, &own.left_room, sizeof(*own.left),
	                                SIZE_MAX))
		own.left[own.n_left++] = fd;
}
