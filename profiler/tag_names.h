/*
 * Tags by key. The BPF side interns each tag under a 64-bit key and uses the key everywhere else; here a key
 * becomes name, id and trace again. A tag is remembered as long as the ledger mentions it, so that the BPF
 * map can be emptied behind it and a run with millions of ids stays small.
 */
#ifndef STALLPROF_PROFILER_TAG_NAMES_H
#define STALLPROF_PROFILER_TAG_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"

struct tag_names;
struct tracer;

struct tag_names *tag_names_new(void);
void tag_names_free(struct tag_names *names);

/* Never NULL: a key that is not known (its name did not fit the map) has the name "[unknown tag]". Lives
 * until the next tag_names_age(). */
const struct abi_tag *tag_names_of(struct tag_names *names, struct tracer *tracer, uint64_t key);

/* Call at the end of a window: forgets tags that were not asked for in the last windows, in the BPF map and then
 * here. A thread that still holds one has rows in every window. */
void tag_names_age(struct tag_names *names, struct tracer *tracer);

/* Keeps a tag for good: those of processes, which may be empty for a while. */
void tag_names_pin(struct tag_names *names, struct tracer *tracer, uint64_t key);

#endif
