#include "profiler/tracer.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "bpf/stallprof.skel.h"
#include "profiler/ledger_maps.h"
#include "profiler/probe_table.h"
#include "profiler/stamp.h"
#include "profiler/tracer_links.h"

#define SLOTS_DEFAULT        256
#define RING_BYTES_DEFAULT   (8u << 20)
#define THRESHOLD_DEFAULT_NS 1000000ULL

struct tracer {
	struct stallprof_bpf *bpf;
	struct probe_host *host;
	struct tracer_links *links;
	struct ring_buffer *ring;
	struct ring_buffer *asked; /* of Python */
	struct bpf_link *iterator, *context_iterator;
	tracer_event_fn on_event;
	tracer_python_fn on_python;
	void *ctx;
	struct ledger_maps *ledgers;
	uint64_t next_key;
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

/* libbpf's own lines would come between ours; its errors come back as numbers. */
static int libbpf_silent(enum libbpf_print_level level, const char *format, va_list args)
{
	if (!getenv("STALLPROF_LIBBPF_DEBUG"))
		return 0;
	(void)level;
	return vfprintf(stderr, format, args);
}

static size_t bytes_behind(const struct abi_event *event)
{
	if (!event->n_python)
		return event->ustack_len;
	return abi_python_offset(event->ustack_len) + event->n_python * sizeof(struct abi_python_frame);
}

static int on_asked(void *ctx, void *data, size_t size)
{
	struct tracer *tracer = ctx;
	const struct abi_python_ask *ask = data;
	size_t head = sizeof(*ask) - sizeof(ask->frames);

	if (size >= head && (size - head) / sizeof(ask->frames[0]) >= ask->n)
		tracer->on_python(tracer->ctx, ask);
	return 0;
}

/* Those who ask do not wait until all stacks before theirs are resolved. */
static int on_ring(void *ctx, void *data, size_t size)
{
	struct tracer *tracer = ctx;
	const struct abi_event *event = data;

	ring_buffer__consume(tracer->asked);
	if (size >= ABI_EVENT_HEAD && size - ABI_EVENT_HEAD >= bytes_behind(event))
		tracer->on_event(tracer->ctx, event);
	return 0;
}

static void set_knobs(struct tracer *tracer, const struct tracer_opts *opts)
{
	struct stallprof_bpf *bpf = tracer->bpf;
	uint32_t slots = opts->max_stalled_threads ? opts->max_stalled_threads : SLOTS_DEFAULT;

	bpf->rodata->n_slots = slots;
	bpf->rodata->walk_slot = slots + libbpf_num_possible_cpus();
	bpf->rodata->min_duration_ns = opts->min_duration_ns;
	bpf->rodata->ustack_limit = opts->stack_copy_bytes ? opts->stack_copy_bytes : ABI_USTACK_MAX;
	bpf->rodata->cpu_period_ns = opts->cpu_hz ? 1000000000ULL / opts->cpu_hz : 0;
	bpf->rodata->cpu_baseline = opts->baseline;
	bpf->rodata->only_adopted = opts->only_adopted;
	bpf->rodata->filter_cgroup = opts->cgroup_id;
	bpf->rodata->filter_level = opts->cgroup_level;
	bpf->data->threshold_ns = opts->threshold_ns ? opts->threshold_ns : THRESHOLD_DEFAULT_NS;
	bpf_map__set_max_entries(bpf->maps.stack_slots, slots + libbpf_num_possible_cpus() + 1);
	bpf_map__set_max_entries(bpf->maps.free_slots, slots);
	bpf_map__set_max_entries(bpf->maps.events, opts->ring_bytes ? opts->ring_bytes : RING_BYTES_DEFAULT);
}

static void choose_programs(struct tracer *tracer)
{
	size_t i;

	for (i = 0; i < probe_table_len; i++) {
		struct bpf_program *program =
		        bpf_object__find_program_by_name(tracer->bpf->obj, probe_table[i].program);

		if (program)
			bpf_program__set_autoload(program, !probe_missing(tracer->host, &probe_table[i]));
	}
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

static int make_iterator(struct tracer *tracer)
{
	tracer->iterator = bpf_program__attach_iter(tracer->bpf->progs.on_iter_task, NULL);
	tracer->context_iterator = bpf_program__attach_iter(tracer->bpf->progs.on_iter_context, NULL);
	return tracer->iterator && tracer->context_iterator ? 0 : -errno;
}

static int map_rings(struct tracer *tracer)
{
	const struct stallprof_bpf *bpf = tracer->bpf;

	tracer->asked = ring_buffer__new(bpf_map__fd(bpf->maps.python_asked), on_asked, tracer, NULL);
	tracer->ring = ring_buffer__new(bpf_map__fd(bpf->maps.events), on_ring, tracer, NULL);
	return tracer->asked && tracer->ring ? 0 : -errno;
}

static int load(struct tracer *tracer, const struct tracer_opts *opts, char *err, size_t err_len)
{
	int result;

	libbpf_set_print(libbpf_silent);
	errno = 0;
	tracer->host = probe_host_new();
	if (!tracer->host)
		return fail(err, err_len,
		            "this kernel has no BTF (/sys/kernel/btf/vmlinux): boot one built with "
		            "CONFIG_DEBUG_INFO_BTF=y");
	if (!probe_cause_available(tracer->host, "core"))
		return fail(err, err_len,
		            "this kernel lacks the scheduler's tracepoints: see stallprof doctor");
	tracer->bpf = stallprof_bpf__open();
	if (!tracer->bpf)
		return fail(err, err_len, "cannot open the BPF programs: %s", strerror(errno));
	set_knobs(tracer, opts);
	choose_programs(tracer);
	result = stallprof_bpf__load(tracer->bpf);
	if (result) {
		errno = -result;
		return fail(err, err_len,
		            "the kernel refused the BPF programs (%s): run as root or with CAP_BPF and "
		            "CAP_PERFMON, see stallprof doctor",
		            strerror(-result));
	}
	tracer->ledgers = ledger_maps_new(bpf_map__fd(tracer->bpf->maps.ledgers));
	if (!tracer->ledgers || fill_slots(tracer) || make_iterator(tracer))
		return fail(err, err_len, "cannot set up the BPF maps: %s", strerror(errno));
	if (map_rings(tracer))
		return fail(err, err_len, "cannot map the ring buffers: %s", strerror(errno));
	tracer->links = tracer_links_new(tracer->bpf->obj, tracer->host, opts->cpu_hz);
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
	ring_buffer__free(tracer->ring);
	ring_buffer__free(tracer->asked);
	bpf_link__destroy(tracer->iterator);
	bpf_link__destroy(tracer->context_iterator);
	ledger_maps_free(tracer->ledgers);
	stallprof_bpf__destroy(tracer->bpf);
	probe_host_free(tracer->host);
	free(tracer);
}

bool tracer_attached(const struct tracer *tracer)
{
	return tracer->bpf->bss->hot_generation & 1;
}

static void empty_map(const struct bpf_map *map)
{
	uint64_t key; /* room for the 4-byte keys, too */

	while (bpf_map_get_next_key(bpf_map__fd(map), NULL, &key) == 0 &&
	       bpf_map_delete_elem(bpf_map__fd(map), &key) == 0)
		;
}

/* Requests and work that were under way when the hooks were detached have ended unseen. */
static void forget_followed(struct tracer *tracer)
{
	empty_map(tracer->bpf->maps.requests);
	empty_map(tracer->bpf->maps.inflight);
	empty_map(tracer->bpf->maps.works);
	empty_map(tracer->bpf->maps.carriers);
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
}

int tracer_watch_file(struct tracer *tracer, const char *path, bool change, bool process, char *err,
                      size_t err_len)
{
	int result = 0;

	if (change)
		result = tracer_links_usdt(tracer->links, tracer->bpf->progs.on_tag_change, path, "change");
	if (!result && process)
		result = tracer_links_usdt(tracer->links, tracer->bpf->progs.on_tag_process, path, "process");
	if (result) {
		errno = -result;
		return fail(err, err_len, "cannot attach to the tag probes of %s: %s", path,
		            strerror(-result));
	}
	return 0;
}

int tracer_set_process(struct tracer *tracer, uint32_t tgid, const struct abi_process *process)
{
	return bpf_map_update_elem(bpf_map__fd(tracer->bpf->maps.processes), &tgid, process, BPF_ANY) ? -errno
	                                                                                              : 0;
}

void tracer_forget_process(struct tracer *tracer, uint32_t tgid)
{
	bpf_map_delete_elem(bpf_map__fd(tracer->bpf->maps.processes), &tgid);
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
	return bpf_map_lookup_elem(bpf_map__fd(tracer->bpf->maps.tags), &key, tag) ? -errno : 0;
}

void tracer_drop_tag(struct tracer *tracer, uint64_t key)
{
	bpf_map_delete_elem(bpf_map__fd(tracer->bpf->maps.tags), &key);
}

static int run_iterator(struct bpf_link *iterator)
{
	int fd = bpf_iter_create(bpf_link__fd(iterator)), result = 0;
	char nothing[64];
	ssize_t n;

	if (fd < 0)
		return -errno;
	while ((n = read(fd, nothing, sizeof(nothing))) > 0)
		;
	if (n < 0)
		result = -errno;
	close(fd);
	return result;
}

int tracer_iterate(struct tracer *tracer, uint32_t mode)
{
	int result;

	tracer->bpf->bss->iter_mode = mode;
	tracer->bpf->bss->n_tagged_walk = 0;
	result = run_iterator(tracer->iterator);
	if (!result && mode & ABI_ITER_FLUSH) /* what was counted change by change may have drifted */
		tracer->bpf->bss->n_tagged = tracer->bpf->bss->n_tagged_walk;
	if (!result && mode & ABI_ITER_ADOPT)
		result = run_iterator(tracer->context_iterator);
	return result;
}

int tracer_take_ledger(struct tracer *tracer, uint64_t next, tracer_row_fn on_row, void *ctx)
{
	return ledger_maps_take(tracer->ledgers, next, on_row, ctx);
}

int tracer_fd(const struct tracer *tracer)
{
	return ring_buffer__epoll_fd(tracer->ring);
}

int tracer_python_fd(const struct tracer *tracer)
{
	return ring_buffer__epoll_fd(tracer->asked);
}

int tracer_poll(struct tracer *tracer, bool all)
{
	int result = ring_buffer__consume(tracer->asked);

	if (result < 0)
		return result;
	return all ? ring_buffer__consume(tracer->ring) : ring_buffer__poll(tracer->ring, 0);
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
	return tracer->bpf->data->threshold_ns;
}

void tracer_set_threshold(struct tracer *tracer, uint64_t ns)
{
	tracer->bpf->data->threshold_ns = ns;
}

uint64_t tracer_counter(const struct tracer *tracer, enum abi_counter counter)
{
	return tracer->bpf->bss->counters[counter];
}

int tracer_describe(struct tracer *tracer, struct stamp *stamp)
{
	int result = tracer_links_describe(tracer->links, stamp);
	int i;

	for (i = 0; i < ABI_COUNTER_MAX && !result; i++) {
		uint64_t now = tracer_counter(tracer, i);

		result = stamp_add_counter(stamp, counter_names[i], now - tracer->described[i]);
		tracer->described[i] = now;
	}
	return result;
}
