/* Turns a cgroup's path into the id and depth that the BPF programs compare with. */

#include "profiler/tracer/cgroup_filter.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <mntent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "profiler/config/config.h"

/* How many folders lie between the mount's root and the path. */
static int depth_below_mount(const char *path, uint32_t *level)
{
	char real[PATH_MAX], parent[PATH_MAX + 4];
	struct stat here, above;
	uint32_t depth = 0;

	if (!realpath(path, real))
		return -errno;
	for (;;) {
		char *slash = strrchr(real, '/');

		snprintf(parent, sizeof(parent), "%s/..", real);
		if (stat(real, &here) || stat(parent, &above))
			return -errno;
		if (here.st_dev != above.st_dev || !slash || slash == real)
			break;
		*slash = '\0';
		depth++;
	}
	*level = depth;
	return 0;
}

/* A path as /proc/PID/cgroup has it lies below the mount of the hierarchy. */
static void resolve(const char *given, char *path, size_t size)
{
	FILE *mounts = access(given, F_OK) ? setmntent("/proc/self/mounts", "re") : NULL;
	struct mntent *mount;
	bool found = false;

	while (mounts && !found && (mount = getmntent(mounts))) {
		if (strcmp(mount->mnt_type, "cgroup2"))
			continue;
		snprintf(path, size, "%s/%s", mount->mnt_dir, given);
		found = access(path, F_OK) == 0;
	}
	if (mounts)
		endmntent(mounts);
	if (!found)
		snprintf(path, size, "%s", given);
}

/* `given` is the path of a folder in a cgroup2 mount, or below one, as /proc/PID/cgroup has it. -EINVAL with a line when
 * it is not. */
static int find_cgroup(const char *given, uint64_t *id, uint32_t *level, char *err, size_t err_len)
{
	char path[PATH_MAX];
	union {
		struct file_handle handle;
		char room[sizeof(struct file_handle) + sizeof(uint64_t)];
	} h = { .handle = { .handle_bytes = sizeof(uint64_t) } };
	struct statfs fs;
	int mount_id;

	resolve(given, path, sizeof(path));
	if (statfs(path, &fs)) {
		snprintf(err, err_len, "cgroup %s: %s", path, strerror(errno));
		return -EINVAL;
	}
	if (fs.f_type != CGROUP2_SUPER_MAGIC) {
		snprintf(err, err_len,
		         "cgroup %s: not in a cgroup v2 mount; name a folder of one, see mount -t cgroup2",
		         path);
		return -EINVAL;
	}
	if (name_to_handle_at(AT_FDCWD, path, &h.handle, &mount_id, 0) || depth_below_mount(path, level)) {
		snprintf(err, err_len, "cgroup %s: cannot find its id: %s", path, strerror(errno));
		return -EINVAL;
	}
	memcpy(id, h.handle.f_handle, sizeof(*id));
	return 0;
}

int cgroup_filter_choose(const struct config_filters *filters, uint64_t *id, uint32_t *level, char *err,
                         size_t err_len)
{
	if (filters->pid_count || filters->cgroup_count > 1) {
		snprintf(err, err_len,
		         "filters.pids, and more than one of filters.cgroups, cannot be applied yet: "
		         "remove them, or use stallprof record -p");
		return -ENOTSUP;
	}
	return filters->cgroup_count ? find_cgroup(filters->cgroups[0], id, level, err, err_len) : 0;
}
