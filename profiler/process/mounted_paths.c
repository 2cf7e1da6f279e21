/* Finds where file systems are mounted in the lists of mounts of processes. */

#include "profiler/process/mounted_paths.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/process/mountinfo.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/growing_array.h"

#define KEPT       16
#define KEPT_NS    1000000000ULL
#define MOUNTS_MAX 65536

/* What lies below `root` in the file system is seen below `point`. */
struct mount {
	uint32_t dev;
	char *root, *point;
};

/* The mounts of a process as they were when it was looked at. */
struct mounts {
	char who[16];
	uint64_t looked_ns; /* 0: void */
	struct mount *mount;
	size_t n, room;
};

struct mounted_paths {
	char proc[128];
	struct mounts kept[KEPT];
};

struct mounted_paths *mounted_paths_new(const char *proc)
{
	struct mounted_paths *paths = calloc(1, sizeof(*paths));

	if (paths)
		snprintf(paths->proc, sizeof(paths->proc), "%s", proc ? proc : "/proc");
	return paths;
}

static void forget(struct mounts *mounts)
{
	for (size_t i = 0; i < mounts->n; i++) {
		free(mounts->mount[i].root);
		free(mounts->mount[i].point);
	}
	free(mounts->mount);
	*mounts = (struct mounts){ .n = 0 };
}

void mounted_paths_free(struct mounted_paths *paths)
{
	for (size_t i = 0; paths && i < KEPT; i++)
		forget(&paths->kept[i]);
	free(paths);
}

/* What of `place`, which begins with a slash, is left behind `root`; NULL: it is not in there. */
static const char *below(const char *place, const char *root)
{
	size_t n = strcmp(root, "/") != 0 ? strlen(root) : 0;

	return !strncmp(place, root, n) && (!place[n] || place[n] == '/') ? place + n : NULL;
}

static bool add_mount(void *ctx, const struct mountinfo_entry *entry)
{
	struct mounts *mounts = ctx;
	struct mount mount = { .dev = entry->major << 20 | entry->minor,
		               .root = strdup(entry->root),
		               .point = strdup(entry->point) };

	if (mount.root && mount.point &&
	    !growing_array_reserve((void **)&mounts->mount, mounts->n + 1, &mounts->room,
	                           sizeof(*mounts->mount), MOUNTS_MAX)) {
		mounts->mount[mounts->n++] = mount;
		return false;
	}
	free(mount.root);
	free(mount.point);
	return false;
}

/* A process's whole list is read at once, however many places are looked for in it. */
static const struct mounts *mounts_of(struct mounted_paths *paths, const char *who)
{
	struct mounts *mounts = &paths->kept[0];
	uint64_t now = monotonic_ns();

	for (size_t i = 0; i < KEPT; i++) {
		struct mounts *kept = &paths->kept[i];

		if (kept->looked_ns && now - kept->looked_ns < KEPT_NS && !strcmp(kept->who, who))
			return kept;
		if (kept->looked_ns < mounts->looked_ns)
			mounts = kept;
	}
	forget(mounts);
	snprintf(mounts->who, sizeof(mounts->who), "%s", who);
	mounts->looked_ns = now;
	mountinfo_each(paths->proc, who, add_mount, mounts);
	return mounts;
}

/* The mount that has the place, and no more than others that have it; NULL: none has. */
static const struct mount *find_mount(const struct mounts *mounts, uint32_t dev, const char *place)
{
	const struct mount *best = NULL;

	for (size_t i = 0; i < mounts->n; i++) {
		const struct mount *mount = &mounts->mount[i];

		if (mount->dev == dev && below(place, mount->root) &&
		    (!best || strlen(mount->root) >= strlen(best->root)))
			best = mount;
	}
	return best;
}

/* Where files of the folder are seen; NULL: nowhere. */
static const struct mount *mount_of(struct mounted_paths *paths, uint32_t pid, uint32_t dev,
                                    const char *folder)
{
	const struct mount *mount;
	char who[16];

	snprintf(who, sizeof(who), "%u", pid);
	mount = find_mount(mounts_of(paths, who), dev, folder);
	return mount ? mount : find_mount(mounts_of(paths, "self"), dev, folder);
}

/* Files that are mounted themselves are taken for what their folder has. */
int mounted_paths_of(struct mounted_paths *paths, uint32_t pid, uint32_t dev, const char *place, char *path,
                     size_t size)
{
	char whole[PATH_MAX], folder[PATH_MAX], *slash;
	const struct mount *mount;

	*path = '\0';
	if ((size_t)snprintf(whole, sizeof(whole), "/%s", place) >= sizeof(whole))
		return -ENAMETOOLONG;
	memcpy(folder, whole, strlen(whole) + 1);
	slash = strrchr(folder, '/');
	slash[slash == folder] = '\0';
	mount = mount_of(paths, pid, dev, folder);
	if ((size_t)snprintf(path, size, "%s%s", mount && strcmp(mount->point, "/") != 0 ? mount->point : "",
	                     mount ? below(whole, mount->root) : whole) >= size) {
		*path = '\0';
		return -ENAMETOOLONG;
	}
	return mount ? 0 : -ENOENT;
}
