/* Reads the perf ring of each CPU and hands the records out sorted by time. */

#include "profiler/process/perf_rings.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "symbolizer/base/clock.h"

#define RECORD_BYTES_MIN (sizeof(struct perf_event_header) + sizeof(uint64_t)) /* each has its time */

struct ring {
	int fd;
	struct perf_event_mmap_page *page; /* NULL: this CPU has none */
};

struct pending {
	uint64_t time_ns;
	size_t offset; /* in `bytes`; also the order among records of one CPU and time */
};

struct perf_rings {
	struct ring *rings; /* by CPU */
	size_t n, n_open;
	int epoll_fd;
	size_t page_bytes;
	char *bytes; /* records that were copied and not handed out yet */
	size_t n_bytes, max_bytes, allocated;
	struct pending *pending;
	size_t n_pending, pending_allocated;
	uint64_t lost, late;
	uint64_t settled_ns; /* see perf_rings_settled() */
};

static int open_event(int cpu)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
		                        .size = sizeof(attr),
		                        .config = PERF_COUNT_SW_DUMMY,
		                        .sample_type = PERF_SAMPLE_TIME,
		                        .sample_id_all = 1,
		                        .mmap = 1,
		                        .mmap2 = 1,
		                        .comm = 1,
		                        .comm_exec = 1,
		                        .task = 1,
		                        .ksymbol = 1,
		                        .watermark = 1,
		                        .wakeup_watermark = PERF_RINGS_BYTES / 4,
		                        .use_clockid = 1,
		                        .clockid = CLOCK_MONOTONIC };

	return (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static void close_ring(struct perf_rings *rings, struct ring *ring)
{
	if (!ring->page)
		return;
	munmap(ring->page, rings->page_bytes + PERF_RINGS_BYTES);
	if (ring->fd >= 0)
		close(ring->fd); /* epoll forgets it, too */
	ring->page = NULL;
	rings->n_open--;
}

static int map_ring(struct perf_rings *rings, struct ring *ring)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = ring->fd };
	void *page = mmap(NULL, rings->page_bytes + PERF_RINGS_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
	                  ring->fd, 0);
	int err;

	if (page == MAP_FAILED)
		return -errno;
	if (!epoll_ctl(rings->epoll_fd, EPOLL_CTL_ADD, ring->fd, &event)) {
		ring->page = page;
		rings->n_open++;
		return 0;
	}
	err = -errno;
	munmap(page, rings->page_bytes + PERF_RINGS_BYTES);
	return err;
}

/* -ENODEV: it is offline. */
static int open_ring(struct perf_rings *rings, unsigned int cpu)
{
	struct ring *ring = &rings->rings[cpu];
	int err;

	ring->fd = open_event((int)cpu);
	if (ring->fd < 0)
		return -errno;
	err = map_ring(rings, ring);
	if (err)
		close(ring->fd);
	return err;
}

static int open_rings(struct perf_rings *rings)
{
	int cpus = libbpf_num_possible_cpus(); /* those that come later, too */

	if (cpus < 1)
		return -EINVAL;
	rings->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	rings->max_bytes = (size_t)cpus * 2 * PERF_RINGS_BYTES;
	rings->rings = calloc((size_t)cpus, sizeof(*rings->rings));
	rings->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (!rings->rings)
		return -ENOMEM;
	if (rings->epoll_fd < 0)
		return -errno;
	rings->n = (size_t)cpus;
	for (unsigned int cpu = 0; cpu < rings->n; cpu++) {
		int err = open_ring(rings, cpu);

		if (err && err != -ENODEV)
			return err;
	}
	return rings->n_open ? 0 : -ENODEV;
}

struct perf_rings *perf_rings_new(void)
{
	struct perf_rings *rings = calloc(1, sizeof(*rings));
	int err;

	if (!rings)
		return NULL;
	rings->epoll_fd = -1;
	err = open_rings(rings);
	if (!err)
		return rings;
	perf_rings_free(rings);
	errno = -err;
	return NULL;
}

struct perf_rings *perf_rings_over(void *const pages[], size_t n)
{
	struct perf_rings *rings = calloc(1, sizeof(*rings));

	if (!rings)
		return NULL;
	rings->epoll_fd = -1;
	rings->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	rings->max_bytes = n * 2 * PERF_RINGS_BYTES;
	rings->rings = calloc(n, sizeof(*rings->rings));
	if (!rings->rings) {
		perf_rings_free(rings);
		errno = ENOMEM;
		return NULL;
	}
	for (; rings->n < n; rings->n++)
		rings->rings[rings->n] = (struct ring){ .fd = -1, .page = pages[rings->n] };
	rings->n_open = n;
	return rings;
}

void perf_rings_free(struct perf_rings *rings)
{
	if (!rings)
		return;
	for (size_t i = 0; i < rings->n; i++)
		close_ring(rings, &rings->rings[i]);
	if (rings->epoll_fd >= 0)
		close(rings->epoll_fd);
	free(rings->rings);
	free(rings->bytes);
	free(rings->pending);
	free(rings);
}

int perf_rings_fd(const struct perf_rings *rings)
{
	return rings->epoll_fd;
}

uint64_t perf_rings_lost(const struct perf_rings *rings)
{
	return rings->lost;
}

uint64_t perf_rings_late(const struct perf_rings *rings)
{
	return rings->late;
}

unsigned int perf_rings_cpus_not_covered(const struct perf_rings *rings)
{
	long online = sysconf(_SC_NPROCESSORS_ONLN);

	return online > 0 && (size_t)online > rings->n_open ? (unsigned int)((size_t)online - rings->n_open)
	                                                    : 0;
}

/* Makes room for `n` more bytes; doubles, up to the maximum. */
static bool reserve_bytes(struct perf_rings *rings, size_t n)
{
	size_t want = rings->allocated ? rings->allocated : 65536;
	char *bytes;

	if (n > rings->max_bytes - rings->n_bytes)
		return false;
	while (want < rings->n_bytes + n)
		want *= 2;
	if (want == rings->allocated)
		return true;
	bytes = realloc(rings->bytes, want);
	if (!bytes)
		return false;
	rings->bytes = bytes;
	rings->allocated = want;
	return true;
}

/* Makes room for as many records as that many bytes can hold. */
static bool reserve_pending(struct perf_rings *rings, size_t n_bytes)
{
	size_t want = rings->pending_allocated ? rings->pending_allocated : 1024;
	size_t need = rings->n_pending + n_bytes / RECORD_BYTES_MIN;
	struct pending *grown;

	while (want < need)
		want *= 2;
	if (want == rings->pending_allocated)
		return true;
	grown = realloc(rings->pending, want * sizeof(*grown));
	if (!grown)
		return false;
	rings->pending = grown;
	rings->pending_allocated = want;
	return true;
}

static void add_pending(struct perf_rings *rings, size_t offset, size_t size)
{
	rings->pending[rings->n_pending].offset = offset;
	memcpy(&rings->pending[rings->n_pending].time_ns, rings->bytes + offset + size - sizeof(uint64_t),
	       sizeof(uint64_t));
	rings->n_pending++;
}

/* Notes each record of what was just copied to `offset`. Behind a malformed one no others can be found: as many as
 * would have fit are counted as lost, which is too many rather than too few. */
static void split_records(struct perf_rings *rings, size_t offset)
{
	while (rings->n_bytes - offset >= RECORD_BYTES_MIN) {
		struct perf_event_header header;

		memcpy(&header, rings->bytes + offset, sizeof(header));
		if (header.size < RECORD_BYTES_MIN || header.size > rings->n_bytes - offset)
			break;
		add_pending(rings, offset, header.size);
		offset += header.size;
	}
	rings->lost += (rings->n_bytes - offset + RECORD_BYTES_MIN - 1) / RECORD_BYTES_MIN;
	rings->n_bytes = offset;
}

/* Records that there is no room for stay in the ring; when that is full, the kernel counts what it drops. */
static void copy_ring(struct perf_rings *rings, struct ring *ring)
{
	const char *data = (const char *)ring->page + rings->page_bytes;
	uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = ring->page->data_tail;
	size_t n = (size_t)(head - tail), at = (size_t)(tail % PERF_RINGS_BYTES), first;
	size_t offset = rings->n_bytes;

	if (!n || n > PERF_RINGS_BYTES || !reserve_bytes(rings, n) || !reserve_pending(rings, n))
		return;
	first = n < PERF_RINGS_BYTES - at ? n : PERF_RINGS_BYTES - at;
	memcpy(rings->bytes + offset, data + at, first);
	memcpy(rings->bytes + offset + first, data, n - first);
	rings->n_bytes += n;
	split_records(rings, offset);
	__atomic_store_n(&ring->page->data_tail, head, __ATOMIC_RELEASE);
}

/* What it holds waits with the other rings' records. What there is no room for is lost with the ring. */
static void drain_and_close(struct perf_rings *rings, struct ring *ring)
{
	if (!ring->page)
		return;
	copy_ring(rings, ring);
	rings->lost += (ring->page->data_head - ring->page->data_tail) / RECORD_BYTES_MIN;
	close_ring(rings, ring);
}

void perf_rings_cpu(struct perf_rings *rings, unsigned int cpu, bool online)
{
	if (cpu >= rings->n)
		return;
	drain_and_close(rings, &rings->rings[cpu]);
	if (online && !open_ring(rings, cpu))
		rings->late++;
}

static int by_time(const void *a, const void *b)
{
	const struct pending *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static int by_offset(const void *a, const void *b)
{
	const struct pending *x = a, *y = b;

	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static const struct perf_event_header *record_at(const struct perf_rings *rings, size_t i)
{
	return (const struct perf_event_header *)(rings->bytes + rings->pending[i].offset);
}

static void count_lost(struct perf_rings *rings, const struct perf_event_header *record)
{
	uint64_t lost[2]; /* id, number */

	if (record->size < sizeof(*record) + sizeof(lost))
		return;
	memcpy(lost, record + 1, sizeof(lost));
	rings->lost += lost[1];
}

/* Moves records that were not handed out to the front, in the order of their places, so that nothing is
 * overwritten. */
static void keep_rest(struct perf_rings *rings, size_t done)
{
	size_t n = rings->n_pending - done, used = 0;
	struct pending *rest = rings->pending;

	if (n) {
		memmove(rest, rest + done, n * sizeof(*rest));
		qsort(rest, n, sizeof(*rest), by_offset);
	}
	for (size_t i = 0; i < n; i++) {
		const struct perf_event_header *record = record_at(rings, i);
		size_t size = record->size;

		memmove(rings->bytes + used, record, size);
		rest[i].offset = used;
		used += size;
	}
	rings->n_pending = n;
	rings->n_bytes = used;
}

uint64_t perf_rings_settled(const struct perf_rings *rings)
{
	return rings->settled_ns;
}

int perf_rings_read(struct perf_rings *rings, perf_record_fn record, void *ctx)
{
	uint64_t began_ns = monotonic_ns(), settled_ns = began_ns - PERF_RINGS_SETTLE_NS;
	size_t done;

	for (size_t i = 0; i < rings->n; i++)
		if (rings->rings[i].page)
			copy_ring(rings, &rings->rings[i]);
	if (rings->n_pending)
		qsort(rings->pending, rings->n_pending, sizeof(*rings->pending), by_time);
	for (done = 0; done < rings->n_pending && rings->pending[done].time_ns <= settled_ns &&
	               monotonic_ns() - began_ns < PERF_RINGS_PASS_NS;
	     done++) {
		const struct perf_event_header *header = record_at(rings, done);

		if (header->type == PERF_RECORD_LOST)
			count_lost(rings, header);
		record(ctx, header, rings->pending[done].time_ns);
	}
	rings->settled_ns = settled_ns;
	if (done < rings->n_pending && rings->pending[done].time_ns <= settled_ns)
		rings->settled_ns = rings->pending[done].time_ns - 1;
	keep_rest(rings, done);
	return (int)done;
}
