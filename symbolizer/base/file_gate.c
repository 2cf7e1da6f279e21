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

/* initial-exec: the others need a function of the loader's, and the program it as a library. */
static _Thread_local const struct file_gate *gate __attribute__((tls_model("initial-exec")));

static _Thread_local uint64_t refusals __attribute__((tls_model("initial-exec")));
static _Thread_local int *left
        __attribute__((tls_model("initial-exec"))); /* open, as they could not be closed */
static _Thread_local size_t n_left __attribute__((tls_model("initial-exec")));
static _Thread_local size_t left_room __attribute__((tls_model("initial-exec")));

void file_gate_set(const struct file_gate *new_gate)
{
	gate = new_gate;
}

/* Those without a device of their own have the major number 0: of a network, of another process, but also in memory, overlayfs, btrfs. */
static bool may_hang(uint64_t dev)
{
	return major(dev) == 0;
}

static bool answers(uint64_t dev, const char *path)
{
	bool yes = gate->answers(gate->ctx, dev, path);

	refusals += !yes;
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
	if (!gate || device_of(root, path, &dev) || !may_hang(dev))
		return true;
	snprintf(whole, sizeof(whole), "%s%s", root, path);
	return answers(dev, whole);
}

bool file_gate_open(int fd, uint64_t dev)
{
	char path[64];

	if (!gate || fd < 0 || !may_hang(dev))
		return true;
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)getpid(), fd);
	return answers(dev, path);
}

uint64_t file_gate_refusals(void)
{
	return refusals;
}

/* --- closing ---------------------------------------------------------------------------------------------- */

static bool may_close(int fd)
{
	uint64_t dev;

	return !gate || cached_path_device_at(fd, "", &dev) || file_gate_open(fd, dev);
}

/* Closes those that were left open and can be closed by now. */
static void close_left(void)
{
	size_t kept = 0;

	for (size_t i = 0; i < n_left; i++)
		if (may_close(left[i]))
			close(left[i]);
		else
			left[kept++] = left[i];
	n_left = kept;
}

void file_gate_close(int fd)
{
	close_left();
	if (may_close(fd))
		close(fd);
	else if (!growing_array_reserve((void **)&left, n_left + 1, &left_room, sizeof(*left), SIZE_MAX))
		left[n_left++] = fd;
}
