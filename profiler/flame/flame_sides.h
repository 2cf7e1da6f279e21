/*
 * What belongs to all files of a side (those that are looked at, or those that they are compared with), as JSON: steps,
 * coverage, losses, whose requests the devices served, the shares of processes, the timeline. For flame_json.c.
 */
#ifndef STALLPROF_PROFILER_FLAME_SIDES_H
#define STALLPROF_PROFILER_FLAME_SIDES_H

#include <stdint.h>

struct json_writer;
struct loaded_profiles;

struct flame_sides {
	const struct loaded_profiles *input; /* the sum of the files */
	const struct loaded_profiles *base;  /* the sum of those that they are compared with; NULL: none */
};

/* The first moment that a side covered, in Unix time; 0: not known. */
int64_t flame_sides_start(const struct flame_sides *sides);

/* Writes the members "steps" and "sides". 0 or -ENOMEM. */
int flame_sides_write(struct json_writer *json, const struct flame_sides *sides, int64_t start_ns);

#endif
