/*
 * The cgroup that a recording is limited to: a path → its id in the v2 hierarchy, which the BPF programs compare with those of a thread's
 * cgroup and of all above it. A cgroup that is removed and made anew, as a service's is at a restart, has another id.
 *
 *     cgroup_filter_choose(&filter, &config->filters, err, sizeof(err));     its id is for tracer_new(); 0: any cgroup
 *     cgroup_filter_hold(&filter, tracer, say);                              ten times a second
 */
#ifndef STALLPROF_PROFILER_CGROUP_FILTER_H
#define STALLPROF_PROFILER_CGROUP_FILTER_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profiler/format/say.h"

struct config_filters;
struct tracer;

struct cgroup_filter {
	uint64_t id;         /* the last that was found; 0: threads of any cgroup are followed */
	const char *given;   /* as the configuration has it, which outlives this */
	char path[PATH_MAX]; /* the folder */
	bool gone, was_changed;
	/* The id of a folder: 0 or -errno, -ENOTDIR when it is in no cgroup v2 mount. NULL: the kernel's answer; a test has its own. */
	int (*find)(const char *path, uint64_t *id);
};

/*
 * Finds the one cgroup that the configuration names, if it names one. Filters that cannot be obeyed are refused with -ENOTSUP, a cgroup
 * that is not there with -EINVAL, both with a line: better no recording than one of more than was asked for.
 */
int cgroup_filter_choose(struct cgroup_filter *filter, const struct config_filters *filters, char *err,
                         size_t err_len);

/*
 * Looks the path up again, which is two system calls, and tells the tracer of another id. When the cgroup is gone that is said once, and
 * once when it is there again. Whether its processes may have been tagged before the tracer knew: true at the call that finds another
 * id, and at the next one, as a program that is tagged just then may be between its tag and its exec.
 */
bool cgroup_filter_hold(struct cgroup_filter *filter, struct tracer *tracer, say_fn say);

#endif
