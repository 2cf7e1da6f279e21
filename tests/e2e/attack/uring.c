/*
 * uring mode=sqpoll|reads|fsync|timeouts|recv|mixed file=FILE count=N [delay_ms=N]: after that delay, when somebody listens, one thread and a ring. The tag is pushed before the ring is
 * made, so that the ring's helper threads inherit all that the thread has.
 *   sqpoll    direct reads submitted by the ring's own thread
 *   reads     buffered cold reads through io-wq (IOSQE_ASYNC)
 *   fsync     a write and an fsync, through io-wq, of a file that grows
 *   timeouts  nothing but timeouts of 5 ms
 *   recv      receives on a socket whose other end sends every 5 ms
 *   mixed     a timeout of 20 ms and, in the same ring, a direct read now and then, of which a line says when it was
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <liburing.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "attack.h"

#define BLOCK 4096

static struct io_uring ring;
static char *buffer;
static uint64_t seed = 88172645463325252ull;

static uint64_t random_block(off_t bytes)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % (uint64_t)(bytes / BLOCK) * BLOCK;
}

static int wait_one(void)
{
	struct io_uring_cqe *cqe;
	int err, result;

	err = io_uring_wait_cqe(&ring, &cqe);
	if (err) {
		errno = -err;
		must(0, "io_uring_wait_cqe");
	}
	result = cqe->res;
	io_uring_cqe_seen(&ring, cqe);
	return result;
}

static void read_step(int fd, off_t bytes, unsigned int flags)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);

	io_uring_prep_read(sqe, fd, buffer, BLOCK, random_block(bytes));
	sqe->flags |= flags;
	must(io_uring_submit(&ring) >= 0, "submit");
	errno = EIO;
	must(wait_one() == BLOCK, "read");
}

/* Says when it was, so that its waits can be told from others. */
static void told_read_step(int fd, off_t bytes)
{
	uint64_t begin_ns = monotonic_ns();

	read_step(fd, bytes, 0);
	printf("{\"read_begin_ns\": %" PRIu64 ", \"read_end_ns\": %" PRIu64 "}\n", begin_ns, monotonic_ns());
}

static void fsync_step(int fd, long i)
{
	struct io_uring_sqe *sqe;

	must(pwrite(fd, buffer, BLOCK, i * BLOCK) == BLOCK, "write");
	sqe = io_uring_get_sqe(&ring);
	io_uring_prep_fsync(sqe, fd, 0);
	must(io_uring_submit(&ring) == 1, "submit");
	must(wait_one() == 0, "fsync");
}

static void timeout_step(unsigned int ms)
{
	struct __kernel_timespec pause = { .tv_nsec = ms * 1000000ll };
	struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);

	io_uring_prep_timeout(sqe, &pause, 0, 0);
	must(io_uring_submit(&ring) == 1, "submit");
	wait_one();
}

static void *sender(void *arg)
{
	int *pair = arg;

	while (send(pair[1], "x", 1, MSG_NOSIGNAL) == 1)
		sleep_ms(5);
	return NULL;
}

static void recv_steps(long count)
{
	pthread_t thread;
	int pair[2];

	must(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0, "socketpair");
	must(pthread_create(&thread, NULL, sender, pair) == 0, "thread");
	for (long i = 0; i < count; i++) {
		struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);

		io_uring_prep_recv(sqe, pair[0], buffer, 1, 0);
		must(io_uring_submit(&ring) == 1, "submit");
		must(wait_one() == 1, "recv");
	}
	close(pair[0]);
	pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
	const char *mode = argument_text(argc, argv, "mode", "reads"),
	           *file = argument_text(argc, argv, "file", NULL);
	long count = argument(argc, argv, "count", 1000), delay_ms = argument(argc, argv, "delay_ms", 0);
	struct io_uring_params params = { .sq_thread_idle = 2000 };
	struct held_tag tag = { 0 };
	int fd = -1, direct = strcmp(mode, "reads") && strcmp(mode, "fsync") ? O_DIRECT : 0;
	off_t bytes = 0;

	buffer = aligned_buffer(BLOCK);
	if (file) {
		fd = open(file, O_RDWR | O_CREAT | direct, 0644);
		must(fd >= 0, file);
		bytes = lseek(fd, 0, SEEK_END);
		posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
	}
	if (delay_ms) {
		wait_until_heard();
		sleep_ms((unsigned int)delay_ms);
	}
	tag_open(&tag, 7, mode);
	params.flags = strcmp(mode, "sqpoll") ? 0 : IORING_SETUP_SQPOLL;
	must(io_uring_queue_init_params(32, &ring, &params) == 0, "io_uring");
	for (long i = 0; i < count && strcmp(mode, "recv"); i++) {
		if (!strcmp(mode, "fsync"))
			fsync_step(fd, i);
		else if (!strcmp(mode, "timeouts"))
			timeout_step(5);
		else if (!strcmp(mode, "mixed") && i % 10)
			timeout_step(20);
		else if (!strcmp(mode, "mixed"))
			told_read_step(fd, bytes);
		else
			read_step(fd, bytes, strcmp(mode, "reads") ? 0 : IOSQE_ASYNC);
	}
	if (!strcmp(mode, "recv"))
		recv_steps(count);
	io_uring_queue_exit(&ring);
	tag_close(&tag);
	return 0;
}
