/*
 * Tags by key. The BPF side interns each tag under a 64-bit key and uses the key everywhere else; here a key
 * becomes name, id and trace again. The BPF map only passes names on: a name is copied when a row or a sample first
 * has its key, and is removed from the map soon after, so that any number of ids passes through it.
 *
 *     tag_names_copy(…)         for each row of the ledger as it is taken, and the first sample of a row
 *     tag_names_after_take(…)   the ledger was taken: names that are here leave the map
 *     tag_names_end_window(…)   a window has ended: names that nobody asked for in a while are forgotten here
 */
#ifndef STALLPROF_PROFILER_TAG_NAMES_H
#define STALLPROF_PROFILER_TAG_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"

struct tag_names;
struct tracer;

struct tag_names *tag_names_new(void);
void tag_names_free(struct tag_names *names);

/* What a tag is called that is not known, as its name did not fit the map: "[unknown tag]". */
const struct abi_tag *tag_names_unknown(void);

/* Copies the name of a tag that a thread has held since the last take. Returns the copy, which lives beyond the next
 * tag_names_end_window(), but not the one after; NULL: the tag is not known. */
const struct abi_tag *tag_names_copy(struct tag_names *names, struct tracer *tracer, uint64_t key);

/* Whether this is the first call for the tag, whatever processes and windows have it. False also where its name is not known. */
bool tag_names_count(struct tag_names *names, struct tracer *tracer, uint64_t key);

/* A row with this key was refused: its name need not be kept, and leaves the map unless it is known already, or a process's, which tells
 * it once. */
void tag_names_refused(struct tag_names *names, struct tracer *tracer, uint64_t key);

/* Call after the ledger was taken. Names that were not met since the take before leave the map; all do
 * when there are many. A thread that takes such a tag again puts it back. Where tags did not fit since the take before, names that
 * nobody knows here leave the map, too. */
void tag_names_after_take(struct tag_names *names, struct tracer *tracer);

/* Call at the end of a window: forgets tags that were not asked for in the last windows. A thread that still
 * holds one has rows in every window. */
void tag_names_end_window(struct tag_names *names, struct tracer *tracer);

/*
 * Tags of processes, which may have no time for a while, are kept while there are at most 8192; above it those are forgotten that were
 * not met for longest. A process holds this one still, though its threads may be under others: that counts as if it was met.
 */
void tag_names_held(struct tag_names *names, struct tracer *tracer, uint64_t key);

/* Keeps a tag for good: those of processes that the user has named. */
void tag_names_pin(struct tag_names *names, struct tracer *tracer, uint64_t key);

#endif
