/* The rows of a window, and their samples: waits with the same stack, detail and end of the chain, in the same slice of
 * time, are one. */
#ifndef STALLPROF_PROFILER_WINDOW_SAMPLES_H
#define STALLPROF_PROFILER_WINDOW_SAMPLES_H

#include <stddef.h>
#include <stdint.h>
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "bpf/abi.h"
#include "profiler/session/inherited_waits.h"

#define INHERITED_LABELS_MAX 3 /* of a sample, for the end of the chain */

/* Samples with the same stack, detail, end of the chain and slice of the same row are one. */
struct sample {
	uint64_t hash; /* the key: of all that two have to share */
	uint32_t slice;
	int64_t *ids;
	size_t n;
	struct abi_detail *detail;  /* NULL: there is none */
	struct inherited inherited; /* what the wait was for through another thread; state 0: not known */
	uint64_t weight;            /* nanoseconds it stands for, before scaling */
	uint64_t taken_back; /* counted by earlier windows, for waits that turned out to be something else */
	uint64_t times;      /* waits it stands for, in thousandths */
	UT_hash_handle hh;
};

struct window_room;

struct row {
	struct abi_ledger_key key;
	int64_t ns; /* negative: more is taken back from earlier windows than was added */
	uint64_t count;
	const struct abi_tag *tag; /* NULL for a kernel thread's */
	const char *class;         /* of the tag; NULL for a kernel thread's */
	uint32_t slice;            /* in which it came first */
	struct sample *samples;
	uint64_t weight, times; /* sums over the samples */
	UT_hash_handle hh;
};

/* A stack, and what else is known of the wait. */
struct told {
	const int64_t *ids;
	size_t n;
	const struct abi_detail *detail; /* NULL: nothing */
	uint32_t slice;
	struct inherited inherited;
};

/* The row's sample, a new one if there is none yet. NULL with errno ENOMEM, or ENOSPC: there is no room for a new one. */
struct sample *row_sample(struct row *row, const struct told *told, struct window_room *room);

/* Makes two slices one: samples that then are equal are added up. 0; -ENOMEM: some were lost, and their weights are no
 * longer part of the row's. */
int row_widen_slices(struct row *row, struct window_room *room);

void row_free_samples(struct row *row);

#endif
