/*
 * die_stalled: a thread that dies inside a stall. Run it in a cgroup with a write limit, so that one write
 * takes seconds.
 *
 *   die_stalled --dir DIR [--how kill|exit|exec] [--after SECONDS]
 *
 * A child process starts a thread, which pushes the tag "die_stalled/HOW" (id 4711) and writes 1 MiB
 * directly, again and again. After SECONDS (1.0)
 *   kill   the parent kills the child with SIGKILL
 *   exit   the child's main thread calls exit_group
 *   exec   the child's main thread executes /bin/true, which ends every other thread
 * Runs with real-time priority, so that the parent, who holds the clock, learns of the death at once also on a busy host.
 * Prints {"how", "pid", "tid", "waited_ns", "ended_ns"}: waited_ns is from the push until the child was reaped
 * or, for exec, its new image too; the thread's own end lies before that by less than the last write.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
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

#define WRITE_BYTES (1u << 20)

struct report { /* shared by parent and child */
	_Atomic pid_t tid;
	uint64_t began_ns;
	int err;
};

static struct report *report;
static const char *directory, *how = "kill";
static char tag[64];

static void *stall(void *arg)
{
	struct stalled_write *write = arg;

	stalltag_push(4711, tag);
	report->began_ns = monotonic_ns();
	report->tid = (pid_t)syscall(SYS_gettid);
	while (!report->err)
		report->err = stalled_write_once(write, NULL);
	return NULL;
}

static void child(double after)
{
	struct stalled_write write;
	pthread_t thread;

	report->err = stalled_write_open(&write, directory, WRITE_BYTES);
	if (report->err || pthread_create(&thread, NULL, stall, &write))
		_exit(1);
	if (!strcmp(how, "kill"))
		pthread_join(thread, NULL);
	usleep((useconds_t)(after * 1e6));
	if (!strcmp(how, "exec"))
		execl("/bin/true", "true", (char *)NULL);
	_exit(0);
}

static int run(double after)
{
	const struct sched_param priority = { .sched_priority = 10 };
	uint64_t ended_ns;
	int status;
	pid_t pid;

	if (sched_setscheduler(0, SCHED_FIFO, &priority)) {
		perror("die_stalled: SCHED_FIFO");
		return 1;
	}
	report = mmap(NULL, sizeof(*report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (report == MAP_FAILED)
		return 1;
	snprintf(tag, sizeof(tag), "die_stalled/%s", how);
	pid = fork();
	if (pid < 0)
		return 1;
	if (pid == 0)
		child(after);
	while (!report->tid && waitpid(pid, &status, WNOHANG) == 0)
		usleep(10000);
	if (!strcmp(how, "kill")) {
		usleep((useconds_t)(after * 1e6));
		kill(pid, SIGKILL);
	}
	waitpid(pid, &status, 0);
	ended_ns = monotonic_ns();
	if (report->err || !report->tid) {
		fprintf(stderr, "die_stalled: %s\n", strerror(-report->err));
		return 1;
	}
	printf("{\"how\": \"%s\", \"pid\": %d, \"tid\": %d, \"waited_ns\": %" PRIu64
	       ", \"ended_ns\": %" PRIu64 "}\n",
	       how, (int)pid, (int)report->tid, ended_ns - report->began_ns, ended_ns);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct option known[] = {
		{ "dir", required_argument, NULL, 'd' },
		{ "how", required_argument, NULL, 'h' },
		{ "after", required_argument, NULL, 'a' },
		{ NULL, 0, NULL, 0 },
	};
	double after = 1.0;
	int found;

	while ((found = getopt_long(argc, argv, "", known, NULL)) != -1) {
		if (found == 'd')
			directory = optarg;
		else if (found == 'h')
			how = optarg;
		else if (found == 'a')
			after = strtod(optarg, NULL);
		else
			return 2;
	}
	if (!directory || optind != argc ||
	    (strcmp(how, "kill") && strcmp(how, "exit") && strcmp(how, "exec"))) {
		fprintf(stderr, "usage: die_stalled --dir DIR [--how kill|exit|exec] [--after SECONDS]\n");
		return 2;
	}
	return run(after);
}
