/* Walks over all threads of the host by a BPF iterator, and what is made of the number of tagged threads that they find. */
#ifndef STALLPROF_PROFILER_TASK_WALK_H
#define STALLPROF_PROFILER_TASK_WALK_H

#include <stdint.h>

struct bpf_link;
struct bpf_program;

/* A program that is not loaded has no link, which is no error: the probe table says what that costs. 0 or -errno. */
int task_walk_make(const struct bpf_program *program, struct bpf_link **link);

/* Runs the iterator's program for each thread. 0 or -errno. */
int task_walk_run(struct bpf_link *walk);

/*
 * What is to be added to a count that is kept change by change, and that has drifted: a thread that dies while nothing is
 * attached takes its tag along. `walk` is what a walk counted, `before` and `after` what the count was at its begin and end. A walk
 * sees the threads one after the other, while they go on, so that only what two walks in a row find alike is put right; *drift
 * keeps what the last one found, and is 0 at first.
 */
int64_t tagged_correction(int64_t *drift, int64_t before, int64_t walk, int64_t after);

#endif
