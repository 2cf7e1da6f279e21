/*
 * exec_mid: a thread that executes another image while it holds a tag. A tag of stalltag lives in the image
 * and ends with it; one given by `stallprof tag` belongs to the process and stays.
 *
 *   exec_mid --dir DIR [--seconds S]
 *
 * Writes directly for S seconds (1.0) under "exec_mid/before" (id 1), executes itself without popping, writes
 * as long without any tag of its own, then under "exec_mid/after" (id 2). Prints {"stage", "pid", "wall_ns",
 * "waited_ns"} for each of before, between, after, and how long it took to make its file: opened, reopened.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stalltag/stalltag.h"
#include "tests/e2e/workload/clocks.h"
#include "tests/e2e/workload/stalled_write.h"

static void tell(const char *name, uint64_t began, uint64_t waited_ns)
{
	printf("{\"stage\": \"%s\", \"pid\": %d, \"wall_ns\": %" PRIu64 ", \"waited_ns\": %" PRIu64 "}\n",
	       name, (int)getpid(), monotonic_ns() - began, waited_ns);
	fflush(stdout);
}

static int stage(const char *name, const struct stalled_write *write, double seconds)
{
	uint64_t began = monotonic_ns(), until = began + (uint64_t)(seconds * 1e9), waited_ns = 0;
	int err = 0;

	while (!err && monotonic_ns() < until)
		err = stalled_write_once(write, &waited_ns);
	tell(name, began, waited_ns);
	return err;
}

int main(int argc, char **argv)
{
	const char *dir = argc > 2 && !strcmp(argv[1], "--dir") ? argv[2] : NULL;
	double seconds = argc > 4 && !strcmp(argv[3], "--seconds") ? strtod(argv[4], NULL) : 1.0;
	struct stalled_write write;
	bool after = getenv("EXEC_MID_AFTER");
	uint64_t began = monotonic_ns();
	int err;

	if (!dir) {
		fprintf(stderr, "usage: exec_mid --dir DIR [--seconds S]\n");
		return 2;
	}
	err = stalled_write_open(&write, dir, 65536);
	tell(after ? "reopened" : "opened", began, 0);
	if (!err && !after) {
		stalltag_push(1, "exec_mid/before");
		err = stage("before", &write, seconds);
		setenv("EXEC_MID_AFTER", "1", 1);
		if (!err)
			execv("/proc/self/exe", argv);
	}
	if (!err)
		err = stage("between", &write, seconds);
	stalltag_push(2, "exec_mid/after");
	if (!err)
		err = stage("after", &write, seconds);
	stalltag_pop();
	if (err)
		fprintf(stderr, "exec_mid: %s\n", strerror(-err));
	stalled_write_close(&write);
	return err ? 1 : 0;
}
