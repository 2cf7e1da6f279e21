/* Tests of bpf/log.bpf.h, built for this machine: what a thread's log of its changes of tag comes to. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdbool.h>
#include <string.h>

#include "bpf/abi.h"

/* --- what other headers have for the kernel ------------------------------------------------------------------------ */

typedef uint64_t u64;
typedef int64_t s64;
typedef uint32_t u32;

#define STALLPROF_CONTEXT_BPF_H
#define ALWAYS              static inline __attribute__((unused))
#define COUNT(name)         (counted++)
#define COUNT_BY(name, by)  (counted += (by))
#define user_read(to, n, p) (memcpy(to, p, n), 0)
#define barrier_var(x)      ((void)(x))
#define barrier()           ((void)0)
#define LOOP_OF(name, type)                                                                                  \
	ALWAYS void name##_loop(u32 n, type *c)                                                              \
	{                                                                                                    \
		for (u32 i = 0; i < n && !name(i, c); i++)                                                   \
			;                                                                                    \
	}

#define SECOND 1000000000ULL
#define ROWS   4

static u64 counted, now_ns;
static struct {
	u64 ns, n;
} charged[ROWS], split_off[ROWS];

struct task_struct {
	int unused;
};

struct split {
	u64 change;
};

/* As far as the header looks at it. */
struct thread {
	u64 in_ns, log_at, log_clock, base_tag;
};

static u64 since(u64 now, u64 then)
{
	return now > then ? now - then : 0;
}

static u64 at_most(u64 a, u64 b)
{
	return a < b ? a : b;
}

static u64 cut_to(u64 value, u64 max)
{
	return at_most(value, max);
}

static u32 bits_set(u64 x)
{
	return (u32)__builtin_popcountll(x);
}

static u64 word_begin(u64 word)
{
	return word >> 2;
}

static u64 bpf_ktime_get_ns(void)
{
	return now_ns;
}

/* A tag's key is its id. */
static u64 tag_intern(const struct abi_tag *tag)
{
	return tag->id;
}

static void ledger_charge_any(struct thread *t, u64 tag, u32 state, u64 ns, u64 n)
{
	(void)t;
	assert_int_equal(state, ABI_ONCPU);
	charged[tag].ns += ns;
	charged[tag].n += n;
}

static void splits_note(struct thread *t, u64 tag, u64 ns)
{
	(void)t;
	split_off[tag].ns += ns;
}

/* What clang builds for BPF: it unrolls, and rounds of a loop have a number that some do not look at. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunknown-pragmas"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include "bpf/log.bpf.h"
#pragma GCC diagnostic pop

/* --- a thread with a log --------------------------------------------------------------------------------------------- */

static struct {
	struct abi_log_head head;
	u64 entries[ABI_LOG_ENTRIES];
	struct abi_log_row rows[ABI_LOG_ROWS];
} memory;

static struct thread thread;
static struct tag_log known;

/* The library's clock is the kernel's, in units of a nanosecond; rows 1 to 3 are tags with these keys. */
static int begin(void **state)
{
	(void)state;
	memset(&memory, 0, sizeof(memory));
	memset(&known, 0, sizeof(known));
	memset(charged, 0, sizeof(charged));
	memset(split_off, 0, sizeof(split_off));
	counted = 0;
	memory.head.clocks[0].rate = 1 << ABI_LOG_RATE_BITS;
	for (u32 row = 1; row < ROWS; row++) {
		memory.rows[row].id = row;
		memory.head.made[row] = 1;
	}
	thread = (struct thread){ .log_at = (u64)(uintptr_t)&memory };
	return 0;
}

/* The thread changed its tag to that of `row`, then. */
static void change(u64 at_ns, u32 row)
{
	memory.entries[memory.head.state.head++ % ABI_LOG_ENTRIES] = at_ns << 6 | row;
}

/* Reads the log in a turn on a CPU that began at in_ns, of a cycle that began at cycle_ns; until now. When the first change was. */
static u64 read_log(u64 cycle_ns, u64 in_ns, u64 now)
{
	struct log_reader reader = { .t = &thread, .known = &known, .batch = &known.batch };

	now_ns = now;
	thread.in_ns = in_ns;
	assert_true(log_read(&reader, 0));
	log_begin(&reader, cycle_ns << 2);
	log_sum(&reader);
	known.batch.sums[known.batch.row] += since(now, known.batch.at_ns);
	log_charge(&reader);
	return log_change(&known.batch);
}

static void test_log__parts_between_changes(void **state)
{
	(void)state;
	change(1100, 1);
	change(1150, 2);
	change(1250, 1);
	assert_int_equal(read_log(500, 1000, 1300), 1100);
	assert_int_equal(charged[1].ns, 50 + 50);
	assert_int_equal(charged[2].ns, 100);
	assert_int_equal(charged[1].n + charged[2].n, 2); /* the last part goes on */
	assert_int_equal(split_off[1].ns, 100);
	assert_int_equal(counted, 0);
}

/* A sum has 40 bits for its time: a sleep before the turn is not in it, however long. */
static void test_log__after_a_long_sleep(void **state)
{
	const u64 in_ns = 5000 * SECOND, cycle_ns = in_ns - 4000 * SECOND;

	(void)state;
	memory.head.clocks[0].moment = memory.head.clocks[0].ns =
	        in_ns; /* the library looks at the clock now and then */
	change(in_ns + 300, 1);
	change(in_ns + 800, 2);
	assert_int_equal(read_log(cycle_ns, in_ns, in_ns + SECOND), in_ns + 300);
	assert_int_equal(charged[1].ns, 500);
	assert_int_equal(charged[2].ns, SECOND - 800);
}

/* Entries from before what is settled have no time: they came in a turn that the walk has settled. */
static void test_log__what_is_settled(void **state)
{
	(void)state;
	change(900, 1);
	change(1100, 2);
	assert_int_equal(read_log(1000, 800, 1300), 1000);
	assert_int_equal(charged[1].ns, 100);
	assert_int_equal(charged[2].ns, 200);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_log__parts_between_changes, begin),
		cmocka_unit_test_setup(test_log__after_a_long_sleep, begin),
		cmocka_unit_test_setup(test_log__what_is_settled, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
