/* The inside of a window (window.h): collected in window.c, made into a profile in window_profile.c. */
#ifndef STALLPROF_PROFILER_WINDOW_STATE_H
#define STALLPROF_PROFILER_WINDOW_STATE_H

#include <stdbool.h>
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "profiler/session/stack_resolve.h"
#include "profiler/session/window.h"

struct profile;
struct request_rows;
struct stack_pools;

/* Samples with the same stack and detail of the same row are one. */
struct sample {
	uint64_t hash; /* the key: of its location ids and its detail */
	int64_t *ids;
	size_t n;
	struct abi_detail *detail; /* NULL: there is none */
	uint64_t weight;           /* nanoseconds it stands for, before scaling */
	uint64_t taken_back; /* counted by earlier windows, for waits that turned out to be of another kind */
	uint64_t times;      /* waits it stands for, in thousandths */
	UT_hash_handle hh;
};

struct row {
	struct abi_ledger_key key;
	int64_t ns; /* negative: more is taken back from earlier windows than was added */
	uint64_t count;
	struct sample *samples;
	uint64_t weight, times; /* sums over the samples */
	UT_hash_handle hh;
};

struct window {
	struct window_deps deps;
	struct profile *profile;
	struct row *rows;
	struct request_rows *requests;
	uint64_t n_samples, n_lost, lost_ns, n_without_row;
	uint64_t rows_refused, rows_refused_ns; /* times and nanoseconds of rows beyond the maximum */
	uint64_t requests_refused;              /* of rows beyond REQUEST_ROWS_MAX, or without memory */
	struct stack_pools *pools;
	uint64_t estimated_ns; /* of rows that got the stack of a similar row */
	bool has_main_binary;
	int64_t ids[STACK_FRAMES_MAX];
};

#endif
