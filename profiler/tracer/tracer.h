/*
 * The BPF side, as one object: load, attach, ask, detach.
 *
 *     tracer = tracer_new(&opts, on_event, on_python, ctx, err, sizeof(err));
 *     tracer_watch_file(tracer, "/usr/lib/libstalltag.so.1", …);  USDT probes of one file, as often as wanted
 *     tracer_set_process(tracer, &key, &process);                 and tracer_iterate(ABI_ITER_ADOPT)
 *     tracer_attach(tracer, err, sizeof(err));                    the hot programs; tracer_detach ends it
 *     while (…) tracer_poll(tracer, …);                           calls on_event, on_python
 *     tracer_iterate(tracer, ABI_ITER_FLUSH);                     the end of a window:
 *     tracer_take_ledger(tracer, next, on_row, ctx);                its rows
 *     tracer_free(tracer);
 *
 * Not thread-safe. Errors: 0 or -errno, and a line in `err` where there is one.
 */
#ifndef STALLPROF_PROFILER_TRACER_H
#define STALLPROF_PROFILER_TRACER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"
#include "profiler/format/say.h"

struct abi_known_stack;
struct config_tag_files;
struct probe_host;
struct stamp;
struct tracer;

/* What was done with a tagged file, with `names_len` bytes of names behind it. */
typedef void (*tracer_file_fn)(void *ctx, const struct abi_file_event *event);

struct tracer_opts {
	uint64_t threshold_ns;        /* T; 0: 1 ms */
	uint64_t dma_threshold_ns;    /* DMA maps that take this long, or longer, are slow */
	uint64_t min_duration_ns;     /* shorter stalls are counted but have no stack */
	uint32_t stack_copy_bytes;    /* at most ABI_USTACK_MAX; 0: that */
	uint32_t max_stalled_threads; /* whose stacks are kept while they wait; 0: 256 */
	size_t ring_bytes;            /* a power of two pages; 0: 8 MiB */
	unsigned int cpu_hz;          /* samples of on-CPU time inside stalls; 0: none */
	bool samples_oncpu;           /* also outside stalls */
	bool host_users;              /* who runs on the CPUs is counted, tagged or not */
	bool long_waits;              /* stacks also of waits that are no stalls, from T on */
	bool only_adopted;            /* only threads of processes set and adopted, and their children */
	uint64_t
	        cgroup_id; /* of a cgroup v2 whose threads alone, and of those below it, are followed; 0: any */
	char *const *causes_off; /* whose hooks are not attached */
	size_t n_causes_off;
	const struct config_tag_files *tag_files; /* folders whose files are tagged */
	size_t n_tag_files;
	bool has_asker; /* a process that we have forked reads files (asker_process.h): its calls on them are not told */
	tracer_file_fn on_file; /* called for what is done with them; NULL: nobody asks */
	bool all_hooks;         /* attach also what nothing is asked of */
	struct probe_host
	        *host; /* what is known of the kernel; outlives the tracer. NULL: the tracer finds it out */
	const char *btf_path; /* as tracer_load() takes it: for tests; else NULL */
	say_fn say;           /* called for each program that the kernel refused; may be NULL */
};

/* One event with its `ustack_len` bytes of user stack and `n_python` Python frames behind it; of the kind ABI_EVENT_GPU_JOB it is a struct
 * abi_gpu_job. */
typedef void (*tracer_event_fn)(void *ctx, const struct abi_event *event);
/* While a thread waits, if possible: see struct abi_python_ask. */
typedef void (*tracer_python_fn)(void *ctx, const struct abi_python_ask *ask);
typedef int (*tracer_row_fn)(void *ctx, const struct abi_ledger_key *key,
                             const struct abi_ledger_value *value);

struct tracer *tracer_new(const struct tracer_opts *opts, tracer_event_fn on_event,
                          tracer_python_fn on_python, void *ctx, char *err, size_t err_len);
void tracer_free(struct tracer *tracer);

/* Attaches the hot programs. Also runs the iterator, so that threads tagged before are followed from now on. */
int tracer_attach(struct tracer *tracer, char *err, size_t err_len);
void tracer_detach(struct tracer *tracer);
/* While detached: gives back the memory that only the hot programs need. */
void tracer_rest(struct tracer *tracer);
bool tracer_attached(const struct tracer *tracer);
/* The CPU went offline or came online (online_cpus.h): its clock is attached anew. */
void tracer_cpu(struct tracer *tracer, unsigned int cpu, bool online);

/* Which USDT probes a file has, or which libraries of library_calls.h it is; those only of a file without probes. */
struct tracer_probes {
	bool change, process, lost;
	bool log; /* beside `change`; attached to in place of it, where tracer_reads_logs() */
	uint32_t libraries;
};
/* Whether this kernel lets threads' logs of tag changes be read. */
bool tracer_reads_logs(const struct tracer *tracer);

/* Attaches the USDT probes that the file has, or to its functions while the hot programs are attached. Returns a number
 * for tracer_unwatch_file(), or -errno; -ENOSPC: there are too many files; -EPERM with an empty `err`: we may attach to
 * no file (privileges.h), which is said only once. */
int tracer_watch_file(struct tracer *tracer, const char *path, const struct tracer_probes *probes, char *err,
                      size_t err_len);
void tracer_unwatch_file(struct tracer *tracer, int watched);

/* Adds or replaces a process that the next ABI_ITER_ADOPT looks for, and whose contexts are read at each switch. */
int tracer_set_process(struct tracer *tracer, const struct abi_process_key *key,
                       const struct abi_process *process);
void tracer_forget_process(struct tracer *tracer, const struct abi_process_key *key);

/* Sets where the interpreter of a CPython process keeps its frames, which then come with its stacks. */
int tracer_set_python(struct tracer *tracer, uint32_t tgid, const struct abi_python *layout);
void tracer_forget_python(struct tracer *tracer, uint32_t tgid);

/* Stacks of this key that are as `known` says are not sent again; NULL: they are. Where that cannot be set they are sent. */
void tracer_know_stack(struct tracer *tracer, uint64_t stack_key, const struct abi_known_stack *known);
/* Stacks that came in windows before this one are sent again. */
void tracer_stacks_from(struct tracer *tracer, uint64_t window);
/* Asks for Python frames, and allows up to `asks` more calls of `on_python`. */
void tracer_allow_python(struct tracer *tracer, unsigned int asks);

/* Tags the file with that inode, by the address that an event had for it. 0 or -errno. */
int tracer_tag_file(struct tracer *tracer, uint64_t inode, const struct abi_tagged_file *tagged);
/* Allows up to `asks` events that ask whether a file has the xattr that tags it. */
void tracer_allow_xattrs(struct tracer *tracer, unsigned int asks);
/* Of the file with that inode it is asked again when it is opened again: the last question was not answered. */
void tracer_ask_xattr_again(struct tracer *tracer, uint64_t inode);
/* At most each 10 s: looks whether a path of `tag_files`, which outlives the tracer, leads to another folder by now, and takes that. */
void tracer_hold_folders(struct tracer *tracer, uint64_t now_ns, say_fn say);

/* Makes a tag known and gives its key, for abi_process.base_tag. */
int tracer_add_tag(struct tracer *tracer, const char *name, uint64_t id, uint64_t *key);
int tracer_find_tag(struct tracer *tracer, uint64_t key, struct abi_tag *tag);
void tracer_drop_tag(struct tracer *tracer, uint64_t key);
/* Calls `on_tag` for the key of each tag that is known; it may drop that tag. If it looks up and drops all of a full map, the whole takes a
 * quarter of a second. Nobody makes those of tracer_add_tag() known again: whoever drops one must have its name. */
typedef void (*tracer_tag_fn)(void *ctx, uint64_t key);
void tracer_each_tag(struct tracer *tracer, tracer_tag_fn on_tag, void *ctx);

/* Walks all threads that may be tagged; `mode` is a mask of enum abi_iter_mode. */
int tracer_iterate(struct tracer *tracer, uint32_t mode);

/* Copies the stacks of threads that have slept for long and have none yet, if there may be such; at most four times a
 * second, as it walks over the threads. What fails is counted (late_copies_failed). */
void tracer_copy_late(struct tracer *tracer, uint64_t now_ns);

/* Begins window `next` and calls `on_row` for every row of the one before, to which no program writes any more. */
int tracer_take_ledger(struct tracer *tracer, uint64_t next, tracer_row_fn on_row, void *ctx);

/*
 * tracer_fd() is readable when many events wait, or one that is urgent; tracer_python_fd() when Python's code
 * objects are to be read. tracer_poll() calls on_python for those, and on_event for events: with `all` for any,
 * else only if tracer_fd() is readable. It stops at `until_ns` (CLOCK_MONOTONIC). 0: that was all; 1: there may be
 * more; -errno.
 */
int tracer_fd(const struct tracer *tracer);
int tracer_python_fd(const struct tracer *tracer);
int tracer_poll(struct tracer *tracer, bool all, uint64_t until_ns);

/* When a thread last announced its first tag, as CLOCK_MONOTONIC; 0: never. It may have held the tag for a moment
 * only. */
uint64_t tracer_tagged_ns(const struct tracer *tracer);

/* When the last walk met its last tagged thread, which is when that thread's time begins or is cut; 0: it met
 * none. */
uint64_t tracer_walked_ns(const struct tracer *tracer);

/* Threads that hold a tag now. */
int64_t tracer_tagged(const struct tracer *tracer);

/* Of stalls, or of other waits: bytes of their events so far; T. */
uint64_t tracer_event_bytes(const struct tracer *tracer, enum abi_waits waits);
uint64_t tracer_threshold(const struct tracer *tracer, enum abi_waits waits);
void tracer_set_threshold(struct tracer *tracer, enum abi_waits waits, uint64_t ns);

/* From now on it is the threads of another cgroup that are followed; those that are already stay so. */
void tracer_set_cgroup(struct tracer *tracer, uint64_t id);

/* Value of a counter since the start. */
uint64_t tracer_counter(const struct tracer *tracer, enum abi_counter counter);

/* NULL when the row of the probe table is or was attached, else why not. */
const char *tracer_missing(const struct tracer *tracer, size_t row);

/* Adds to the stamp what is attached and what is not, and the counters' growth since the last call. */
int tracer_describe(struct tracer *tracer, struct stamp *stamp);

#endif
