/*
 * Whether a YAML text can be made into a tree in no time. libyaml takes a minute for a megabyte of "[", as it does for one
 * of anchors; its events come one after another whatever the text, so these are looked through first. Only for config*.c.
 */
#ifndef STALLPROF_PROFILER_CONFIG_BOUNDS_H
#define STALLPROF_PROFILER_CONFIG_BOUNDS_H

#include <stddef.h>

/* A label is at depth 3. */
#define CONFIG_DEPTH_MAX   8
#define CONFIG_ANCHORS_MAX 256

/* 0; -EINVAL with what is wrong, and its line, from 0; -ENOMEM. A text that is no YAML passes. */
int config_bounds_check(const char *text, size_t size, size_t *line, const char **wrong);

#endif
