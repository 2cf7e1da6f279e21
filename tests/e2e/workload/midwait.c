/*
 * midwait: a thread that waits before the profiler starts and maybe still when it ends. Run it in a cgroup
 * with a write limit.
 *
 *   midwait --dir DIR
 *
 * Pushes "midwait/write" (id 7), says {"pid", "began_ns"} and writes 1 MiB directly, in one call;
 * then says {"waited_ns", "ended_ns"}. Times are CLOCK_MONOTONIC.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stalltag/stalltag.h"
#include "tests/e2e/workload/clocks.h"
#include "tests/e2e/workload/stalled_write.h"

int main(int argc, char **argv)
{
	const char *dir = argc > 2 && !strcmp(argv[1], "--dir") ? argv[2] : NULL;
	struct stalled_write write;
	uint64_t waited_ns = 0;
	int err;

	if (!dir) {
		fprintf(stderr, "usage: midwait --dir DIR\n");
		return 2;
	}
	err = stalled_write_open(&write, dir, 1u << 20);
	if (err) {
		fprintf(stderr, "midwait: %s\n", strerror(-err));
		return 1;
	}
	stalltag_push(7, "midwait/write");
	printf("{\"pid\": %d, \"began_ns\": %" PRIu64 "}\n", (int)getpid(), monotonic_ns());
	fflush(stdout);
	err = stalled_write_once(&write, &waited_ns);
	stalltag_pop();
	printf("{\"waited_ns\": %" PRIu64 ", \"ended_ns\": %" PRIu64 "}\n", waited_ns, monotonic_ns());
	stalled_write_close(&write);
	return err ? 1 : 0;
}
