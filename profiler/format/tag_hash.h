/*
 * Which tag a sample belongs to. Tags are told apart by name and id, but a sample has only the class of its tag as
 * a string label, since string labels become series at Pyroscope. So where the name is not the class, the sample
 * has the name's hash as the numeric label TAG_HASH_LABEL of unit TAG_HASH_UNIT, which Pyroscope drops; the ledger
 * has the name.
 */
#ifndef STALLPROF_PROFILER_TAG_HASH_H
#define STALLPROF_PROFILER_TAG_HASH_H

#include <stdint.h>

#define TAG_HASH_LABEL "tag_hash"
#define TAG_HASH_UNIT  "hash"

/* 64-bit FNV-1a of the name without its NUL; the top bit is cleared, as labels are signed. */
int64_t tag_hash(const char *name);

#endif
