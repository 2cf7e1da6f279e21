/*
 * The inside of a tracer (tracer.h): made in tracer.c, which hands each call on to its functions. Those of BPF are in
 * tracer_bpf.c; a test has its own, so that what is above the tracer needs no kernel (tests/unit/fake_tracer.h).
 */
#ifndef STALLPROF_PROFILER_TRACER_STATE_H
#define STALLPROF_PROFILER_TRACER_STATE_H

#include "profiler/format/stamp.h"
#include "profiler/tracer/privileges.h"
#include "profiler/tracer/tracer.h"

struct bpf_link;
struct event_rings;
struct ledger_maps;
struct stallprof_bpf;
struct tag_folders;
struct tracer_links;

/* Each is as the function of its name in tracer.h, but for `free`, which is not called with NULL. */
struct tracer_ops {
	void (*free)(struct tracer *tracer);
	bool (*attached)(const struct tracer *tracer);
	int (*attach)(struct tracer *tracer, char *err, size_t err_len);
	void (*detach)(struct tracer *tracer);
	void (*rest)(struct tracer *tracer);
	void (*cpu)(struct tracer *tracer, unsigned int cpu, bool online);
	bool (*reads_logs)(const struct tracer *tracer);
	int (*watch_file)(struct tracer *tracer, const char *path, const struct tracer_probes *probes,
	                  char *err, size_t err_len);
	void (*unwatch_file)(struct tracer *tracer, int watched);
	int (*set_process)(struct tracer *tracer, const struct abi_process_key *key,
	                   const struct abi_process *process);
	void (*copy_late)(struct tracer *tracer, uint64_t now_ns);
	void (*forget_process)(struct tracer *tracer, const struct abi_process_key *key);
	int (*set_python)(struct tracer *tracer, uint32_t tgid, const struct abi_python *layout);
	void (*allow_python)(struct tracer *tracer, unsigned int asks);
	void (*forget_python)(struct tracer *tracer, uint32_t tgid);
	void (*know_stack)(struct tracer *tracer, uint64_t stack_key, const struct abi_known_stack *known);
	void (*stacks_from)(struct tracer *tracer, uint64_t window);
	int (*tag_file)(struct tracer *tracer, uint64_t inode, const struct abi_tagged_file *tagged);
	void (*allow_xattrs)(struct tracer *tracer, unsigned int asks);
	void (*ask_xattr_again)(struct tracer *tracer, uint64_t inode);
	void (*hold_folders)(struct tracer *tracer, uint64_t now_ns, say_fn say);
	int (*add_tag)(struct tracer *tracer, const char *name, uint64_t id, uint64_t *key);
	int (*find_tag)(struct tracer *tracer, uint64_t key, struct abi_tag *tag);
	void (*drop_tag)(struct tracer *tracer, uint64_t key);
	void (*each_tag)(struct tracer *tracer, tracer_tag_fn on_tag, void *ctx);
	int (*iterate)(struct tracer *tracer, uint32_t mode);
	int (*take_ledger)(struct tracer *tracer, uint64_t next, tracer_row_fn on_row, void *ctx);
	int (*fd)(const struct tracer *tracer);
	int (*python_fd)(const struct tracer *tracer);
	int (*poll)(struct tracer *tracer, bool all, uint64_t until_ns);
	uint64_t (*tagged_ns)(const struct tracer *tracer);
	uint64_t (*walked_ns)(const struct tracer *tracer);
	int64_t (*tagged)(const struct tracer *tracer);
	uint64_t (*event_bytes)(const struct tracer *tracer, enum abi_waits waits);
	uint64_t (*threshold)(const struct tracer *tracer, enum abi_waits waits);
	void (*set_threshold)(struct tracer *tracer, enum abi_waits waits, uint64_t ns);
	void (*set_cgroup)(struct tracer *tracer, uint64_t id);
	uint64_t (*counter)(const struct tracer *tracer, enum abi_counter counter);
	int (*describe)(struct tracer *tracer, struct stamp *stamp);
	const char *(*missing)(const struct tracer *tracer, size_t row);
};

extern const struct tracer_ops tracer_by_bpf;

/* With `ops` of another kind the rest is not used. */
struct tracer {
	const struct tracer_ops *ops;
	struct stallprof_bpf *bpf;
	struct probe_host *host, *own_host; /* the second is NULL when it was given to us */
	struct privileges privileges;
	struct tracer_links *links;
	struct event_rings *rings;
	struct bpf_link *iterator, *context_iterator, *journal_iterator;
	tracer_event_fn on_event;
	tracer_python_fn on_python;
	void *ctx;
	struct ledger_maps *ledgers;
	struct tag_folders *folders;
	uint64_t next_key;
	bool tags_at_once; /* at the last take some tags were in the map of that name */
	uint64_t copied_late_ns, late_copies_failed;
	uint64_t n_threads, all_walked_ns; /* that the last walk over all came to, and when */
	bool no_process_walks;             /* the kernel can't */
	int64_t tagged_drift;              /* what the last walk found, if it was not put right */
	struct stamp_growth described[ABI_COUNTER_MAX]; /* what tracer_describe() has added already */
	struct stamp_growth skipped;
};

#endif
