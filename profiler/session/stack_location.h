/* Locations of a profile, from what the symbolizer says of an address. */
#ifndef STALLPROF_PROFILER_STACK_LOCATION_H
#define STALLPROF_PROFILER_STACK_LOCATION_H

#include <stdint.h>

struct profile;
struct sym_module;
struct sym_result;

/* Adds the mapping, in addresses as its file is linked: the same in each process. Its id, or -errno of the profile. */
int64_t stack_mapping(struct profile *profile, const struct sym_module *module);

/* Adds the location and its mapping. Its id, or -errno of the profile. */
int64_t stack_location(struct profile *profile, const struct sym_result *result);

/* Adds a location that is a name in brackets, for use in place of a stack. Returns its id, or -errno. */
int64_t stack_placeholder(struct profile *profile, const char *name);

#endif
