/*
 * What one Pyroscope series carries: some of a profile's sample types, under the type id that Pyroscope and
 * Grafana know. The profile in a file holds all of them.
 */
#ifndef STALLPROF_PROFILER_SERIES_H
#define STALLPROF_PROFILER_SERIES_H

#include <stdbool.h>
#include <stdint.h>

#include "pprof/profile.h"

struct push_debts;

struct series {
	const char *name;     /* the label __name__ */
	const char *types[2]; /* sample types, NULL ends */
	struct profile_value_type period_type;
	bool optional; /* older profiles lack its types */
};

/* block (contentions, delay), process_cpu (cpu) and recovery. */
extern const struct series series_table[];
extern const unsigned int series_table_len;

/*
 * Makes a new profile with just the series' types and the samples that have a value in them; `period` as wanted by
 * its period type. Comments are copied. Notes and numeric labels, which no server shows, are left out. What is negative
 * is paid by this and later windows' samples where there are `debts` (push_debts.h), else it stays.
 * *out is NULL when no sample has a value (which is no error). 0 or -errno; -ENOENT: the profile lacks a type.
 */
int series_extract(const struct profile *from, const struct series *series, int64_t period,
                   struct push_debts *debts, size_t max_bytes, struct profile **out);

#endif
