/* Reads the BPF programs' ring buffers: events, questions about Python code, and what is done with files. */

#include "profiler/tracer/event_rings.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "symbolizer/base/clock.h"

struct event_rings {
	struct ring_buffer *events; /* NULL: at rest */
	struct ring_buffer *asked;
	struct ring_buffer *files; /* NULL: no file is tagged */
	int events_fd, epoll_fd;   /* epoll_fd is readable when many events wait, of either kind */
	tracer_event_fn on_event;
	tracer_python_fn on_python;
	tracer_file_fn on_file;
	void *ctx;
	uint64_t began_ns, until_ns; /* of the poll in progress */
	bool behind;                 /* the last poll has left events */
	bool has_room;               /* for what comes in SETTLE_US */
};

/* What wakes us may be a program that has just been executed: its mappings are known a millisecond later (perf_rings.h). */
#define SETTLE_US   1500
#define ROOMY_BYTES (1 << 20) /* a ring may wake us as it fills, too */

/* Of what comes while a poll is in progress, it is not known yet what programs their processes execute next: an event that ends it. */
#define NEWER (-EINPROGRESS)

/* Ends the poll in progress when its time is over: what waits is still there at the next one. */
static int go_on(const struct event_rings *rings)
{
	return monotonic_ns() < rings->until_ns ? 0 : -ETIME;
}

static int on_asked(void *ctx, void *data, size_t size)
{
	struct event_rings *rings = ctx;
	const struct abi_python_ask *ask = data;
	size_t head = sizeof(*ask) - sizeof(ask->frames);

	if (size >= head && (size - head) / sizeof(ask->frames[0]) >= ask->n)
		rings->on_python(rings->ctx, ask);
	return go_on(rings);
}

static int on_file(void *ctx, void *data, size_t size)
{
	struct event_rings *rings = ctx;
	const struct abi_file_event *event = data;

	if (size >= sizeof(*event) && size - sizeof(*event) >= event->names_len)
		rings->on_file(rings->ctx, event);
	return go_on(rings);
}

static size_t bytes_behind(const struct abi_event *event)
{
	if (event->has_detail)
		return abi_detail_offset(event->ustack_len, event->n_python) + sizeof(struct abi_detail);
	if (!event->n_python)
		return event->ustack_len;
	return abi_python_offset(event->ustack_len) + event->n_python * sizeof(struct abi_python_frame);
}

/* Also answers waiting questions, so that their threads do not wait until all stacks are resolved. */
static int on_event(void *ctx, void *data, size_t size)
{
	struct event_rings *rings = ctx;
	const struct abi_event *event = data;

	ring_buffer__consume(rings->asked);
	if (size == sizeof(struct abi_gpu_job) && event->kind == ABI_EVENT_GPU_JOB) {
		rings->on_event(rings->ctx, event);
	} else if (size >= ABI_EVENT_HEAD && size - ABI_EVENT_HEAD >= bytes_behind(event)) {
		rings->on_event(rings->ctx, event);
		if (event->time_ns > rings->began_ns)
			return NEWER;
	}
	return go_on(rings);
}

static uint32_t ring_bytes(int fd)
{
	struct bpf_map_info info = { 0 };
	uint32_t size = sizeof(info);

	return bpf_obj_get_info_by_fd(fd, &info, &size) ? 0 : info.max_entries;
}

struct event_rings *event_rings_new(int events_fd, int asked_fd, tracer_event_fn event,
                                    tracer_python_fn python, void *ctx)
{
	struct event_rings *rings = calloc(1, sizeof(*rings));
	/* When the programs wake us, that is, and not whenever there are any. */
	struct epoll_event readable = { .events = EPOLLIN | EPOLLET, .data.fd = events_fd };
	int saved;

	if (!rings)
		return NULL;
	*rings = (struct event_rings){
		.on_event = event, .on_python = python, .ctx = ctx, .events_fd = events_fd
	};
	rings->has_room = ring_bytes(events_fd) >= ROOMY_BYTES;
	rings->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (rings->epoll_fd >= 0 && !epoll_ctl(rings->epoll_fd, EPOLL_CTL_ADD, events_fd, &readable))
		rings->asked = ring_buffer__new(asked_fd, on_asked, rings, NULL);
	if (rings->asked)
		return rings;
	saved = errno;
	event_rings_free(rings);
	errno = saved;
	return NULL;
}

void event_rings_free(struct event_rings *rings)
{
	if (!rings)
		return;
	ring_buffer__free(rings->events);
	ring_buffer__free(rings->asked);
	ring_buffer__free(rings->files);
	if (rings->epoll_fd >= 0)
		close(rings->epoll_fd);
	free(rings);
}

int event_rings_add_files(struct event_rings *rings, int files_fd, tracer_file_fn callback)
{
	rings->on_file = callback;
	rings->files = ring_buffer__new(files_fd, on_file, rings, NULL);
	if (!rings->files)
		return -errno;
	return epoll_ctl(rings->epoll_fd, EPOLL_CTL_ADD, files_fd,
	                 &(struct epoll_event){ .events = EPOLLIN, .data.fd = files_fd })
	               ? -errno
	               : 0;
}

int event_rings_fd(const struct event_rings *rings)
{
	return rings->epoll_fd;
}

int event_rings_asked_fd(const struct event_rings *rings)
{
	return ring_buffer__epoll_fd(rings->asked);
}

static bool has_any(const struct event_rings *rings)
{
	struct pollfd fd = { .fd = rings->events_fd, .events = POLLIN };

	return poll(&fd, 1, 0) == 1;
}

bool event_rings_rest(struct event_rings *rings)
{
	if (!rings->events || has_any(rings))
		return false;
	ring_buffer__free(rings->events);
	rings->events = NULL;
	return true;
}

/* Files, which may be what woke us, have been read by now. */
static bool many_wait(const struct event_rings *rings)
{
	struct epoll_event event[2];
	int n = epoll_wait(rings->epoll_fd, event, 2, 0);

	for (int i = 0; i < n; i++)
		if (event[i].data.fd == rings->events_fd)
			return true;
	return false;
}

/* Without memory for the mapping the events stay in the ring, which counts those that it has no room for. */
static int consume_events(struct event_rings *rings, bool all)
{
	if (all || rings->behind ? !has_any(rings) : !many_wait(rings))
		return 0;
	if (!all && !rings->behind && rings->has_room)
		usleep(SETTLE_US);
	if (!rings->events)
		rings->events = ring_buffer__new(rings->events_fd, on_event, rings, NULL);
	return rings->events ? ring_buffer__consume(rings->events) : 0;
}

int event_rings_poll(struct event_rings *rings, bool all, uint64_t until_ns)
{
	int result, files = 0;

	rings->began_ns = monotonic_ns();
	/* Files have half of the time, so that they do not keep stacks from being taken. */
	rings->until_ns =
	        until_ns > rings->began_ns ? rings->began_ns + (until_ns - rings->began_ns) / 2 : until_ns;
	result = ring_buffer__consume(rings->asked);
	if (result >= 0 && rings->files)
		files = ring_buffer__consume(rings->files);
	rings->until_ns = until_ns;
	if (result >= 0) {
		result = consume_events(rings, all);
		rings->behind = result == -ETIME;
	}
	if (result >= 0 && files < 0)
		result = files;
	if (result == -ETIME)
		return 1;
	return result < 0 && result != NEWER ? result : 0;
}
