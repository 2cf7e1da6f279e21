/*
 * Tests of perf_rings.h: which records are handed out, in which order, and which are counted as lost. Real ones need
 * root. Floods agents: of so many records of mappings they would say that they lost some.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "symbolizer/base/clock.h"
#include "profiler/process/perf_rings.h"
#include "tests/unit/need_root.h"

#define FEW  100
#define MANY 20000 /* names, in a ring for some two thousand */

struct seen {
	uint64_t all, ours, last_ns, our_last_ns;
	uint64_t unordered;
	bool ours_in_order;
};

struct comm_record {
	struct perf_event_header header;
	uint32_t pid, tid;
};

static void on_record(void *ctx, const struct perf_event_header *record, uint64_t time_ns)
{
	const struct comm_record *comm = (const void *)record;
	struct seen *seen = ctx;

	bool is_ours = record->type == PERF_RECORD_COMM && comm->tid == (uint32_t)getpid();

	seen->all++;
	seen->unordered += time_ns < seen->last_ns;
	seen->last_ns = time_ns;
	if (!is_ours)
		return;
	seen->ours++;
	seen->ours_in_order &= time_ns >= seen->our_last_ns;
	seen->our_last_ns = time_ns;
}

/* A record's time is taken before it is in its ring: on a busy host that may be long before, for another CPU's now and then. */
static bool in_order(const struct seen *seen)
{
	return seen->ours_in_order && seen->unordered * 50 <= seen->all;
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
	struct seen seen = { .ours_in_order = true };

	(void)state;
	take_names(FEW);
	read_all(rings, &seen);
	assert_int_equal(seen.ours, FEW);
	assert_true(in_order(&seen));
	assert_int_equal(perf_rings_lost(rings), 0);
	perf_rings_free(rings);
}

/* The kernel tells how many it dropped when there is room again: of ours none is missing in the sum. */
static void test_perf_rings__lost_are_counted(void **state)
{
	struct perf_rings *rings = begin();
	struct seen seen = { .ours_in_order = true };

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

/* Its ring is replaced: what was in the old one and what comes into the new one, each once and in order. */
static void test_perf_rings__a_cpu_comes_back(void **state)
{
	struct perf_rings *rings = begin();
	struct seen seen = { .ours_in_order = true };
	unsigned int cpu = (unsigned int)sched_getcpu();

	(void)state;
	for (int i = 0; i < 3; i++) {
		take_names(FEW);
		perf_rings_cpu(rings, cpu, true);
		take_names(FEW);
		read_all(rings, &seen);
		assert_int_equal(seen.ours, 2 * FEW * (i + 1));
	}
	assert_true(in_order(&seen));
	assert_int_equal(perf_rings_late(rings), 3);
	assert_int_equal(perf_rings_lost(rings), 0);
	assert_int_equal(perf_rings_cpus_not_covered(rings), 0);
	/* a burst in the new ring is noticed by the same descriptor */
	take_names(MANY);
	assert_int_equal(poll(&(struct pollfd){ .fd = perf_rings_fd(rings), .events = POLLIN }, 1, 0), 1);
	perf_rings_cpu(rings, cpu, false);
	assert_int_equal(perf_rings_cpus_not_covered(rings), 1); /* as it is online */
	perf_rings_cpu(rings, cpu, true);
	assert_int_equal(perf_rings_cpus_not_covered(rings), 0);
	perf_rings_cpu(rings, 1u << 20, true);
	perf_rings_free(rings);
}

/* --- rings that the test fills ----------------------------------------------------------------------- */

#define RINGS 2

/* A record with a number in place of what it would tell. */
struct made_record {
	struct perf_event_header header;
	uint64_t number, more[4], time_ns;
};

static struct perf_event_mmap_page *pages[RINGS];
static uint64_t numbers[64];
static size_t n_numbers;

static void on_made(void *ctx, const struct perf_event_header *record, uint64_t time_ns)
{
	const struct made_record *made = (const void *)record;

	(void)ctx;
	assert_int_equal(record->size, sizeof(*made));
	assert_int_equal(made->time_ns, time_ns);
	for (int i = 0; i < 4; i++)
		assert_int_equal(made->more[i], made->number + (uint64_t)i);
	assert_true(n_numbers < 64);
	numbers[n_numbers++] = made->number;
}

static struct perf_rings *make_rings(uint64_t begin)
{
	size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);

	for (int i = 0; i < RINGS; i++) {
		pages[i] = mmap(NULL, page_bytes + PERF_RINGS_BYTES, PROT_READ | PROT_WRITE,
		                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		assert_true(pages[i] != MAP_FAILED);
		pages[i]->data_head = pages[i]->data_tail = begin;
	}
	n_numbers = 0;
	return perf_rings_over((void *const *)pages, RINGS);
}

static void put(int ring, uint64_t number, uint64_t time_ns)
{
	struct made_record made = { .header = { .type = PERF_RECORD_COMM, .size = sizeof(made) },
		                    .number = number,
		                    .more = { number, number + 1, number + 2, number + 3 },
		                    .time_ns = time_ns };
	char *data = (char *)pages[ring] + sysconf(_SC_PAGESIZE);

	for (size_t i = 0; i < sizeof(made); i++)
		data[(pages[ring]->data_head + i) % PERF_RINGS_BYTES] = ((const char *)&made)[i];
	pages[ring]->data_head += sizeof(made);
}

static void assert_numbers(const uint64_t *want, size_t n)
{
	assert_int_equal(n_numbers, n);
	assert_memory_equal(numbers, want, n * sizeof(*want));
}

/* Of all rings by time; records of one time in the order of their ring. */
static void test_perf_rings__in_order_of_time(void **state)
{
	static const uint64_t want[] = { 3, 1, 2, 4, 5 };
	uint64_t now = monotonic_ns() - 10 * PERF_RINGS_SETTLE_NS;
	struct perf_rings *rings = make_rings(0);

	(void)state;
	put(0, 1, now + 10);
	put(0, 2, now + 10);
	put(0, 5, now + 30);
	put(1, 3, now);
	put(1, 4, now + 20);
	assert_int_equal(perf_rings_read(rings, on_made, NULL), 5);
	assert_numbers(want, 5);
	assert_int_equal(pages[0]->data_tail, pages[0]->data_head);
	assert_int_equal(perf_rings_read(rings, on_made, NULL), 0);
	assert_int_equal(perf_rings_lost(rings), 0);
	perf_rings_free(rings);
}

/* Wherever the end of the ring cuts a record, also through its middle. */
static void test_perf_rings__around_the_end(void **state)
{
	(void)state;
	for (size_t before = 0; before <= 2 * sizeof(struct made_record); before += 8) {
		static const uint64_t want[] = { 100, 200, 300 };
		uint64_t now = monotonic_ns() - 10 * PERF_RINGS_SETTLE_NS;
		struct perf_rings *rings = make_rings(7 * PERF_RINGS_BYTES - before);

		put(0, 100, now);
		put(0, 200, now);
		put(0, 300, now);
		assert_int_equal(perf_rings_read(rings, on_made, NULL), 3);
		assert_numbers(want, 3);
		perf_rings_free(rings);
	}
}

/* Another CPU may have recorded before it, and not be seen yet: it waits for a later pass, with what it says. */
static void test_perf_rings__what_is_young_waits(void **state)
{
	static const uint64_t want[] = { 1, 4, 3, 2 };
	uint64_t now = monotonic_ns(), late = now + 200 * PERF_RINGS_SETTLE_NS;
	struct perf_rings *rings = make_rings(0);

	(void)state;
	put(0, 1, now - 10 * PERF_RINGS_SETTLE_NS);
	put(0, 2, late);
	put(0, 3, late - 5);
	assert_int_equal(perf_rings_read(rings, on_made, NULL), 1);
	put(1, 4, late - 10);
	while (n_numbers < 4)
		perf_rings_read(rings, on_made, NULL);
	assert_numbers(want, 4);
	perf_rings_free(rings);
}

static void test_perf_rings__broken_records_are_counted(void **state)
{
	uint64_t now = monotonic_ns() - 10 * PERF_RINGS_SETTLE_NS;
	struct perf_rings *rings = make_rings(0);

	(void)state;
	put(0, 1, now);
	put(0, 2, now);
	((struct perf_event_header *)((char *)pages[0] + sysconf(_SC_PAGESIZE) + sizeof(struct made_record)))
	        ->size = 3;
	assert_int_equal(perf_rings_read(rings, on_made, NULL), 1);
	assert_in_range(perf_rings_lost(rings), 1, sizeof(struct made_record) / 16 + 1);
	put(0, 5, now);
	assert_int_equal(perf_rings_read(rings, on_made, NULL), 1);
	perf_rings_free(rings);
}

/* What it holds is handed out later, in order with what other rings have got since. */
static void test_perf_rings__a_cpu_goes(void **state)
{
	static const uint64_t want[] = { 1, 2, 3, 4 };
	uint64_t now = monotonic_ns() - 10 * PERF_RINGS_SETTLE_NS;
	struct perf_rings *rings = make_rings(0);

	(void)state;
	put(0, 1, now);
	put(0, 3, now + 20);
	perf_rings_cpu(rings, 0, false);
	perf_rings_cpu(rings, 0, false);
	put(1, 2, now + 10);
	put(1, 4, now + 30);
	assert_int_equal(perf_rings_read(rings, on_made, NULL), 4);
	assert_numbers(want, 4);
	assert_int_equal(perf_rings_lost(rings), 0);
	assert_int_equal(perf_rings_late(rings), 0);
	assert_int_equal(perf_rings_cpus_not_covered(rings), sysconf(_SC_NPROCESSORS_ONLN) - 1);
	perf_rings_free(rings);
}

/* There is room for what two rings hold, a ring. */
static void test_perf_rings__a_cpu_goes_with_what_has_no_room(void **state)
{
	uint64_t late = monotonic_ns() + 3600 * UINT64_C(1000000000);
	unsigned int each = PERF_RINGS_BYTES / sizeof(struct made_record), n = 0;
	struct perf_rings *rings = make_rings(0);

	(void)state;
	for (int times = 0; times < 5; times++) {
		for (unsigned int i = 0; i < each; i++)
			put(0, n++, late);
		assert_int_equal(perf_rings_read(rings, on_made, NULL), 0);
		if (pages[0]->data_tail != pages[0]->data_head)
			break;
	}
	assert_int_equal(n, 5 * each);
	assert_int_equal(perf_rings_lost(rings), 0);
	perf_rings_cpu(rings, 0, false);
	assert_in_range(perf_rings_lost(rings), each, each * sizeof(struct made_record) / 16);
	perf_rings_free(rings);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_perf_rings__all_are_handed_out),
		cmocka_unit_test(test_perf_rings__lost_are_counted),
		cmocka_unit_test(test_perf_rings__in_order_of_time),
		cmocka_unit_test(test_perf_rings__around_the_end),
		cmocka_unit_test(test_perf_rings__what_is_young_waits),
		cmocka_unit_test(test_perf_rings__broken_records_are_counted),
		cmocka_unit_test(test_perf_rings__a_cpu_comes_back),
		cmocka_unit_test(test_perf_rings__a_cpu_goes),
		cmocka_unit_test(test_perf_rings__a_cpu_goes_with_what_has_no_room),
	};

	return cmocka_run_group_tests_name("perf_rings", tests, NULL, NULL);
}
