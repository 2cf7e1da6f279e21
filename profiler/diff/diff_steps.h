/*
 * Steps: exact tags, each counted once, when it was first seen. Where NEW takes longer for each and so does fewer of them, values per
 * second of wall time hide that; those per step show it.
 */
#ifndef STALLPROF_PROFILER_DIFF_STEPS_H
#define STALLPROF_PROFILER_DIFF_STEPS_H

#include "profiler/diff/diff_classes.h"
#include "profiler/diff/diff_filter.h"

struct loaded_profiles;

/* Adds to count[c], by number of class, how many of a profile's steps pass the filter: of a class that passes in part, the part of those
 * that the ledger has. Tags of processes are none. 0, -ENOMEM. */
int diff_steps_count(double count[DIFF_CLASSES_MAX], struct diff_classes *classes,
                     const struct diff_filter *filter, const struct loaded_profiles *input);

#endif
