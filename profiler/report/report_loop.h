/*
 * The loop that tags are of: its steps, what comes as often as they do in a process that has them, and what a thread does in turn with them
 * (top_processes.h), as checkpoints. Others, as a loader's workers, hold a tag for long and idle for most of it.
 */
#ifndef STALLPROF_PROFILER_REPORT_LOOP_H
#define STALLPROF_PROFILER_REPORT_LOOP_H

#include <stdbool.h>
#include <stddef.h>

struct loaded_class;
struct loaded_classes;
struct loaded_profiles;

struct report_loop {
	char **names; /* sorted, as idle is */
	size_t n;     /* 0: no loop is known */
	char **idle;
	size_t n_idle;
	size_t n_processes; /* that have the steps; those of one rank, or of none, may have come one after another, and are one */
	size_t n_ranks;  /* … as ranks of a job; 0: none is known to be one */
	size_t n_listed; /* … each by itself */
};

/* How well a class's name says that its tags are the steps of a loop: 2, 0: not at all; 1: a range of PyTorch's optimizers, which is a part of
 * a step. */
int report_loop_named_step(const char *class);

/* `steps`: the class of the loop's steps; NULL: that with the word in its name, as tags without ids are not told apart. 0 or -ENOMEM; only
 * after 0 is there something to free. */
int report_loop_find(struct report_loop *loop, const struct loaded_profiles *input,
                     const struct loaded_classes *classes, const struct loaded_class *steps);
void report_loop_free(struct report_loop *loop);

bool report_loop_has(const struct report_loop *loop, const char *class);

/* Whether waits of the class for other threads may be that there is nothing to do: it is not of the loop, and of another process, or has ids
 * that come seldom. Without ids it cannot be told, in the loop's process, from a part of the loop. */
bool report_loop_idles(const struct report_loop *loop, const char *class);

#endif
