#include "profiler/task_walk.h"
#include "profiler/tracer.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf/stallprof.skel.h"
#include "profiler/event_rings.h"
#include "profiler/kernel_places.h"
#include "profiler/ledger_maps.h"
#include "profiler/privileges.h"
#include "profiler/probe_table.h"
#include "profiler/stamp.h"
#include "profiler/task_walk.h"
#include "profiler/tracer_links.h"
#include "profiler/tracer_load.h"
#include "profiler/usdt_links.h"

#define SLOTS_DEFAULT        256
#define RING_BYTES_DEFAULT   (8u << 20)
#define THRESHOLD_DEFAULT_NS 1000000ULL
#define COPY_LATE_NS         250000000ULL

struct tracer {
	struct stallprof_bpf *bpf;
	struct probe_host *host, *own_host; /* the second is NULL when it was given to us */
	struct privileges privileges;
	struct tracer_links *links;
	struct event_rings *rings;
	struct bpf_link *iterator, *context_iterator;
	tracer_event_fn on_event;
	tracer_python_fn on_python;
	void *ctx;
	struct ledger_maps *ledgers;
	uint64_t next_key;
	uint64_t copied_late_ns, late_copies_failed;
	int64_t tagged_drift;                /* what the last walk found, if it was not put right */
	uint64_t described[ABI_COUNTER_MAX]; /* what tracer_describe has told already */
};

static const char *const counter_names[] = {
#define NAME(name, help) #name,
	ABI_COUNTERS(NAME)
#undef NAME
};

__attribute__((format(printf, 3, 4))) static int fail(char *err, size_t err_len, const char *format, ...)
{
	int saved = errno ? errno : EINVAL;
	va_list args;

	va_start(args, format);
	vsnprintf(err, err_len, format, args);
	va_end(args);
	return -saved;
}

struct knobs {
	const struct tracer_opts *opts;
	const struct kernel_places *places;
	bool uprobe_multi;
};

static void set_knobs(struct stallprof_bpf *bpf, const void *ctx)
{
	const struct knobs *knobs = ctx;
	const struct tracer_opts *opts = knobs->opts;
	uint32_t slots = opts->max_stalled_threads ? opts->max_stalled_threads : SLOTS_DEFAULT;

	bpf->rodata->n_slots = slots;
	bpf->rodata->walk_slot = slots + libbpf_num_possible_cpus();
	bpf->rodata->min_duration_ns = opts->min_duration_ns;
	bpf->rodata->ustack_limit = opts->stack_copy_bytes ? opts->stack_copy_bytes : ABI_USTACK_MAX;
	bpf->rodata->cpu_period_ns = opts->cpu_hz ? 1000000000ULL / opts->cpu_hz : 0;
	bpf->rodata->cpu_baseline = opts->baseline;
	bpf->rodata->only_adopted = opts->only_adopted;
	bpf->rodata->long_waits = opts->long_waits;
	bpf->rodata->pause_arg = knobs->places->pause_arg;
	bpf->rodata->preempt_count_from_rq = knobs->places->preempt_count_from_rq;
	bpf->rodata->filter_cgroup = opts->cgroup_id;
	bpf->rodata->filter_level = opts->cgroup_level;
	bpf->bss->threshold_ns = opts->threshold_ns ? opts->threshold_ns : THRESHOLD_DEFAULT_NS;
	if (knobs->uprobe_multi)
		tracer_links_prepare_multi(bpf->obj);
	bpf_map__set_max_entries(bpf->maps.stack_slots, slots + libbpf_num_possible_cpus() + 1);
	bpf_map__set_max_entries(bpf->maps.free_slots, slots);
	bpf_map__set_max_entries(bpf->maps.events, opts->ring_bytes ? opts->ring_bytes : RING_BYTES_DEFAULT);
}

static int fill_slots(struct tracer *tracer)
{
	uint32_t i;

	for (i = 0; i < tracer->bpf->rodata->n_slots; i++) {
		if (bpf_map_update_elem(bpf_map__fd(tracer->bpf->maps.free_slots), NULL, &i, BPF_ANY))
			return -errno;
	}
	return 0;
}

static int make_iterators(struct tracer *tracer)
{
	int result = task_walk_make(tracer->bpf->progs.on_iter_task, &tracer->iterator);

	return result ? result
	              : task_walk_make(tracer->bpf->progs.on_iter_context, &tracer->context_iterator);
}

static int find_hooks(struct tracer *tracer, char *err, size_t err_len)
{
	errno = 0;
	if (!tracer->host)
		tracer->host = tracer->own_host =
		        probe_host_new(privileges_have(&tracer->privileges, PRIVILEGE_MODULE_HOOKS));
	if (!tracer->host)
		return fail(err, err_len,
		            "this kernel has no BTF (/sys/kernel/btf/vmlinux): boot one built with "
		            "CONFIG_DEBUG_INFO_BTF=y");
	if (!probe_cause_available(tracer->host, "core"))
		return fail(err, err_len,
		            "this kernel lacks the scheduler's tracepoints: see stallprof doctor");
	return 0;
}

static int load(struct tracer *tracer, const struct tracer_opts *opts, char *err, size_t err_len)
{
	int result = find_hooks(tracer, err, err_len);
	struct knobs knobs = { .opts = opts };

	if (result)
		return result;
	knobs.places = probe_host_places(tracer->host);
	knobs.uprobe_multi = usdt_links_have_multi();
	tracer->bpf = tracer_load(tracer->host, set_knobs, &knobs, opts->say, err, err_len);
	if (!tracer->bpf)
		return -errno;
	tracer->ledgers = ledger_maps_new(bpf_map__fd(tracer->bpf->maps.ledgers));
	if (!tracer->ledgers || fill_slots(tracer) || make_iterators(tracer))
		return fail(err, err_len, "cannot set up the BPF maps: %s", strerror(errno));
	tracer->rings = event_rings_new(bpf_map__fd(tracer->bpf->maps.events),
	                                bpf_map__fd(tracer->bpf->maps.python_asked), tracer->on_event,
	                                tracer->on_python, tracer->ctx);
	if (!tracer->rings)
		return fail(err, err_len, "cannot map the ring buffers: %s", strerror(errno));
	tracer->links = tracer_links_new(tracer->bpf->obj, tracer->host, opts->cpu_hz, knobs.uprobe_multi);
	if (!tracer->links)
		return fail(err, err_len, "out of memory");
	malloc_trim(0); /* loading took some 30 MB that are not needed again */
	return tracer_links_attach(tracer->links, false, err, err_len);
}

struct tracer *tracer_new(const struct tracer_opts *opts, tracer_event_fn on_event,
                          tracer_python_fn on_python, void *ctx, char *err, size_t err_len)
{
	struct tracer *tracer = calloc(1, sizeof(*tracer));
	int result;

	if (!tracer) {
		fail(err, err_len, "out of memory");
		return NULL;
	}
	tracer->on_event = on_event;
	tracer->on_python = on_python;
	tracer->ctx = ctx;
	tracer->next_key = (uint64_t)getpid() << 32 | 1;
	tracer->host = opts->host;
	privileges_read(&tracer->privileges);
	result = load(tracer, opts, err, err_len);
	if (result) {
		tracer_free(tracer);
		errno = -result;
		return NULL;
	}
	return tracer;
}

void tracer_free(struct tracer *tracer)
{
	if (!tracer)
		return;
	tracer_links_free(tracer->links);
	event_rings_free(tracer->rings);
	bpf_link__destroy(tracer->iterator);
	bpf_link__destroy(tracer->context_iterator);
	ledger_maps_free(tracer->ledgers);
	stallprof_bpf__destroy(tracer->bpf);
	probe_host_free(tracer->own_host);
	free(tracer);
}

bool tracer_attached(const struct tracer *tracer)
{
	return tracer->bpf->bss->hot_generation & 1;
}

/* Requests and work that were under way when the hooks were detached have ended unseen. */
static void forget_followed(struct tracer *tracer)
{
	ledger_maps_empty(tracer->bpf->maps.requests);
	ledger_maps_empty(tracer->bpf->maps.helpers);
	ledger_maps_empty(tracer->bpf->maps.works);
	ledger_maps_empty(tracer->bpf->maps.carriers);
}

int tracer_attach(struct tracer *tracer, char *err, size_t err_len)
{
	int result;

	if (tracer_attached(tracer))
		return 0;
	forget_followed(tracer);
	result = tracer_links_attach(tracer->links, true, err, err_len);
	if (result)
		return result;
	tracer->bpf->bss->hot_generation++;
	result = tracer_iterate(tracer, ABI_ITER_ADOPT | ABI_ITER_REBASE);
	return result ? fail(err, err_len, "cannot walk over the threads: %s", strerror(-result)) : 0;
}

void tracer_detach(struct tracer *tracer)
{
	if (!tracer_attached(tracer))
		return;
	tracer->bpf->bss->hot_generation++;
	tracer_links_detach(tracer->links);
	tracer_iterate(tracer, ABI_ITER_SLOTS); /* a thread that ends unseen would keep its own for good */
}

void tracer_rest(struct tracer *tracer)
{
	if (event_rings_rest(tracer->rings))
		malloc_trim(0); /* what the last windows took */
}

bool tracer_reads_logs(const struct tracer *tracer)
{
	return probe_cause_available(tracer->host, "tag_log") && tracer->context_iterator;
}

int tracer_watch_file(struct tracer *tracer, const char *path, const struct tracer_probes *probes, char *err,
                      size_t err_len)
{
	struct usdt_listener listeners[2];
	size_t n = 0;
	int result;

	err[0] = 0;
	if (!privileges_have(&tracer->privileges, PRIVILEGE_UPROBES)) {
		tracer_links_no_uprobes(tracer->links);
		return -EPERM;
	}
	if (probes->log && tracer_reads_logs(tracer))
		listeners[n++] = (struct usdt_listener){ "stalltag", "log", tracer->bpf->progs.on_tag_log };
	else if (probes->change)
		listeners[n++] =
		        (struct usdt_listener){ "stalltag", "change", tracer->bpf->progs.on_tag_change };
	if (probes->process)
		listeners[n++] =
		        (struct usdt_listener){ "stalltag", "process", tracer->bpf->progs.on_tag_process };
	result = tracer_links_usdt(tracer->links, path, listeners, n);
	if (result < 0) {
		errno = -result;
		return fail(err, err_len, "cannot attach to the tag probes of %s: %s", path,
		            result == -ENOSPC ? "there are too many such files at once" : strerror(-result));
	}
	return result;
}

void tracer_unwatch_file(struct tracer *tracer, int watched)
{
	tracer_links_usdt_detach(tracer->links, watched);
}

int tracer_set_process(struct tracer *tracer, const struct abi_process_key *key,
                       const struct abi_process *process)
{
	int fd = bpf_map__fd(tracer->bpf->maps.processes);

	return bpf_map_update_elem(fd, key, process, BPF_ANY) ? -errno : 0;
}

void tracer_copy_late(struct tracer *tracer, uint64_t now_ns)
{
	if (!tracer_attached(tracer) || !tracer->context_iterator || !tracer->bpf->bss->any_uncopied ||
	    now_ns - tracer->copied_late_ns < COPY_LATE_NS)
		return;
	tracer->copied_late_ns = now_ns;
	tracer->bpf->bss->any_uncopied = 0;
	if (tracer_iterate(tracer, ABI_ITER_STACKS))
		tracer->late_copies_failed++;
}

void tracer_forget_process(struct tracer *tracer, const struct abi_process_key *key)
{
	bpf_map_delete_elem(bpf_map__fd(tracer->bpf->maps.processes), key);
}

int tracer_set_python(struct tracer *tracer, uint32_t tgid, const struct abi_python *layout)
{
	return bpf_map_update_elem(bpf_map__fd(tracer->bpf->maps.pythons), &tgid, layout, BPF_ANY) ? -errno
	                                                                                           : 0;
}

void tracer_allow_python(struct tracer *tracer, unsigned int asks)
{
	tracer->bpf->bss->any_python = 1;
	tracer->bpf->bss->python_asks = asks;
}

void tracer_forget_python(struct tracer *tracer, uint32_t tgid)
{
	bpf_map_delete_elem(bpf_map__fd(tracer->bpf->maps.pythons), &tgid);
}

int tracer_add_tag(struct tracer *tracer, const char *name, uint64_t id, uint64_t *key)
{
	struct abi_tag tag = { .id = id, .source = ABI_TAG_PROCESS };

	snprintf(tag.name, sizeof(tag.name), "%s", name);
	*key = tracer->next_key++;
	return bpf_map_update_elem(bpf_map__fd(tracer->bpf->maps.tags), key, &tag, BPF_ANY) ? -errno : 0;
}

int tracer_find_tag(struct tracer *tracer, uint64_t key, struct abi_tag *tag)
{
	if (!bpf_map_lookup_elem(bpf_map__fd(tracer->bpf->maps.tags), &key, tag))
		return 0;
	return bpf_map_lookup_elem(bpf_map__fd(tracer->bpf->maps.tags_at_once), &key, tag) ? -errno : 0;
}

void tracer_drop_tag(struct tracer *tracer, uint64_t key)
{
	bpf_map_delete_elem(bpf_map__fd(tracer->bpf->maps.tags), &key);
	bpf_map_delete_elem(bpf_map__fd(tracer->bpf->maps.tags_at_once), &key);
}

/* Threads that run have changes in their logs that nobody has read yet. */
static int settle_by_logs(struct tracer *tracer)
{
	tracer->bpf->bss->iter_mode = ABI_ITER_LOGS;
	return tracer->bpf->bss->any_logs && tracer->context_iterator
	               ? task_walk_run(tracer->context_iterator)
	               : 0;
}

int tracer_iterate(struct tracer *tracer, uint32_t mode)
{
	struct stallprof_bpf__bss *bss = tracer->bpf->bss;
	int64_t before = bss->n_tagged, off;
	int result = mode & ABI_ITER_FLUSH ? settle_by_logs(tracer) : 0;

	bss->iter_mode = mode;
	bss->n_tagged_walk = 0;
	bss->walked_ns = 0;
	result = result ? result : task_walk_run(tracer->iterator);
	if (!result && mode & ABI_ITER_FLUSH) {
		off = tagged_correction(&tracer->tagged_drift, before, bss->n_tagged_walk, bss->n_tagged);
		__atomic_fetch_add(&bss->n_tagged, off, __ATOMIC_RELAXED);
	}
	if (!result && mode & (ABI_ITER_ADOPT | ABI_ITER_STACKS) && tracer->context_iterator)
		result = task_walk_run(tracer->context_iterator);
	return result;
}

int tracer_take_ledger(struct tracer *tracer, uint64_t next, tracer_row_fn on_row, void *ctx)
{
	return ledger_maps_take(tracer->ledgers, next, on_row, ctx);
}

int tracer_fd(const struct tracer *tracer)
{
	return event_rings_fd(tracer->rings);
}

int tracer_python_fd(const struct tracer *tracer)
{
	return event_rings_asked_fd(tracer->rings);
}

int tracer_poll(struct tracer *tracer, bool all, uint64_t until_ns)
{
	return event_rings_poll(tracer->rings, all, until_ns);
}

uint64_t tracer_tagged_ns(const struct tracer *tracer)
{
	return tracer->bpf->bss->tagged_ns;
}

uint64_t tracer_walked_ns(const struct tracer *tracer)
{
	return tracer->bpf->bss->walked_ns;
}

int64_t tracer_tagged(const struct tracer *tracer)
{
	return tracer->bpf->bss->n_tagged;
}

uint64_t tracer_event_bytes(const struct tracer *tracer)
{
	return tracer->bpf->bss->ring_bytes;
}

uint64_t tracer_threshold(const struct tracer *tracer)
{
	return tracer->bpf->bss->threshold_ns;
}

void tracer_set_threshold(struct tracer *tracer, uint64_t ns)
{
	tracer->bpf->bss->threshold_ns = ns;
}

uint64_t tracer_counter(const struct tracer *tracer, enum abi_counter counter)
{
	return tracer->bpf->bss->counters[counter];
}

int tracer_describe(struct tracer *tracer, struct stamp *stamp)
{
	int result = tracer_links_describe(tracer->links, stamp);

	for (int i = 0; i < ABI_COUNTER_MAX && !result; i++) {
		uint64_t now = tracer_counter(tracer, i), *told = &tracer->described[i];
		uint64_t more = (int64_t)(now - *told) > 0 ? now - *told : 0;

		result = stamp_add_counter(stamp, counter_names[i], more);
		*told += more;
	}
	if (!result)
		result = stamp_add_counter(stamp, "late_copies_failed", tracer->late_copies_failed);
	tracer->late_copies_failed = 0;
	return result;
}

const char *tracer_missing(const struct tracer *tracer, size_t row)
{
	return tracer_links_missing(tracer->links, row);
}
