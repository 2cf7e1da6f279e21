/*
 * Checks that libyaml can make a YAML text into a tree quickly. It takes a minute for a megabyte of "[", or of
 * anchors. Its event parser is fast whatever the text, so the events are checked first. Only for config*.c.
 */
#ifndef STALLPROF_PROFILER_CONFIG_BOUNDS_H
#define STALLPROF_PROFILER_CONFIG_BOUNDS_H

#include <stddef.h>

/* A label is at depth 3. */
#define CONFIG_DEPTH_MAX   8
#define CONFIG_ANCHORS_MAX 256

/* 0; -EINVAL: *wrong says what is wrong, *line where, counted from 0; -ENOMEM. A text that is no YAML passes. */
int config_bounds_check(const char *text, size_t size, size_t *line, const char **wrong);

#endif
