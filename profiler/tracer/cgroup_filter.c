/* Turns a cgroup's path into the id that the BPF programs compare with, again and again. */

#include "profiler/tracer/cgroup_filter.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <mntent.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "profiler/config/config.h"
#include "profiler/tracer/tracer.h"

static int find_id(const char *path, uint64_t *id)
{
	union {
		struct file_handle handle;
		char room[sizeof(struct file_handle) + sizeof(uint64_t)];
	} h = { .handle = { .handle_bytes = sizeof(uint64_t) } };
	struct statfs fs;
	int mount_id;

	if (statfs(path, &fs))
		return -errno;
	if (fs.f_type != CGROUP2_SUPER_MAGIC)
		return -ENOTDIR;
	if (name_to_handle_at(AT_FDCWD, path, &h.handle, &mount_id, 0))
		return -errno;
	memcpy(id, h.handle.f_handle, sizeof(*id));
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
static int find_cgroup(struct cgroup_filter *filter, const char *given, char *err, size_t err_len)
{
	int result;

	filter->given = given;
	resolve(given, filter->path, sizeof(filter->path));
	result = (filter->find ? filter->find : find_id)(filter->path, &filter->id);
	if (result == -ENOTDIR)
		snprintf(err, err_len,
		         "cgroup %s: not in a cgroup v2 mount; name a folder of one, see mount -t cgroup2",
		         filter->path);
	else if (result)
		snprintf(err, err_len, "cgroup %s: %s", filter->path, strerror(-result));
	return result ? -EINVAL : 0;
}

int cgroup_filter_choose(struct cgroup_filter *filter, const struct config_filters *filters, char *err,
                         size_t err_len)
{
	if (filters->pid_count || filters->cgroup_count > 1) {
		snprintf(err, err_len,
		         "filters.pids, and more than one of filters.cgroups, cannot be applied yet: "
		         "remove them, or use stallprof record -p");
		return -ENOTSUP;
	}
	return filters->cgroup_count ? find_cgroup(filter, filters->cgroups[0], err, err_len) : 0;
}

static void tell_gone(struct cgroup_filter *filter, bool gone, say_fn say)
{
	char line[PATH_MAX + 128];

	if (filter->gone == gone)
		return;
	filter->gone = gone;
	snprintf(line, sizeof(line),
	         gone ? "cgroup %s is gone: nothing is tagged until it is there again"
	              : "cgroup %s is there again: what is tagged in it is seen",
	         filter->given);
	say(line);
}

bool cgroup_filter_hold(struct cgroup_filter *filter, struct tracer *tracer, say_fn say)
{
	bool was_changed = filter->was_changed;
	uint64_t id = 0;
	int result;

	if (!filter->id)
		return false;
	result = (filter->find ? filter->find : find_id)(filter->path, &id);
	filter->was_changed = !result && id != filter->id;
	if (filter->was_changed) {
		filter->id = id;
		tracer_set_cgroup(tracer, id);
	}
	/* Other errors are of the moment, as want of memory. */
	if (!result || result == -ENOENT || result == -ENOTDIR)
		tell_gone(filter, result != 0, say);
	return filter->was_changed || was_changed;
}
