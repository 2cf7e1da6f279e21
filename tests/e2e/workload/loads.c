/* The kinds of work that `truth` can do: direct I/O, fsync, page faults, io_uring, CPU. */

#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/e2e/workload/coldfile.h"
#include "tests/e2e/workload/loads.h"

#define FILE_BYTES    (32u << 20)
#define DIRECT_BYTES  (64u << 10)
#define FSYNC_BYTES   (128u << 10)
#define FAULTS_A_STEP 8
#define RING_DEPTH    4
#define SPINS_A_STEP  100000

struct load_state {
	int fd;
	char *buffer;
	char *map;
	size_t at; /* where the next call reads or writes */
	uint64_t random;
	struct io_uring ring;
	bool has_ring;
	uint64_t sink; /* keeps the compiler from dropping the work */
};

static void state_close(struct load_state *state)
{
	if (!state)
		return;
	if (state->has_ring)
		io_uring_queue_exit(&state->ring);
	if (state->map)
		munmap(state->map, FILE_BYTES);
	if (state->fd >= 0)
		close(state->fd);
	free(state->buffer);
	free(state);
}

/* A load with a file of its own (flags < 0: none) and a buffer of `bytes`. */
static int state_open(struct load_state **state, const char *dir, const char *name, int flags, size_t bytes)
{
	struct load_state *made = calloc(1, sizeof(*made));
	int err = 0;

	if (!made)
		return -ENOMEM;
	made->random = 0x9e3779b97f4a7c15ull;
	made->fd = flags < 0 ? -1 : coldfile_make(dir, name, FILE_BYTES, flags);
	if (flags >= 0 && made->fd < 0)
		err = made->fd;
	if (!err && bytes) {
		made->buffer = coldfile_buffer(bytes);
		err = made->buffer ? 0 : -ENOMEM;
	}
	if (err) {
		state_close(made);
		made = NULL;
	}
	*state = made;
	return err;
}

/* Moves only the calling thread (cgroup v1 knows threads one by one). */
static int cgroup_join(const char *cgroup)
{
	char path[4096], text[24];
	int fd, len, err = 0;

	snprintf(path, sizeof(path), "%s/tasks", cgroup);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	len = snprintf(text, sizeof(text), "%d", (int)syscall(SYS_gettid));
	if (write(fd, text, (size_t)len) != len)
		err = -errno;
	close(fd);
	return err;
}

static int direct_open(struct load_state **state, const char *dir, const char *throttle_cgroup)
{
	int err = state_open(state, dir, "truth-direct", O_DIRECT, DIRECT_BYTES);

	return !err && throttle_cgroup ? cgroup_join(throttle_cgroup) : err;
}

static size_t next_block(struct load_state *state, size_t bytes)
{
	size_t at = state->at;

	state->at = (at + bytes) % FILE_BYTES;
	return at;
}

static int direct_step(struct load_state *state, struct account *account)
{
	off_t at = (off_t)next_block(state, DIRECT_BYTES);
	ssize_t put;

	account_call_begin(account);
	put = pwrite(state->fd, state->buffer, DIRECT_BYTES, at);
	account_call_end(account);
	account->sum.bytes += put > 0 ? (uint64_t)put : 0;
	return put == DIRECT_BYTES ? 0 : -EIO;
}

static int fsync_open(struct load_state **state, const char *dir, const char *throttle_cgroup)
{
	(void)throttle_cgroup;
	return state_open(state, dir, "truth-fsync", 0, FSYNC_BYTES);
}

static int fsync_step(struct load_state *state, struct account *account)
{
	off_t at = (off_t)next_block(state, FSYNC_BYTES);
	ssize_t put;
	int err;

	account_call_begin(account);
	put = pwrite(state->fd, state->buffer, FSYNC_BYTES, at);
	account_call_end(account);
	account_call_begin(account);
	err = fsync(state->fd);
	account_call_end(account);
	account->sum.bytes += put > 0 ? (uint64_t)put : 0;
	return put == FSYNC_BYTES && !err ? 0 : -EIO;
}

static int fault_open(struct load_state **state, const char *dir, const char *throttle_cgroup)
{
	int err = state_open(state, dir, "truth-fault", 0, 0);
	void *map;

	(void)throttle_cgroup;
	if (err)
		return err;
	map = mmap(NULL, FILE_BYTES, PROT_READ, MAP_SHARED, (*state)->fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	(*state)->map = map;
	/* No readahead, no faulting around: every page is a read of its own. */
	return madvise(map, FILE_BYTES, MADV_RANDOM) ? -errno : 0;
}

/* A new pass over the file begins: unmaps the pages and drops them, and counts what stayed. */
static int fault_chill(struct load_state *state, struct account *account)
{
	ssize_t warm;

	if (madvise(state->map, FILE_BYTES, MADV_DONTNEED) || coldfile_drop(state->fd, FILE_BYTES))
		return -EIO;
	warm = coldfile_resident(state->map, FILE_BYTES);
	if (warm < 0)
		return (int)warm;
	account->sum.warm_pages += (uint64_t)warm;
	return 0;
}

static int fault_step(struct load_state *state, struct account *account)
{
	int err = state->at == 0 ? fault_chill(state, account) : 0;

	for (int i = 0; !err && i < FAULTS_A_STEP; i++) {
		volatile char *page = state->map + next_block(state, COLD_BLOCK);

		account_call_begin(account);
		state->sink += (uint64_t)*page;
		account_call_end(account);
		account->sum.bytes += COLD_BLOCK;
	}
	return err;
}

static int uring_open(struct load_state **state, const char *dir, const char *throttle_cgroup)
{
	int err = state_open(state, dir, "truth-uring", O_DIRECT, (size_t)RING_DEPTH * COLD_BLOCK);

	(void)throttle_cgroup;
	if (err)
		return err;
	err = io_uring_queue_init(RING_DEPTH, &(*state)->ring, 0);
	(*state)->has_ring = !err;
	return err;
}

static int uring_reap(struct load_state *state, struct account *account)
{
	struct io_uring_cqe *cqe;
	int err = 0;

	for (int i = 0; i < RING_DEPTH; i++) {
		if (io_uring_wait_cqe(&state->ring, &cqe))
			return -EIO;
		if (cqe->res == (int)COLD_BLOCK)
			account->sum.bytes += COLD_BLOCK;
		else
			err = -EIO;
		io_uring_cqe_seen(&state->ring, cqe);
	}
	return err;
}

static int uring_step(struct load_state *state, struct account *account)
{
	int put;

	for (unsigned int i = 0; i < RING_DEPTH; i++) {
		struct io_uring_sqe *sqe = io_uring_get_sqe(&state->ring);
		uint64_t block = coldfile_random(&state->random) % (FILE_BYTES / COLD_BLOCK);

		if (!sqe)
			return -EBUSY;
		io_uring_prep_read(sqe, state->fd, state->buffer + i * COLD_BLOCK, COLD_BLOCK,
		                   block * COLD_BLOCK);
	}
	account_call_begin(account);
	put = io_uring_submit_and_wait(&state->ring, RING_DEPTH);
	account_call_end(account);
	return put == RING_DEPTH ? uring_reap(state, account) : -EIO;
}

static int cpu_open(struct load_state **state, const char *dir, const char *throttle_cgroup)
{
	(void)throttle_cgroup;
	return state_open(state, dir, "", -1, 0);
}

static int cpu_step(struct load_state *state, struct account *account)
{
	for (int i = 0; i < SPINS_A_STEP; i++)
		state->sink += coldfile_random(&state->random);
	account_look(account);
	return 0;
}

const struct load LOADS[] = {
	{ "direct", "direct_write", direct_open, direct_step, state_close },
	{ "fsync", "fsync_write", fsync_open, fsync_step, state_close },
	{ "fault", "fault_read", fault_open, fault_step, state_close },
	{ "uring", "uring_read", uring_open, uring_step, state_close },
	{ "cpu", "cpu_loop", cpu_open, cpu_step, state_close },
};

const size_t LOADS_COUNT = sizeof(LOADS) / sizeof(LOADS[0]);
