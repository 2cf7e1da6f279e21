/* Walks over all threads of the host, or of a process, by a BPF iterator, and corrects the count of tagged threads by them. */
#ifndef STALLPROF_PROFILER_TASK_WALK_H
#define STALLPROF_PROFILER_TASK_WALK_H

#include <stdint.h>

struct bpf_link;
struct bpf_program;

/* Makes the link for a walk. A program that is not loaded gets none, which is no error: the probe table says what
 * is lost then. 0 or -errno. */
int task_walk_make(const struct bpf_program *program, struct bpf_link **link);

/* Runs the iterator's program for each thread. 0 or -errno. */
int task_walk_run(struct bpf_link *walk);

/* The same for each thread of one process alone. -E2BIG: this kernel can't (before Linux 6.1). */
int task_walk_process(const struct bpf_program *program, uint32_t pid);

/*
 * Returns what to add to the count of tagged threads. It is kept change by change, and drifts: a thread that dies
 * while nothing is attached is not subtracted. `walk` is what a walk counted, `before` and `after` what the count
 * was at its begin and end. A walk sees the threads one after the other while they go on running, so only a
 * difference that two walks in a row find is corrected; *drift keeps what the last walk found, and is 0 at first.
 */
int64_t tagged_correction(int64_t *drift, int64_t before, int64_t walk, int64_t after);

#endif
