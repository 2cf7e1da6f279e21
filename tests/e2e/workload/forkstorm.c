/*
 * forkstorm: many short-lived processes.
 *
 *   forkstorm --dir DIR [--count N] [--parallel P] [--stalled-every K] [--exec-every K]
 *
 * N (10000) children, P (4) at a time. Each pushes a tag "forkstorm/child" with its number as id and exits;
 * every K-th (25) does one direct write of 4 KiB under it first, every K-th (50) executes /bin/true while it
 * holds it. Prints {"children", "stalled", "slept", "executed", "waited_ns", "failed"}; `slept` counts the writes in which the
 * scheduler counted a sleep: a fast disk is done before its caller gets to it.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stalltag/stalltag.h"
#include "tests/e2e/workload/stalled_write.h"

struct storm {
	const char *dir;
	unsigned long count, parallel, stalled_every, exec_every;
	struct stalled_write write;
	struct sums {
		uint64_t waited_ns, slept;
	} * sums; /* shared with the children */
};

static uint64_t sleeps(void)
{
	struct rusage usage;

	return getrusage(RUSAGE_SELF, &usage) ? 0 : (uint64_t)usage.ru_nvcsw;
}

static int write_and_count(struct storm *storm)
{
	uint64_t waited_ns = 0, before = sleeps();
	int err = stalled_write_once(&storm->write, &waited_ns);

	__atomic_fetch_add(&storm->sums->waited_ns, waited_ns, __ATOMIC_RELAXED);
	__atomic_fetch_add(&storm->sums->slept, sleeps() != before, __ATOMIC_RELAXED);
	return err;
}

static bool is_nth(unsigned long number, unsigned long every)
{
	return every && number % every == 0;
}

static void child(struct storm *storm, unsigned long number)
{
	int err = 0;

	stalltag_push(number, "forkstorm/child");
	if (is_nth(number, storm->stalled_every))
		err = write_and_count(storm);
	if (is_nth(number, storm->exec_every))
		execl("/bin/true", "true", (char *)NULL);
	_exit(err ? 1 : 0);
}

static unsigned long reap(void)
{
	int status;

	return wait(&status) > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : 1;
}

static unsigned long blow(struct storm *storm)
{
	unsigned long living = 0, failed = 0;

	for (unsigned long number = 1; number <= storm->count; number++) {
		pid_t pid = fork();

		if (pid == 0)
			child(storm, number);
		if (pid < 0)
			failed++;
		else
			living++;
		if (living >= storm->parallel) {
			failed += reap();
			living--;
		}
	}
	for (; living; living--)
		failed += reap();
	return failed;
}

static int run(struct storm *storm)
{
	unsigned long failed;
	int err = stalled_write_open(&storm->write, storm->dir, 4096);

	if (err) {
		fprintf(stderr, "forkstorm: %s: %s\n", storm->dir, strerror(-err));
		return 1;
	}
	storm->sums =
	        mmap(NULL, sizeof(*storm->sums), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (storm->sums == MAP_FAILED)
		return 1;
	failed = blow(storm);
	printf("{\"children\": %lu, \"stalled\": %lu, \"slept\": %" PRIu64
	       ", \"executed\": %lu, \"waited_ns\": %" PRIu64 ", \"failed\": %lu}\n",
	       storm->count, storm->stalled_every ? storm->count / storm->stalled_every : 0,
	       storm->sums->slept, storm->exec_every ? storm->count / storm->exec_every : 0,
	       storm->sums->waited_ns, failed);
	stalled_write_close(&storm->write);
	return failed ? 1 : 0;
}

int main(int argc, char **argv)
{
	static const struct option known[] = {
		{ "dir", required_argument, NULL, 'd' },
		{ "count", required_argument, NULL, 'n' },
		{ "parallel", required_argument, NULL, 'p' },
		{ "stalled-every", required_argument, NULL, 's' },
		{ "exec-every", required_argument, NULL, 'e' },
		{ NULL, 0, NULL, 0 },
	};
	struct storm storm = { .count = 10000, .parallel = 4, .stalled_every = 25, .exec_every = 50 };
	int found;

	while ((found = getopt_long(argc, argv, "", known, NULL)) != -1) {
		if (found == 'd')
			storm.dir = optarg;
		else if (found == 'n')
			storm.count = strtoul(optarg, NULL, 10);
		else if (found == 'p')
			storm.parallel = strtoul(optarg, NULL, 10);
		else if (found == 's')
			storm.stalled_every = strtoul(optarg, NULL, 10);
		else if (found == 'e')
			storm.exec_every = strtoul(optarg, NULL, 10);
		else
			return 2;
	}
	if (!storm.dir || !storm.parallel || optind != argc) {
		fprintf(stderr, "usage: forkstorm --dir DIR [--count N] [--parallel P] [--stalled-every K] "
		                "[--exec-every K]\n");
		return 2;
	}
	return run(&storm);
}
