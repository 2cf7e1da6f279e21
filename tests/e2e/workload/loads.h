/*
 * The kinds of work of `truth`. Each load is a table entry: open (files and buffers; no tag is pushed yet),
 * step (some milliseconds of work at most, unless the disk is throttled; each blocking call between
 * account_call_begin() and account_call_end()), close (also closes half-opened loads).
 */
#ifndef WORKLOAD_LOADS_H
#define WORKLOAD_LOADS_H

#include "tests/e2e/workload/account.h"

struct load_state;

struct load {
	const char *mode; /* its name in --mode */
	const char *tag;
	int (*open)(struct load_state **state, const char *dir, const char *throttle_cgroup);
	int (*step)(struct load_state *state, struct account *account);
	void (*close)(struct load_state *state);
};

extern const struct load LOADS[];
extern const size_t LOADS_COUNT;

#endif
