/* Makes a tracer: sets constants, finds hooks, loads; forwards each call to its table of functions. */

#include "profiler/tracer/tracer.h"

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
#include "profiler/tracer/event_rings.h"
#include "profiler/tracer/host_has.h"
#include "profiler/tracer/kernel_places.h"
#include "profiler/tracer/ledger_maps.h"
#include "profiler/tracer/map_room.h"
#include "profiler/tracer/probe_table.h"
#include "profiler/tracer/tag_folders.h"
#include "profiler/tracer/task_walk.h"
#include "profiler/tracer/tracer_links.h"
#include "profiler/tracer/tracer_load.h"
#include "profiler/tracer/tracer_state.h"
#include "profiler/tracer/uprobe_links.h"

#define BUFFERS_DEFAULT      256
#define RING_BYTES_DEFAULT   (8u << 20)
#define THRESHOLD_DEFAULT_NS 1000000ULL
#define TAG_IDS              16384
#define GPU_JOBS             8192

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
	bool tells_requests;
};

/* Whether the starts and ends of requests are seen, and who makes files dirty: else what is told of requests would be of the wrong tag. */
static bool tells_requests(const struct probe_host *host)
{
	static const char *const causes[] = { "block_io", "throttle", "requests" };

	for (size_t i = 0; i < sizeof(causes) / sizeof(*causes); i++) {
		if (!probe_cause_available(host, causes[i]))
			return false;
	}
	return true;
}

static void set_knobs(struct stallprof_bpf *bpf, const void *ctx)
{
	const struct knobs *knobs = ctx;
	const struct tracer_opts *opts = knobs->opts;
	uint32_t buffers = opts->max_stalled_threads ? opts->max_stalled_threads : BUFFERS_DEFAULT;

	bpf->rodata->n_buffers = buffers;
	bpf->rodata->walk_buffer = buffers + libbpf_num_possible_cpus();
	bpf->rodata->min_duration_ns = opts->min_duration_ns;
	bpf->rodata->dma_threshold_ns = opts->dma_threshold_ns;
	bpf->rodata->ustack_limit = opts->stack_copy_bytes ? opts->stack_copy_bytes : ABI_USTACK_MAX;
	bpf->rodata->cpu_period_ns = opts->cpu_hz ? 1000000000ULL / opts->cpu_hz : 0;
	bpf->rodata->samples_oncpu = opts->samples_oncpu;
	bpf->rodata->counts_users = opts->host_users;
	bpf->rodata->only_adopted = opts->only_adopted;
	bpf->rodata->long_waits = opts->long_waits;
	bpf->rodata->tells_requests = knobs->tells_requests;
	bpf->rodata->pause_arg = knobs->places->pause_arg;
	bpf->rodata->preempt_count_from_rq = knobs->places->preempt_count_from_rq;
	bpf->rodata->storage_busy_from_rq = knobs->places->storage_busy_from_rq;
	bpf->rodata->interrupt_bits = knobs->places->interrupt_bits;
	bpf->rodata->has_asker = opts->has_asker;
	bpf->bss->filter_cgroup = opts->cgroup_id;
	for (int i = 0; i < ABI_WAITS_MAX; i++)
		bpf->bss->threshold_ns[i] = opts->threshold_ns ? opts->threshold_ns : THRESHOLD_DEFAULT_NS;
	bpf->bss->threshold_ns[ABI_WAITS_CPU] = bpf->rodata->cpu_period_ns;
	if (knobs->uprobe_multi)
		tracer_links_prepare_multi(bpf->obj);
	if (opts->n_tag_files)
		tag_folders_prepare(opts->tag_files, opts->n_tag_files, bpf);
	if (knobs->places->ai_tags || opts->btf_path)
		bpf_map__set_max_entries(bpf->maps.tag_ids, TAG_IDS);
	if (host_has_module("drm")) {
		bpf_map__set_max_entries(bpf->maps.gpu_jobs, GPU_JOBS);
		bpf_map__set_max_entries(bpf->maps.gpu_waiters, GPU_JOBS);
	}
	if (!knobs->places->maps_grow) {
		bpf_map__set_map_flags(bpf->maps.tags, 0);
		bpf_map__set_map_flags(bpf->maps.pythons, 0);
	}
	bpf_map__set_max_entries(bpf->maps.stack_buffers, buffers + libbpf_num_possible_cpus() + 1);
	bpf_map__set_max_entries(bpf->maps.free_buffers, buffers);
	bpf_map__set_max_entries(bpf->maps.events, opts->ring_bytes ? opts->ring_bytes : RING_BYTES_DEFAULT);
	bpf->rodata->owner_bits = map_room_owner_bits((unsigned int)libbpf_num_possible_cpus());
	bpf_map__set_max_entries(bpf->maps.owners, 1U << bpf->rodata->owner_bits);
	map_room_for_cpus(bpf->obj, (unsigned int)libbpf_num_possible_cpus());
}

static int fill_buffers(struct tracer *tracer)
{
	uint32_t i;

	for (i = 0; i < tracer->bpf->rodata->n_buffers; i++) {
		if (bpf_map_update_elem(bpf_map__fd(tracer->bpf->maps.free_buffers), NULL, &i, BPF_ANY))
			return -errno;
	}
	return 0;
}

static int make_iterators(struct tracer *tracer)
{
	const struct stallprof_bpf *bpf = tracer->bpf;
	int result = task_walk_make(bpf->progs.on_iter_task, &tracer->iterator);

	result = result ? result : task_walk_make(bpf->progs.on_iter_context, &tracer->context_iterator);
	return result ? result : task_walk_make(bpf->progs.on_iter_journal, &tracer->journal_iterator);
}

static int switch_off(struct tracer *tracer, const struct tracer_opts *opts, char *err, size_t err_len)
{
	for (size_t i = 0; i < opts->n_causes_off; i++) {
		const char *stays = probe_host_switch_off(tracer->host, opts->causes_off[i]);

		errno = EINVAL;
		if (stays)
			return fail(err, err_len, "sampling.causes_off: %s: %s", opts->causes_off[i], stays);
	}
	return 0;
}

static int find_hooks(struct tracer *tracer, const struct tracer_opts *opts, char *err, size_t err_len)
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
	if (!opts->n_tag_files && !opts->all_hooks)
		probe_host_leave_out(tracer->host, "tag_files");
	return switch_off(tracer, opts, err, err_len);
}

static int load(struct tracer *tracer, const struct tracer_opts *opts, char *err, size_t err_len)
{
	int result = tag_folders_open(opts->tag_files, opts->n_tag_files, &tracer->folders, err, err_len);
	struct knobs knobs = { .opts = opts };

	if (!result)
		result = find_hooks(tracer, opts, err, err_len);
	if (result)
		return result;
	knobs.places = probe_host_places(tracer->host);
	knobs.tells_requests = tells_requests(tracer->host);
	knobs.uprobe_multi = uprobe_links_have_multi();
	tracer->bpf = tracer_load(tracer->host, set_knobs, &knobs, opts->say, opts->btf_path, err, err_len);
	if (!tracer->bpf)
		return -errno;
	tracer->ledgers = ledger_maps_new(bpf_map__fd(tracer->bpf->maps.ledgers));
	if (!tracer->ledgers || fill_buffers(tracer) || make_iterators(tracer))
		return fail(err, err_len, "cannot set up the BPF maps: %s", strerror(errno));
	tracer->rings = event_rings_new(bpf_map__fd(tracer->bpf->maps.events),
	                                bpf_map__fd(tracer->bpf->maps.python_asked), tracer->on_event,
	                                tracer->on_python, tracer->ctx);
	if (tracer->rings && opts->on_file && opts->n_tag_files &&
	    event_rings_add_files(tracer->rings, bpf_map__fd(tracer->bpf->maps.file_events), opts->on_file))
		return fail(err, err_len, "cannot map the ring buffers: %s", strerror(errno));
	if (!tracer->rings)
		return fail(err, err_len, "cannot map the ring buffers: %s", strerror(errno));
	tracer->links =
	        tracer_links_new(tracer->bpf->obj, tracer->host, opts->cpu_hz, knobs.uprobe_multi, NULL);
	if (!tracer->links)
		return fail(err, err_len, "out of memory");
	malloc_trim(0); /* loading took some 30 MB that are not needed again */
	result = tracer_links_attach(tracer->links, false, err, err_len);
	if (result)
		return result;
	if (opts->n_tag_files && opts->say && !probe_cause_available(tracer->host, "tag_files"))
		opts->say("tags.files: no file is tagged, as this kernel lacks hooks: see tag_files in "
		          "stallprof doctor");
	errno = -tag_folders_set(tracer->folders, tracer->bpf);
	return errno ? fail(err, err_len, "cannot look through open files: %s", strerror(errno)) : 0;
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
	tracer->ops = &tracer_by_bpf;
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

/* --- the calls -------------------------------------------------------------------------------------- */

void tracer_free(struct tracer *tracer)
{
	if (tracer)
		tracer->ops->free(tracer);
}

bool tracer_attached(const struct tracer *tracer)
{
	return tracer->ops->attached(tracer);
}

int tracer_attach(struct tracer *tracer, char *err, size_t err_len)
{
	return tracer->ops->attach(tracer, err, err_len);
}

void tracer_detach(struct tracer *tracer)
{
	tracer->ops->detach(tracer);
}

void tracer_rest(struct tracer *tracer)
{
	tracer->ops->rest(tracer);
}

void tracer_cpu(struct tracer *tracer, unsigned int cpu, bool online)
{
	tracer->ops->cpu(tracer, cpu, online);
}

bool tracer_reads_logs(const struct tracer *tracer)
{
	return tracer->ops->reads_logs(tracer);
}

int tracer_watch_file(struct tracer *tracer, const char *path, const struct tracer_probes *probes, char *err,
                      size_t err_len)
{
	return tracer->ops->watch_file(tracer, path, probes, err, err_len);
}

void tracer_unwatch_file(struct tracer *tracer, int watched)
{
	tracer->ops->unwatch_file(tracer, watched);
}

int tracer_set_process(struct tracer *tracer, const struct abi_process_key *key,
                       const struct abi_process *process)
{
	return tracer->ops->set_process(tracer, key, process);
}

void tracer_copy_late(struct tracer *tracer, uint64_t now_ns)
{
	tracer->ops->copy_late(tracer, now_ns);
}

void tracer_forget_process(struct tracer *tracer, const struct abi_process_key *key)
{
	tracer->ops->forget_process(tracer, key);
}

int tracer_set_python(struct tracer *tracer, uint32_t tgid, const struct abi_python *layout)
{
	return tracer->ops->set_python(tracer, tgid, layout);
}

void tracer_allow_python(struct tracer *tracer, unsigned int asks)
{
	tracer->ops->allow_python(tracer, asks);
}

void tracer_forget_python(struct tracer *tracer, uint32_t tgid)
{
	tracer->ops->forget_python(tracer, tgid);
}

void tracer_know_stack(struct tracer *tracer, uint64_t stack_key, const struct abi_known_stack *known)
{
	tracer->ops->know_stack(tracer, stack_key, known);
}

void tracer_stacks_from(struct tracer *tracer, uint64_t window)
{
	tracer->ops->stacks_from(tracer, window);
}

int tracer_tag_file(struct tracer *tracer, uint64_t inode, const struct abi_tagged_file *tagged)
{
	return tracer->ops->tag_file(tracer, inode, tagged);
}

void tracer_ask_xattr_again(struct tracer *tracer, uint64_t inode)
{
	tracer->ops->ask_xattr_again(tracer, inode);
}

void tracer_hold_folders(struct tracer *tracer, uint64_t now_ns, say_fn say)
{
	tracer->ops->hold_folders(tracer, now_ns, say);
}

void tracer_allow_xattrs(struct tracer *tracer, unsigned int asks)
{
	tracer->ops->allow_xattrs(tracer, asks);
}

int tracer_add_tag(struct tracer *tracer, const char *name, uint64_t id, uint64_t *key)
{
	return tracer->ops->add_tag(tracer, name, id, key);
}

int tracer_find_tag(struct tracer *tracer, uint64_t key, struct abi_tag *tag)
{
	return tracer->ops->find_tag(tracer, key, tag);
}

void tracer_drop_tag(struct tracer *tracer, uint64_t key)
{
	tracer->ops->drop_tag(tracer, key);
}

void tracer_each_tag(struct tracer *tracer, tracer_tag_fn on_tag, void *ctx)
{
	tracer->ops->each_tag(tracer, on_tag, ctx);
}

int tracer_iterate(struct tracer *tracer, uint32_t mode)
{
	return tracer->ops->iterate(tracer, mode);
}

int tracer_take_ledger(struct tracer *tracer, uint64_t next, tracer_row_fn on_row, void *ctx)
{
	return tracer->ops->take_ledger(tracer, next, on_row, ctx);
}

int tracer_fd(const struct tracer *tracer)
{
	return tracer->ops->fd(tracer);
}

int tracer_python_fd(const struct tracer *tracer)
{
	return tracer->ops->python_fd(tracer);
}

int tracer_poll(struct tracer *tracer, bool all, uint64_t until_ns)
{
	return tracer->ops->poll(tracer, all, until_ns);
}

uint64_t tracer_tagged_ns(const struct tracer *tracer)
{
	return tracer->ops->tagged_ns(tracer);
}

uint64_t tracer_walked_ns(const struct tracer *tracer)
{
	return tracer->ops->walked_ns(tracer);
}

int64_t tracer_tagged(const struct tracer *tracer)
{
	return tracer->ops->tagged(tracer);
}

uint64_t tracer_event_bytes(const struct tracer *tracer, enum abi_waits waits)
{
	return tracer->ops->event_bytes(tracer, waits);
}

uint64_t tracer_threshold(const struct tracer *tracer, enum abi_waits waits)
{
	return tracer->ops->threshold(tracer, waits);
}

void tracer_set_threshold(struct tracer *tracer, enum abi_waits waits, uint64_t ns)
{
	tracer->ops->set_threshold(tracer, waits, ns);
}

void tracer_set_cgroup(struct tracer *tracer, uint64_t id)
{
	tracer->ops->set_cgroup(tracer, id);
}

uint64_t tracer_counter(const struct tracer *tracer, enum abi_counter counter)
{
	return tracer->ops->counter(tracer, counter);
}

int tracer_describe(struct tracer *tracer, struct stamp *stamp)
{
	return tracer->ops->describe(tracer, stamp);
}

const char *tracer_missing(const struct tracer *tracer, size_t row)
{
	return tracer->ops->missing(tracer, row);
}
