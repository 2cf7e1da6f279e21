/*
 * Copies samples, with all they refer to, from one profile into another; for the files of this folder alone.
 *
 *   profile_import_begin(&im, into, from, types, merge) -> profile_import_sample(&im, i) ... ->
 *   profile_import_end(&im), also after a failure.
 *
 * Each text, function, location and mapping is looked up in `into` only once per import.
 */
#ifndef STALLPROF_PPROF_PROFILE_IMPORT_H
#define STALLPROF_PPROF_PROFILE_IMPORT_H

#include "pprof/profile_tables.h"

/* A mapping of `from` in `into`: its id there (0: not copied yet), and what to add to addresses. */
struct profile_mapping_image {
	int64_t id;
	uint64_t shift;
};

struct profile_import {
	struct profile *into;
	const struct profile *from;
	uint32_t types;
	/* By number in `from`; 0 or NULL: not there yet. */
	int64_t *functions, *locations;
	struct profile_mapping_image *mappings;
	const char **texts;
	int64_t *row; /* a sample's kept values */
};

enum profile_mapping_rule {
	PROFILE_MAPPINGS_EXACT, /* only equal mappings become one */
	PROFILE_MAPPINGS_MERGE, /* as profile_merge() says; all mappings are copied, used or not */
};

/* `types`: the value types of `from` that `into` has, as a mask; 0: all. 0 or -errno. */
int profile_import_begin(struct profile_import *im, struct profile *into, const struct profile *from,
                         uint32_t types, enum profile_mapping_rule rule);
int profile_import_sample(struct profile_import *im, size_t i);
void profile_import_end(struct profile_import *im);

/* True if all values of sample `i` that the mask keeps are 0. */
bool profile_sample_is_zero(const struct profile *p, size_t i, uint32_t types);

/*
 * The samples [first, end) of `p`, without those that are all 0 in the types of the mask, as a profile of its
 * own of unbounded size. -EINVAL: the mask has a bit for no type.
 */
int profile_copy_nonzero(const struct profile *p, uint32_t types, size_t first, size_t end,
                         struct profile **out);

#endif
