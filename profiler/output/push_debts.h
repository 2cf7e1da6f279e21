/*
 * Makes the sum of all pushed windows right, though a server drops what is negative.
 *
 * A wait that a window's end cuts is counted as what it seems to be. The window in which it ends may take that back by a
 * negative value (README, "What the numbers are"). What is taken back is owed here, for each type and set of labels
 * (without span_id and trace_id, as a step rarely comes again), until windows have as much to push for them: these
 * push that much less, each sample by its part. What is undecided is not pushed at all: it is taken back in any case.
 *
 * All that is settled when a window is cut. So windows may be sent in any order, and what the sums lack of one that is never sent is
 * what its requests hold, no more.
 *
 *     for each window and series:
 *         push_debts_begin(debts, profile, types, n_types)
 *         for each of its samples and types, in their order:  push_debts_pay(debts, sample, type)
 *
 * Not thread-safe.
 */
#ifndef STALLPROF_PROFILER_PUSH_DEBTS_H
#define STALLPROF_PROFILER_PUSH_DEBTS_H

#include <stddef.h>
#include <stdint.h>

struct profile;
struct profile_sample_view;
struct push_debts;

/* Beyond so many sets of labels nothing new is remembered; it is in push_debts_owed() though. */
#define PUSH_DEBTS_MAX 4096

/* NULL with errno ENOMEM. */
struct push_debts *push_debts_new(void);
void push_debts_free(struct push_debts *debts);

/* `types`: indexes of the profile's types that are pushed. 0 or -ENOMEM. */
int push_debts_begin(struct push_debts *debts, const struct profile *profile, const int *types,
                     size_t n_types);

/* What to push of a sample's value of that type: 0 of a negative one, and of an undecided wait. */
int64_t push_debts_pay(struct push_debts *debts, const struct profile_sample_view *sample, int type);

/* What was pushed too much so far, in all sets of labels of a type. */
uint64_t push_debts_owed(const struct push_debts *debts, const char *type);

#endif
