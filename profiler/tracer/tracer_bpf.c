/* A tracer's functions by BPF. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/stallprof.skel.h"
#include "profiler/tracer/event_rings.h"
#include "profiler/tracer/ledger_maps.h"
#include "profiler/tracer/nvme_state.h"
#include "profiler/tracer/probe_table.h"
#include "profiler/tracer/process_walks.h"
#include "profiler/format/stamp.h"
#include "profiler/tracer/tag_folders.h"
#include "profiler/tracer/task_walk.h"
#include "profiler/tracer/tracer_links.h"
#include "profiler/tracer/tracer_state.h"
#include "profiler/tracer/tracer_tags.h"
#include "profiler/tracer/usdt_links.h"
#include "symbolizer/base/clock.h"

#define COPY_LATE_NS 250000000ULL

static const char *const counter_names[] = {
#define NAME(name, help) #name,
	ABI_COUNTERS(NAME)
#undef NAME
};

static void do_free(struct tracer *tracer)
{
	tracer_links_free(tracer->links);
	event_rings_free(tracer->rings);
	bpf_link__destroy(tracer->iterator);
	bpf_link__destroy(tracer->context_iterator);
	bpf_link__destroy(tracer->journal_iterator);
	ledger_maps_free(tracer->ledgers);
	stallprof_bpf__destroy(tracer->bpf);
	tag_folders_close(tracer->folders);
	probe_host_free(tracer->own_host);
	free(tracer);
}

static bool do_attached(const struct tracer *tracer)
{
	return tracer->bpf->bss->hot_generation & 1;
}

/* Running threads have changes in their logs that nobody has read yet. */
static int settle_by_logs(struct tracer *tracer)
{
	struct stallprof_bpf__bss *bss = tracer->bpf->bss;

	bss->iter_mode = ABI_ITER_LOGS;
	bss->logs_walked_ns = 0;
	if (!bss->any_logs || !tracer->context_iterator)
		return 0;
	bss->logs_walked_ns = monotonic_ns();
	return task_walk_run(tracer->context_iterator);
}

/* Of a reset whose begin was not seen the controller's state tells, which completions look at for as long as sysfs has such a one. */
static void look_for_resets(struct tracer *tracer)
{
	tracer->bpf->bss->resets_unseen = nvme_state_any_recovers(NVME_CLASS);
	if (tracer->bpf->bss->resets_unseen)
		tracer->bpf->bss->any_resets = 1;
}

/* Over all threads of the host. */
static int iterate_all(struct tracer *tracer, uint32_t mode)
{
	struct stallprof_bpf__bss *bss = tracer->bpf->bss;
	int64_t before = bss->n_tagged, off;
	int result = mode & (ABI_ITER_FLUSH | ABI_ITER_SUMS) ? settle_by_logs(tracer) : 0;

	result = result ? result : process_walks_renew(tracer);
	bss->iter_mode = mode;
	bss->n_tagged_walk = 0;
	bss->walked_ns = 0;
	bss->any_to_read = 0;
	result = result ? result : task_walk_run(tracer->iterator);
	if (!result)
		process_walks_renewed(tracer);
	if (!result && mode & ABI_ITER_FLUSH) {
		off = tagged_correction(&tracer->tagged_drift, before, bss->n_tagged_walk, bss->n_tagged);
		__atomic_fetch_add(&bss->n_tagged, off, __ATOMIC_RELAXED);
	}
	if (!result && bss->any_to_read && tracer->context_iterator)
		result = task_walk_run(tracer->context_iterator);
	return result;
}

static int do_iterate(struct tracer *tracer, uint32_t mode)
{
	int result;

	if (tracer->bpf->bss->resets_unseen)
		look_for_resets(tracer);
	result = process_walks_run(tracer, mode);
	return result == -E2BIG ? iterate_all(tracer, mode) : result;
}

/* Requests and work that were under way when the hooks were detached have ended unseen; dirty files may be others' by now. */
static int forget_followed(struct tracer *tracer, char *err, size_t err_len)
{
	struct bpf_map *const maps[] = {
		tracer->bpf->maps.requests,    tracer->bpf->maps.helpers,     tracer->bpf->maps.works,
		tracer->bpf->maps.carriers,    tracer->bpf->maps.resets,      tracer->bpf->maps.recoverers,
		tracer->bpf->maps.befallen,    tracer->bpf->maps.held_back,   tracer->bpf->maps.gpu_jobs,
		tracer->bpf->maps.gpu_waiters, tracer->bpf->maps.dirty_files,
	};
	int result = 0;

	for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]) && !result; i++)
		result = ledger_maps_empty(maps[i]);
	if (result)
		snprintf(err, err_len, "cannot empty a BPF map: %s", strerror(-result));
	memset((void *)tracer->bpf->bss->carrier_bits, 0, sizeof(tracer->bpf->bss->carrier_bits));
	return result;
}

static void do_detach(struct tracer *tracer)
{
	if (!do_attached(tracer))
		return;
	tracer->bpf->bss->hot_generation++;
	tracer_links_detach(tracer->links);
	do_iterate(tracer, ABI_ITER_BUFFERS); /* a thread that ends unseen would keep its own for good */
}

static int do_attach(struct tracer *tracer, char *err, size_t err_len)
{
	int result;

	if (do_attached(tracer))
		return 0;
	result = forget_followed(tracer, err, err_len);
	if (result)
		return result;
	tracer->bpf->bss->any_resets = 0;
	tracer->bpf->bss->n_dirty_files = 0;
	look_for_resets(tracer);
	result = tracer_links_attach(tracer->links, true, err, err_len);
	if (result)
		return result;
	tracer->bpf->bss->hot_generation++;
	result = do_iterate(tracer, ABI_ITER_ADOPT | ABI_ITER_REBASE);
	if (!result && tracer->journal_iterator)
		result = task_walk_run(tracer->journal_iterator);
	if (result) {
		snprintf(err, err_len, "cannot walk over the threads: %s", strerror(-result));
		do_detach(tracer); /* the next try is to adopt all that this one has missed */
	}
	return result;
}

static void do_rest(struct tracer *tracer)
{
	if (event_rings_rest(tracer->rings))
		malloc_trim(0); /* what the last windows took */
}

static void do_cpu(struct tracer *tracer, unsigned int cpu, bool online)
{
	tracer->bpf->bss->clocks_renewed += online;
	tracer_links_cpu(tracer->links, cpu, online);
}

static bool do_reads_logs(const struct tracer *tracer)
{
	return probe_cause_available(tracer->host, "tag_log") && tracer->context_iterator;
}

static int watch_library(struct tracer *tracer, const char *path, uint32_t libraries, char *err,
                         size_t err_len)
{
	int result = tracer_links_library(tracer->links, path, libraries);

	if (result < 0)
		snprintf(err, err_len, "cannot attach to the functions of %s: %s", path,
		         result == -ENOSPC ? "there are too many such files at once" : strerror(-result));
	return result;
}

static int do_watch_file(struct tracer *tracer, const char *path, const struct tracer_probes *probes,
                         char *err, size_t err_len)
{
	struct usdt_listener listeners[3];
	size_t n = 0;
	int result;

	err[0] = 0;
	if (!privileges_have(&tracer->privileges, PRIVILEGE_UPROBES)) {
		tracer_links_no_uprobes(tracer->links);
		return -EPERM;
	}
	if (probes->libraries && !probes->change && !probes->process)
		return watch_library(tracer, path, probes->libraries, err, err_len);
	if (probes->log && do_reads_logs(tracer))
		listeners[n++] = (struct usdt_listener){ "stalltag", "log", tracer->bpf->progs.on_tag_log };
	else if (probes->change)
		listeners[n++] =
		        (struct usdt_listener){ "stalltag", "change", tracer->bpf->progs.on_tag_change };
	if (probes->process)
		listeners[n++] =
		        (struct usdt_listener){ "stalltag", "process", tracer->bpf->progs.on_tag_process };
	if (probes->lost)
		listeners[n++] = (struct usdt_listener){ "stalltag", "lost", tracer->bpf->progs.on_tag_lost };
	result = tracer_links_usdt(tracer->links, path, listeners, n);
	if (result < 0)
		snprintf(err, err_len, "cannot attach to the tag probes of %s: %s", path,
		         result == -ENOSPC ? "there are too many such files at once" : strerror(-result));
	return result;
}

static void do_unwatch_file(struct tracer *tracer, int watched)
{
	tracer_links_file_detach(tracer->links, watched);
}

static int do_set_process(struct tracer *tracer, const struct abi_process_key *key,
                          const struct abi_process *process)
{
	int fd = bpf_map__fd(tracer->bpf->maps.processes);

	return bpf_map_update_elem(fd, key, process, BPF_ANY) ? -errno : 0;
}

static void do_copy_late(struct tracer *tracer, uint64_t now_ns)
{
	if (!do_attached(tracer) || !tracer->context_iterator || !tracer->bpf->bss->any_uncopied ||
	    now_ns - tracer->copied_late_ns < COPY_LATE_NS)
		return;
	tracer->copied_late_ns = now_ns;
	tracer->bpf->bss->any_uncopied = 0;
	if (do_iterate(tracer, ABI_ITER_STACKS))
		tracer->late_copies_failed++;
}

static void do_forget_process(struct tracer *tracer, const struct abi_process_key *key)
{
	bpf_map_delete_elem(bpf_map__fd(tracer->bpf->maps.processes), key);
}

static int do_set_python(struct tracer *tracer, uint32_t tgid, const struct abi_python *layout)
{
	return bpf_map_update_elem(bpf_map__fd(tracer->bpf->maps.pythons), &tgid, layout, BPF_ANY) ? -errno
	                                                                                           : 0;
}

static void do_allow_python(struct tracer *tracer, unsigned int asks)
{
	tracer->bpf->bss->any_python = 1;
	tracer->bpf->bss->python_asks = asks;
}

static void do_forget_python(struct tracer *tracer, uint32_t tgid)
{
	bpf_map_delete_elem(bpf_map__fd(tracer->bpf->maps.pythons), &tgid);
}

static void do_know_stack(struct tracer *tracer, uint64_t stack_key, const struct abi_known_stack *known)
{
	int fd = bpf_map__fd(tracer->bpf->maps.known_stacks);

	if (known)
		bpf_map_update_elem(fd, &stack_key, known, BPF_ANY);
	else
		bpf_map_delete_elem(fd, &stack_key);
}

static void do_stacks_from(struct tracer *tracer, uint64_t window)
{
	tracer->bpf->bss->stacks_from = window;
}

static int do_tag_file(struct tracer *tracer, uint64_t inode, const struct abi_tagged_file *tagged)
{
	return tag_folders_add_file(tracer->bpf, inode, tagged);
}

static void do_ask_xattr_again(struct tracer *tracer, uint64_t inode)
{
	tag_folders_ask_again(tracer->bpf, inode);
}

static void do_hold_folders(struct tracer *tracer, uint64_t now_ns, say_fn say)
{
	tag_folders_hold(tracer->folders, tracer->bpf, now_ns, say);
}

static void do_allow_xattrs(struct tracer *tracer, unsigned int asks)
{
	tracer->bpf->bss->xattr_asks = asks;
}

static int do_take_ledger(struct tracer *tracer, uint64_t next, tracer_row_fn on_row, void *ctx)
{
	uint64_t key;

	tracer->tags_at_once = !bpf_map_get_next_key(bpf_map__fd(tracer->bpf->maps.tags_at_once), NULL, &key);
	return ledger_maps_take(tracer->ledgers, next, on_row, ctx);
}

static int do_fd(const struct tracer *tracer)
{
	return event_rings_fd(tracer->rings);
}

static int do_python_fd(const struct tracer *tracer)
{
	return event_rings_asked_fd(tracer->rings);
}

static int do_poll(struct tracer *tracer, bool all, uint64_t until_ns)
{
	return event_rings_poll(tracer->rings, all, until_ns);
}

static uint64_t do_tagged_ns(const struct tracer *tracer)
{
	return tracer->bpf->bss->tagged_ns;
}

static uint64_t do_walked_ns(const struct tracer *tracer)
{
	return tracer->bpf->bss->walked_ns;
}

static int64_t do_tagged(const struct tracer *tracer)
{
	return tracer->bpf->bss->n_tagged;
}

static uint64_t do_event_bytes(const struct tracer *tracer, enum abi_waits waits)
{
	return tracer->bpf->bss->ring_bytes[waits];
}

static uint64_t do_threshold(const struct tracer *tracer, enum abi_waits waits)
{
	return tracer->bpf->bss->threshold_ns[waits];
}

static void do_set_threshold(struct tracer *tracer, enum abi_waits waits, uint64_t ns)
{
	tracer->bpf->bss->threshold_ns[waits] = ns;
}

static void do_set_cgroup(struct tracer *tracer, uint64_t id)
{
	tracer->bpf->bss->filter_cgroup = id;
}

static uint64_t do_counter(const struct tracer *tracer, enum abi_counter counter)
{
	return tracer->bpf->bss->counters[counter];
}

/* How often the kernel left out a program because it was running on that CPU already: preempted, or interrupted. */
static uint64_t runs_left_out(struct bpf_object *object)
{
	struct bpf_program *program;
	uint64_t n = 0;

	bpf_object__for_each_program(program, object)
	{
		struct bpf_prog_info info = { 0 };
		uint32_t size = sizeof(info);

		if (!bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size))
			n += info.recursion_misses;
	}
	return n;
}

static int do_describe(struct tracer *tracer, struct stamp *stamp)
{
	int result = tracer_links_describe(tracer->links, stamp);

	for (int i = 0; i < ABI_COUNTER_MAX && !result; i++)
		result = stamp_add_growth(stamp, counter_names[i], &tracer->described[i],
		                          do_counter(tracer, i));
	if (!result)
		result = stamp_add_counter(stamp, "late_copies_failed", tracer->late_copies_failed);
	tracer->late_copies_failed = 0;
	if (!result)
		result = stamp_add_growth(stamp, "programs_skipped", &tracer->skipped,
		                          runs_left_out(tracer->bpf->obj));
	return result;
}

static const char *do_missing(const struct tracer *tracer, size_t row)
{
	return tracer_links_missing(tracer->links, row);
}

const struct tracer_ops tracer_by_bpf = {
	.free = do_free,
	.attached = do_attached,
	.attach = do_attach,
	.detach = do_detach,
	.rest = do_rest,
	.cpu = do_cpu,
	.reads_logs = do_reads_logs,
	.watch_file = do_watch_file,
	.unwatch_file = do_unwatch_file,
	.set_process = do_set_process,
	.copy_late = do_copy_late,
	.forget_process = do_forget_process,
	.set_python = do_set_python,
	.allow_python = do_allow_python,
	.forget_python = do_forget_python,
	.know_stack = do_know_stack,
	.stacks_from = do_stacks_from,
	.tag_file = do_tag_file,
	.allow_xattrs = do_allow_xattrs,
	.ask_xattr_again = do_ask_xattr_again,
	.hold_folders = do_hold_folders,
	.add_tag = tracer_tags_add,
	.find_tag = tracer_tags_find,
	.drop_tag = tracer_tags_drop,
	.each_tag = tracer_tags_each,
	.iterate = do_iterate,
	.take_ledger = do_take_ledger,
	.fd = do_fd,
	.python_fd = do_python_fd,
	.poll = do_poll,
	.tagged_ns = do_tagged_ns,
	.walked_ns = do_walked_ns,
	.tagged = do_tagged,
	.event_bytes = do_event_bytes,
	.threshold = do_threshold,
	.set_threshold = do_set_threshold,
	.set_cgroup = do_set_cgroup,
	.counter = do_counter,
	.describe = do_describe,
	.missing = do_missing,
};
