/*
 * A profile as the tree of messages that protobuf-c packs, for the files of this folder alone.
 */
#ifndef STALLPROF_PPROF_PROFILE_MESSAGE_H
#define STALLPROF_PPROF_PROFILE_MESSAGE_H

#include "pprof/pprof_arena.h"
#include "pprof/profile.h"
#include "pprof/profile.pb-c.h"

/* Short names for the generated types. */
typedef Perftools__Profiles__Profile pb_profile;
typedef Perftools__Profiles__ValueType pb_value_type;
typedef Perftools__Profiles__Sample pb_sample;
typedef Perftools__Profiles__Label pb_label;
typedef Perftools__Profiles__Mapping pb_mapping;
typedef Perftools__Profiles__Location pb_location;
typedef Perftools__Profiles__Line pb_line;
typedef Perftools__Profiles__Function pb_function;

/*
 * All of `p`, in pieces from `arena`; texts and values stay those of `p`. A record's id is its number + 1, a
 * text's index its number. NULL with errno set.
 */
pb_profile *profile_message(const struct profile *p, struct pprof_arena *arena);

#endif
