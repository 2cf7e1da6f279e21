/*
 * What belongs to all files of a side (those that are looked at, or those that they are compared with), as JSON: steps,
 * coverage, losses, whose requests the devices served, the shares of processes, the timeline. For flame_json.c.
 */
#ifndef STALLPROF_PROFILER_FLAME_SIDES_H
#define STALLPROF_PROFILER_FLAME_SIDES_H

#include <stdint.h>

struct flame_json;
struct json_writer;

/* The first moment that a side covered, in Unix time; 0: not known. */
int64_t flame_sides_start(const struct flame_json *what);

/* Writes the members "steps" and "sides". 0 or -ENOMEM. */
int flame_sides_write(struct json_writer *json, const struct flame_json *what, int64_t start_ns);

#endif
