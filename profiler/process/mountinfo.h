/*
 * The list of mounts of a process, PROC/PID/mountinfo (man 5 proc_pid_mountinfo), which the kernel makes of what it has in
 * memory: no file system is asked.
 */
#ifndef STALLPROF_PROFILER_MOUNTINFO_H
#define STALLPROF_PROFILER_MOUNTINFO_H

#include <stdbool.h>

/* The texts live until the call returns. */
struct mountinfo_entry {
	unsigned int major, minor; /* of the file system */
	const char *root, *point;  /* what lies below `root` in the file system is seen below `point` */
	const char *type, *source; /* "nfs4", "server:/export" */
};

/* Calls `each` for each mount of `who` (a pid, "self"), until that says true. Returns whether it did. */
bool mountinfo_each(const char *proc, const char *who,
                    bool (*each)(void *ctx, const struct mountinfo_entry *mount), void *ctx);

#endif
