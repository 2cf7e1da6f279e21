/* Reads the rank from a process's environment, and caches it. */

#include "profiler/process/process_ranks.h"
#include "symbolizer/base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#define ENVIRONMENT_MAX (256 * 1024)
#define UNUSED_WINDOWS  2
/* A rank that was met between fork and exec has its launcher's environment, so it is read again: where the exec is
 * not told, by time. */
#define READS_EACH    3
#define READ_AFTER_NS 1000000000ULL

struct process_key {
	uint64_t start_ns;
	uint64_t pid;
};

struct known {
	struct process_key key;
	uint32_t rank;
	uint32_t unused; /* windows */
	unsigned int reads;
	uint64_t read_ns;
	bool has_pid;
	UT_hash_handle hh, by_pid;
};

struct process_ranks {
	struct known *known;
	struct known *by_pid; /* of those with the same pid the one that started last, which has it */
	uint64_t second;      /* of CLOCK_MONOTONIC; how many were read in it */
	unsigned int reads;
	char environment[ENVIRONMENT_MAX];
};

struct process_ranks *process_ranks_new(void)
{
	return calloc(1, sizeof(struct process_ranks));
}

static void drop(struct process_ranks *ranks, struct known *known)
{
	if (known->has_pid)
		HASH_DELETE(by_pid, ranks->by_pid, known);
	HASH_DEL(ranks->known, known);
	free(known);
}

void process_ranks_free(struct process_ranks *ranks)
{
	struct known *known, *next;

	if (!ranks)
		return;
	HASH_ITER (hh, ranks->known, known, next)
		drop(ranks, known);
	free(ranks);
}

/* Parses `text`, up to `end` or a NUL before that, as a decimal number; PROCESS_RANK_NONE for anything else. */
static uint32_t number_in(const char *text, const char *end)
{
	uint32_t number = 0;

	if (text == end || !*text)
		return PROCESS_RANK_NONE;
	for (; text < end && *text; text++) {
		if (*text < '0' || *text > '9')
			return PROCESS_RANK_NONE;
		number = number * 10 + (*text - '0');
		if (number > PROCESS_RANK_MAX)
			return PROCESS_RANK_NONE;
	}
	return number;
}

/* What names a rank, by torchrun, Open MPI, PMIx and MPICH. LOCAL_RANK tells ranks of one host apart alone, but where one launcher of MPI's
 * starts several, they all have its rank. Not SLURM_PROCID: each process of a batch script has it, whether it is one of several or not. */
static const char *const rank_names[] = { "RANK=", "LOCAL_RANK=", "OMPI_COMM_WORLD_RANK=", "PMIX_RANK=",
	                                  "PMI_RANK=" };
#define RANK_NAMES (sizeof(rank_names) / sizeof(rank_names[0]))

/* Which of the first `below` names the variable at `at` has; `below`: none. */
static size_t rank_name_at(const char *at, size_t left, size_t below)
{
	for (size_t i = 0; i < below; i++) {
		size_t length = strlen(rank_names[i]);

		if (left > length && !memcmp(at, rank_names[i], length))
			return i;
	}
	return below;
}

uint32_t process_rank_in(const char *environment, size_t size)
{
	const char *at = environment, *end = environment + size;
	uint32_t found = PROCESS_RANK_NONE, rank;
	size_t best = RANK_NAMES;

	while (at < end && best) {
		size_t left = end - at, name = rank_name_at(at, left, best);

		rank = name < best ? number_in(at + strlen(rank_names[name]), end) : PROCESS_RANK_NONE;
		if (rank != PROCESS_RANK_NONE) {
			found = rank;
			best = name;
		}
		at += strnlen(at, left) + 1;
	}
	return found;
}

/* Reads *rank from the process's environment. 0; -EAGAIN: enough were read in this second; -errno. */
static int read_rank(struct process_ranks *ranks, uint32_t pid, uint64_t now, uint32_t *rank)
{
	uint64_t second = now / 1000000000ULL;
	char path[64];
	size_t size = 0;
	ssize_t n;
	int fd;

	if (second != ranks->second)
		ranks->reads = 0;
	ranks->second = second;
	if (ranks->reads++ >= PROCESS_RANKS_READS)
		return -EAGAIN;
	snprintf(path, sizeof(path), "/proc/%u/environ", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	do {
		n = read(fd, ranks->environment + size, sizeof(ranks->environment) - size);
		size += n > 0 ? n : 0;
	} while (n > 0 && size < sizeof(ranks->environment));
	close(fd);
	*rank = process_rank_in(ranks->environment, size);
	return n < 0 ? -EIO : 0;
}

/* False without memory. */
static bool take_pid(struct process_ranks *ranks, struct known *known)
{
	struct known *before;

	HASH_FIND(by_pid, ranks->by_pid, &known->key.pid, sizeof(known->key.pid), before);
	if (before && before->key.start_ns > known->key.start_ns)
		return true;
	if (before) {
		HASH_DELETE(by_pid, ranks->by_pid, before);
		before->has_pid = false;
	}
	HASH_ADD(by_pid, ranks->by_pid, key.pid, sizeof(known->key.pid), known);
	known->has_pid = known->by_pid.tbl;
	return known->has_pid;
}

static struct known *add(struct process_ranks *ranks, const struct process_key *key)
{
	struct known *known = calloc(1, sizeof(*known));

	if (!known)
		return NULL;
	known->key = *key;
	known->rank = PROCESS_RANK_NONE;
	HASH_ADD(hh, ranks->known, key, sizeof(known->key), known);
	if (known->hh.tbl && take_pid(ranks, known))
		return known;
	if (known->hh.tbl)
		HASH_DEL(ranks->known, known);
	free(known);
	return NULL;
}

static void read_again(struct process_ranks *ranks, struct known *known, uint64_t now)
{
	int err = read_rank(ranks, known->key.pid, now, &known->rank);

	/* A process that is gone is not read again. */
	known->reads = err == -EAGAIN ? known->reads : err ? READS_EACH : known->reads + 1;
	known->read_ns = now;
}

uint32_t process_ranks_of(struct process_ranks *ranks, uint32_t pid, uint64_t start_ns)
{
	struct process_key key = { .start_ns = start_ns, .pid = pid };
	struct known *known;
	uint64_t now;

	if (!ranks)
		return PROCESS_RANK_NONE;
	HASH_FIND(hh, ranks->known, &key, sizeof(key), known);
	if (!known)
		known = add(ranks, &key);
	if (!known)
		return PROCESS_RANK_NONE;
	known->unused = 0;
	if (known->rank != PROCESS_RANK_NONE || known->reads == READS_EACH)
		return known->rank;
	now = monotonic_ns();
	if (known->reads && now - known->read_ns < READ_AFTER_NS)
		return PROCESS_RANK_NONE;
	read_again(ranks, known, now);
	return known->rank;
}

void process_ranks_exec(struct process_ranks *ranks, uint32_t pid)
{
	struct process_key key = { .pid = pid };
	struct known *known = NULL;
	uint32_t before;

	if (ranks)
		HASH_FIND(by_pid, ranks->by_pid, &key.pid, sizeof(key.pid), known);
	if (!known)
		return;
	before = known->rank;
	known->reads = 0;
	known->rank = PROCESS_RANK_NONE;
	read_again(ranks, known, monotonic_ns());
	if (known->reads == READS_EACH) /* it is gone */
		known->rank = before;
}

void process_ranks_age(struct process_ranks *ranks)
{
	struct known *known, *next;

	if (!ranks)
		return;
	HASH_ITER (hh, ranks->known, known, next) {
		if (known->unused++ >= UNUSED_WINDOWS)
			drop(ranks, known);
	}
}
