/*
 * Which programs of the host used its CPUs or a disk during the whole recording, as the page of `flame` tells it: by the signals
 * HOST_USER_CPU, of all processes, and HOST_USER_DISK, of requests of no tag (timeline.h).
 *
 *     loaded_users_find(&users, input, HOST_USER_DISK, "vda")
 *     if (users.count)
 *             loaded_users_text(out, &users)
 */
#ifndef STALLPROF_PROFILER_LOADED_USERS_H
#define STALLPROF_PROFILER_LOADED_USERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct json_writer;
struct loaded_profiles;
struct timeline;

#define LOADED_USERS_MAX 3

/* Less than that is not worth telling. */
#define LOADED_USERS_LEAST_CPUS  0.1
#define LOADED_USERS_LEAST_BYTES 5e6 /* a second */

/* The processes of one name that hold tags, or those of it that hold none. */
struct loaded_user {
	const char *process; /* "fio (1234)", one of them: lives as long as the timeline */
	size_t processes;
	bool tagged; /* not known of several hosts' profiles: false */
	double rate; /* CPUs, or bytes a second, on average over the time in which it was counted; of several hosts the sum */
};

struct loaded_users {
	const char *signal, *device;
	struct loaded_user
	        user[LOADED_USERS_MAX]; /* the largest first, each with a tenth of the first at least */
	size_t count;
	double others; /* the rate of all that are not among these, named or not */
};

/* `device`: "" for the CPUs. 0 or -ENOMEM; without such signals the count is 0. */
int loaded_users_find(struct loaded_users *users, const struct loaded_profiles *input, const char *signal,
                      const char *device);

/* "CPUs were used most by: fio (pid 12, 0.9 CPUs), python (2 processes, tagged, 0.5 CPUs); all others 0.2 CPUs",
 * "vda was used most, without a tag, by: dd (pid 12, 310 MB/s)". */
void loaded_users_text(FILE *out, const struct loaded_users *users);

/* Adds to the JSON array that is open: {process, processes, tagged, device, unit, rate} of each. */
void loaded_users_json(struct json_writer *json, const struct loaded_users *users);

/* Of a lane of the timeline: value a second in [begin_ns, end_ns). */
double loaded_users_rate(const struct timeline *timeline, size_t index, uint64_t begin_ns, uint64_t end_ns);

/* Whether it is no process, but what all others had, or one that ended before its name was read. */
bool loaded_users_unnamed(const char *process);

/* Whether two processes, "fio (1234)" and "fio (5)", have the same name. */
bool loaded_users_alike(const char *a, const char *b);

#endif
