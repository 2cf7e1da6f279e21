/* The kernel's side-band records: what is handed out, and what is counted as lost. Needs root. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "profiler/perf_rings.h"
#include "tests/unit/need_root.h"

#define FEW  100
#define MANY 20000 /* names, in a ring for some two thousand */

struct seen {
	uint64_t ours, last_ns;
	bool in_order;
};

struct comm_record {
	struct perf_event_header header;
	uint32_t pid, tid;
};

static void on_record(void *ctx, const struct perf_event_header *record, uint64_t time_ns)
{
	const struct comm_record *comm = (const void *)record;
	struct seen *seen = ctx;

	seen->in_order &= time_ns >= seen->last_ns;
	seen->last_ns = time_ns;
	seen->ours += record->type == PERF_RECORD_COMM && comm->tid == (uint32_t)getpid();
}

static struct perf_rings *begin(void)
{
	struct perf_rings *rings;
	cpu_set_t one;

	/* What a CPU's ring had no room for is told with the next record of that CPU. */
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	need_root(PRIVILEGE_PERF_EVENTS);
	rings = perf_rings_new();
	assert_non_null(rings);
	assert_int_equal(perf_rings_lost(rings), 0);
	assert_int_equal(perf_rings_cpus_not_covered(rings), 0);
	return rings;
}

/* Each is a record. */
static void take_names(unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		assert_int_equal(prctl(PR_SET_NAME, i % 2 ? "test_perf_rings" : "rings"), 0);
}

static void read_all(struct perf_rings *rings, struct seen *seen)
{
	int n;

	do {
		usleep(2 * PERF_RINGS_SETTLE_NS / 1000);
		n = perf_rings_read(rings, on_record, seen);
	} while (n > 0);
	assert_int_equal(n, 0);
}

static void test_perf_rings__all_are_handed_out(void **state)
{
	struct perf_rings *rings = begin();
	struct seen seen = { .in_order = true };

	(void)state;
	take_names(FEW);
	read_all(rings, &seen);
	assert_int_equal(seen.ours, FEW);
	assert_true(seen.in_order);
	assert_int_equal(perf_rings_lost(rings), 0);
	perf_rings_free(rings);
}

/* The kernel tells how many it dropped when there is room again: of ours none is missing in the sum. */
static void test_perf_rings__lost_are_counted(void **state)
{
	struct perf_rings *rings = begin();
	struct seen seen = { .in_order = true };

	(void)state;
	take_names(MANY);
	read_all(rings, &seen);
	take_names(FEW);
	read_all(rings, &seen);
	assert_in_range(seen.ours, FEW + 1, MANY);
	assert_true(seen.ours + perf_rings_lost(rings) >= MANY + FEW);
	assert_true(perf_rings_lost(rings) < 2 * MANY);
	perf_rings_free(rings);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_perf_rings__all_are_handed_out),
		cmocka_unit_test(test_perf_rings__lost_are_counted),
	};

	return cmocka_run_group_tests_name("perf_rings", tests, NULL, NULL);
}
