/*
 * Takes one profile into a flame graph's data: its samples, its ledger, and when it was taken.
 *
 * A sample's slice is what its label `at` says, else the time range of its file.
 */
#ifndef STALLPROF_PROFILER_FLAME_ADD_H
#define STALLPROF_PROFILER_FLAME_ADD_H

struct flame_data;
struct loaded_filter;
struct loaded_profiles;

#define FLAME_BASE_SIDE "base"

/*
 * Adds the samples that pass the filter, those of waits that are no stalls among them unless the filter names a
 * stall, and the ledger's rows that have the filter's tag. `side` is "" or FLAME_BASE_SIDE. The value types are those of
 * the first file. 0; -ENOMEM; -ENOSPC at the bound of `data`; -EINVAL when the file has other types.
 */
int flame_add(struct flame_data *data, const struct loaded_profiles *file, const char *side,
              const struct loaded_filter *filter);

#endif
