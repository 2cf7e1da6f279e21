/*
 * Which processes of the host used its CPUs and disks, tagged or not: who was in the way when tagged threads waited for a CPU or a disk.
 *
 *     users = host_users_new(maps)
 *     host_users_add(users, tgid, dev, amount)              any number
 *     host_users_tell(users, devices, timeline, from, to)   once a second: on the timeline, and forgotten
 *     host_users_free(users)
 *
 * On the timeline they are signals by the names HOST_USER_CPU, with nanoseconds on CPUs, by samples, and HOST_USER_DISK, with bytes of
 * requests of no tag, with the disk as the device. The class is "comm (pid)"; for all that are too many or too small "others". Not
 * thread-safe.
 */
#ifndef STALLPROF_PROFILER_HOST_USERS_H
#define STALLPROF_PROFILER_HOST_USERS_H

#include <stdint.h>

struct device_names;
struct exec_maps;
struct host_users;
struct window_timeline;

/* `maps`, which outlives it, has the names of processes that have gone; NULL: they have none. NULL with errno set. */
struct host_users *host_users_new(const struct exec_maps *maps);
void host_users_free(struct host_users *users);

/* `dev`: the kernel's number of a disk, 0: the CPUs. 0 or -ENOMEM. */
int host_users_add(struct host_users *users, uint32_t tgid, uint32_t dev, int64_t amount);

/* What was added since the last call is of the time from begin_ns to end_ns (CLOCK_MONOTONIC). */
void host_users_tell(struct host_users *users, struct device_names *devices, struct window_timeline *timeline,
                     uint64_t begin_ns, uint64_t end_ns);

#endif
