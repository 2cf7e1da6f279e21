/* A cgroup's path → what the BPF programs compare with: its id in the v2 hierarchy and its depth. */
#ifndef STALLPROF_PROFILER_CGROUP_FILTER_H
#define STALLPROF_PROFILER_CGROUP_FILTER_H

#include <stddef.h>
#include <stdint.h>

struct config_filters;

/*
 * Finds the one cgroup that the configuration names; if it names none, `id` and `level` are unchanged. Filters that
 * cannot be obeyed are refused with -ENOTSUP: better no recording than one of more than was asked for.
 */
int cgroup_filter_choose(const struct config_filters *filters, uint64_t *id, uint32_t *level, char *err,
                         size_t err_len);

#endif
