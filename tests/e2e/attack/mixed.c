/*
 * mixed file=FILE [loop=DEVICE] [bad=DEVICE] requests=N threads=N kinds=LETTERS spin_ms=N: threads that issue requests in bursts of
 * the kinds named, under the tag "busy-K", until `requests` of them are done in all, wait until none of theirs is in flight, and then
 * use a CPU for spin_ms under the tag "spin-K".
 *   m  adjacent direct writes by one io_submit: they merge     r  random direct reads by one io_submit
 *   u  direct reads through io_uring, 16 at once               s  a direct read of 4 MiB, which is split
 *   b  plain buffered reads of dropped pages                   l  direct reads of the loop device
 *   f  direct reads of a device that fails                     x  a thread that ends with its reads in flight
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <liburing.h>
#include <linux/aio_abi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attack.h"

#define BLOCK       4096
#define BATCH       64
#define SPLIT_BYTES (4 << 20)
#define MOST        8

static const char *file, *loop, *bad, *kinds;
static off_t file_bytes;
static long wanted, spin;
static atomic_long done;

struct worker {
	int number, direct, buffered, loop, bad;
	aio_context_t aio;
	struct io_uring ring;
	char *buffer;
	uint64_t seed;
	char busy[16], spin[16];
	pthread_t thread;
};

static off_t random_at(struct worker *worker, size_t bytes)
{
	worker->seed ^= worker->seed << 13;
	worker->seed ^= worker->seed >> 7;
	worker->seed ^= worker->seed << 17;
	return (off_t)(worker->seed % ((uint64_t)file_bytes / bytes) * bytes);
}

static long aio_submit(struct worker *worker, int fd, int write, size_t count, int adjacent)
{
	struct iocb blocks[BATCH], *list[BATCH];
	off_t base = random_at(worker, BATCH * BLOCK);

	memset(blocks, 0, sizeof(blocks));
	for (size_t i = 0; i < count; i++) {
		blocks[i].aio_fildes = (unsigned int)fd;
		blocks[i].aio_lio_opcode = write ? IOCB_CMD_PWRITE : IOCB_CMD_PREAD;
		blocks[i].aio_buf = (uintptr_t)(worker->buffer + i * BLOCK);
		blocks[i].aio_nbytes = BLOCK;
		blocks[i].aio_offset = adjacent ? base + (off_t)i * BLOCK : random_at(worker, BLOCK);
		list[i] = &blocks[i];
	}
	return syscall(SYS_io_submit, worker->aio, (long)count, list);
}

static long aio_burst(struct worker *worker, int fd, int write, size_t count, int adjacent)
{
	struct io_event events[BATCH];
	long sent = aio_submit(worker, fd, write, count, adjacent), got = 0;

	must(sent > 0, "io_submit");
	while (got < sent) {
		long more = syscall(SYS_io_getevents, worker->aio, 1, sent - got, events, NULL);

		got += more > 0 ? more : 0;
	}
	return sent;
}

static long ring_burst(struct worker *worker)
{
	struct io_uring_cqe *cqe;

	for (int i = 0; i < 16; i++)
		io_uring_prep_read(io_uring_get_sqe(&worker->ring), worker->direct,
		                   worker->buffer + i * BLOCK, BLOCK, (uint64_t)random_at(worker, BLOCK));
	must(io_uring_submit(&worker->ring) == 16, "io_uring");
	for (int i = 0; i < 16; i++) {
		must(io_uring_wait_cqe(&worker->ring, &cqe) == 0, "io_uring");
		io_uring_cqe_seen(&worker->ring, cqe);
	}
	return 16;
}

static long buffered_burst(struct worker *worker)
{
	off_t at = random_at(worker, 1 << 20);

	posix_fadvise(worker->buffered, at, 1 << 20, POSIX_FADV_DONTNEED);
	must(pread(worker->buffered, worker->buffer, 1 << 20, at) == 1 << 20, "read");
	return 8;
}

static void *die_in_flight(void *arg)
{
	struct worker *worker = arg;

	must(aio_submit(worker, worker->direct, 0, BATCH, 0) > 0, "io_submit");
	return NULL;
}

static long orphan_burst(struct worker *worker)
{
	struct io_event events[BATCH];
	pthread_t thread;
	long got = 0;

	must(pthread_create(&thread, NULL, die_in_flight, worker) == 0, "thread");
	pthread_join(thread, NULL);
	while (got < BATCH) {
		long more = syscall(SYS_io_getevents, worker->aio, 1, BATCH - got, events, NULL);

		got += more > 0 ? more : 0;
	}
	return BATCH;
}

static long burst(struct worker *worker, char kind)
{
	switch (kind) {
	case 'm':
		return aio_burst(worker, worker->direct, 1, BATCH, 1);
	case 'r':
		return aio_burst(worker, worker->direct, 0, BATCH, 0);
	case 'u':
		return ring_burst(worker);
	case 's':
		must(pread(worker->direct, worker->buffer, SPLIT_BYTES, random_at(worker, SPLIT_BYTES)) ==
		             SPLIT_BYTES,
		     "read");
		return 16;
	case 'b':
		return buffered_burst(worker);
	case 'l':
		return worker->loop < 0 ? 0 : aio_burst(worker, worker->loop, 0, BATCH, 0);
	case 'f':
		return worker->bad < 0 ? 0 : aio_burst(worker, worker->bad, 0, 8, 1);
	case 'x':
		return orphan_burst(worker);
	}
	return 0;
}

static void *work(void *arg)
{
	struct worker *worker = arg;
	struct held_tag busy = { 0 }, idle = { 0 };

	tag_open(&busy, (uint64_t)worker->number + 1, worker->busy);
	for (size_t i = 0; done < wanted; i++)
		done += burst(worker, kinds[i % strlen(kinds)]);
	tag_close(&busy);
	tag_open(&idle, (uint64_t)worker->number + 101, worker->spin);
	spin_ms((unsigned int)spin);
	tag_close(&idle);
	return NULL;
}

static void worker_open(struct worker *worker, int number)
{
	worker->number = number;
	worker->seed = 88172645463325252ull + (uint64_t)number * 7919;
	worker->direct = open(file, O_RDWR | O_DIRECT);
	worker->buffered = open(file, O_RDONLY);
	posix_fadvise(worker->buffered, 0, 0,
	              POSIX_FADV_RANDOM); /* nothing is read ahead, behind the last read */
	worker->loop = loop ? open(loop, O_RDONLY | O_DIRECT) : -1;
	worker->bad = bad ? open(bad, O_RDONLY | O_DIRECT) : -1;
	must(worker->direct >= 0 && worker->buffered >= 0, file);
	must(syscall(SYS_io_setup, BATCH, &worker->aio) == 0, "io_setup");
	must(io_uring_queue_init(32, &worker->ring, 0) == 0, "io_uring");
	worker->buffer = aligned_buffer(SPLIT_BYTES);
	snprintf(worker->busy, sizeof(worker->busy), "busy-%d", number);
	snprintf(worker->spin, sizeof(worker->spin), "spin-%d", number);
}

int main(int argc, char **argv)
{
	static struct worker workers[MOST];
	long threads = argument(argc, argv, "threads", 1);

	file = argument_text(argc, argv, "file", "");
	loop = argument_text(argc, argv, "loop", NULL);
	bad = argument_text(argc, argv, "bad", NULL);
	kinds = argument_text(argc, argv, "kinds", "m");
	wanted = argument(argc, argv, "requests", 10000);
	spin = argument(argc, argv, "spin_ms", 2000);
	for (int i = 0; i < threads && i < MOST; i++)
		worker_open(&workers[i], i);
	file_bytes = lseek(workers[0].direct, 0, SEEK_END);
	for (int i = 0; i < threads && i < MOST; i++)
		must(pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0, "thread");
	for (int i = 0; i < threads && i < MOST; i++)
		pthread_join(workers[i].thread, NULL);
	printf("{\"requests\": %ld}\n", (long)done);
	return 0;
}
