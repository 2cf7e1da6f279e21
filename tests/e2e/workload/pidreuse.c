/*
 * pidreuse: processes that follow each other under one and the same pid, which takes root (clone3 with
 * set_tid).
 *
 *   pidreuse --dir DIR [--lives N]
 *
 * Each life pushes "pidreuse/life" with its number (from 1) as id, writes 64 KiB directly, and exits without
 * a pop; the odd ones write twice. Prints {"pid", "lives": [{"id", "wall_ns", "outer_ns", "waited_ns"}]}; outer_ns
 * is from before its fork until it was waited for. N is 20, at most 1000.
 */
#include <errno.h>
#include <inttypes.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stalltag/stalltag.h"
#include "tests/e2e/workload/clocks.h"
#include "tests/e2e/workload/stalled_write.h"

#define MOST_LIVES 1000

struct life {
	uint64_t wall_ns, outer_ns, waited_ns;
	int err;
};

/* A child with exactly this pid; 0 in the child, -errno if it could not be had. */
static pid_t fork_as(pid_t pid)
{
	struct clone_args args = { .exit_signal = SIGCHLD };
	long child;

	if (pid) {
		args.set_tid = (uint64_t)(uintptr_t)&pid;
		args.set_tid_size = 1;
	}
	child = syscall(SYS_clone3, &args, sizeof(args));
	return child < 0 ? -errno : (pid_t)child;
}

static void live(unsigned int id, const struct stalled_write *write, struct life *life)
{
	uint64_t began;

	stalltag_push(id, "pidreuse/life");
	began = monotonic_ns();
	life->err = stalled_write_once(write, &life->waited_ns);
	if (!life->err && id % 2)
		life->err = stalled_write_once(write, &life->waited_ns);
	life->wall_ns = monotonic_ns() - began;
	_exit(0);
}

static int run(const char *dir, unsigned int lives)
{
	struct life *all =
	        mmap(NULL, sizeof(*all) * lives, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct stalled_write write;
	pid_t pid = 0;
	int err = all == MAP_FAILED ? -ENOMEM : stalled_write_open(&write, dir, 65536);

	if (err)
		return err;
	for (unsigned int i = 0; !err && i < lives; i++) {
		uint64_t began = monotonic_ns();
		pid_t child = fork_as(pid);

		if (child == 0)
			live(i + 1, &write, &all[i]);
		if (child < 0)
			err = child;
		else
			waitpid(pid = child, NULL, 0);
		all[i].outer_ns = monotonic_ns() - began;
		err = err ? err : all[i].err;
	}
	printf("{\"pid\": %d, \"lives\": [", (int)pid);
	for (unsigned int i = 0; !err && i < lives; i++)
		printf("%s{\"id\": %u, \"wall_ns\": %" PRIu64 ", \"outer_ns\": %" PRIu64
		       ", \"waited_ns\": %" PRIu64 "}",
		       i ? ", " : "", i + 1, all[i].wall_ns, all[i].outer_ns, all[i].waited_ns);
	printf("]}\n");
	stalled_write_close(&write);
	return err;
}

int main(int argc, char **argv)
{
	const char *dir = argc > 2 && !strcmp(argv[1], "--dir") ? argv[2] : NULL;
	unsigned long lives = argc > 4 && !strcmp(argv[3], "--lives") ? strtoul(argv[4], NULL, 10) : 20;
	int err;

	if (!dir || !lives || lives > MOST_LIVES) {
		fprintf(stderr, "usage: pidreuse --dir DIR [--lives N]\n");
		return 2;
	}
	err = run(dir, (unsigned int)lives);
	if (err)
		fprintf(stderr, "pidreuse: %s\n", strerror(-err));
	return err ? 1 : 0;
}
