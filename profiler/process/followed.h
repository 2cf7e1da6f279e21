/*
 * The processes whose threads are followed, and what the BPF side is told of each (struct abi_process). A process
 * is identified by pid and start time, which detects pid reuse.
 */
#ifndef STALLPROF_PROFILER_FOLLOWED_H
#define STALLPROF_PROFILER_FOLLOWED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "bpf/abi.h"

struct followed_processes;
struct tracer;

#define FOLLOWED_NO_KEY 256 /* ai_tag_key of a process that has none: no attribute has this index */

struct followed {
	uint32_t pid;
	uint64_t start_ticks; /* as process_stat.h has it */
	struct abi_process process;
	bool given;         /* by tag_watch_process, or a child of one that was */
	unsigned int tries; /* looks that found relocations or contexts unfinished */
	uint64_t looked_ns; /* the poll in whose look `process` was found began then (CLOCK_MONOTONIC) */
	uint64_t key_ns;    /* when to look for its key map next, as long as it has none (same clock) */
	UT_hash_handle hh;
};

/* `tracer` must outlive it. NULL without memory. */
struct followed_processes *followed_new(struct tracer *tracer);
void followed_free(struct followed_processes *all);

/* Returns NULL if the process is not followed. The result lives until the process is dropped. */
struct followed *followed_find(const struct followed_processes *all, uint32_t pid);
/* Finds the process or adds it. `added` (may be NULL) tells which. NULL with errno ESRCH, ENOMEM. */
struct followed *followed_add(struct followed_processes *all, uint32_t pid, bool *added);
void followed_drop(struct followed_processes *all, uint32_t pid);

/* Looks at the next `n` processes in turn: writes the pids of those that have ended to `ended`, and returns how many; drops
 * those whose pid is another's by now. */
size_t followed_sweep(struct followed_processes *all, size_t n, uint32_t *ended);

/* Whether the process, or one that it comes from, is `given`. */
bool followed_is_given(const struct followed_processes *all, uint32_t pid);

/* Passes f->process to the BPF side. 0 or -errno, which is counted. */
int followed_publish(struct followed_processes *all, const struct followed *f);
/* How often that was refused, since the start. */
uint64_t followed_refused(const struct followed_processes *all);

/* Whether any process was passed to the BPF side since the last call. */
bool followed_take_changed(struct followed_processes *all);

/* Whether there is a process whose contexts can only be seen with the hot programs attached. */
bool followed_need_attach(const struct followed_processes *all);

/* Of the processes with OpenTelemetry's slot that have no key for `ai_tag` yet, the one whose key_ns is the earliest, and past. NULL: none. */
struct followed *followed_without_key(const struct followed_processes *all, uint64_t now_ns);

/* What a look at the process found; its base tag stays. `now_ns`: see looked_ns. Not published yet. */
void followed_take(struct followed *f, const struct abi_process *found, uint64_t now_ns);
/* Another program: of its process only the base tag stays known. Not published yet. */
void followed_reset(struct followed *f);
/* What a forked child has of its parent: its memory, and so its slots; the base tag it inherits in the kernel, and a process context it must
 * publish itself. Not published yet. */
void followed_inherit(struct followed *child, const struct followed *parent);

typedef void (*followed_tag_fn)(void *ctx, uint64_t tag);
/* Calls `on_tag` for the base tag of each process that has one. */
void followed_each_base_tag(const struct followed_processes *all, followed_tag_fn on_tag, void *ctx);

static inline bool followed_has_slot(const struct followed *f)
{
	return f->process.stalltag.kind || f->process.otel.kind;
}

#endif
