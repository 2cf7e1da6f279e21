/* Tests of bpf/decide.bpf.h, built for this machine: the short way to decide what a sleep was comes to what the long one does. */
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
typedef uint32_t u32;
typedef uint16_t u16;

#define STALLPROF_DETAIL_BPF_H
#define STALLPROF_FOLLOW_BPF_H
#define STALLPROF_ISSUED_BPF_H
#define STALLPROF_KIND_BPF_H
#define STALLPROF_SCOPE_BPF_H
#define ALWAYS                 static inline __attribute__((unused))
#define NOW_AND_THEN           static __attribute__((unused))
#define VERIFIED_ONCE          static __attribute__((unused))
#define RARELY(x)              (x)
#define COUNT(name)            ((void)0)
#define bpf_task_pt_regs(task) (&(task)->regs)

enum { EXPECT_NOTHING, EXPECT_IOWAIT, EXPECT_UNINTERRUPTIBLE, EXPECT_SYSCALL, EXPECT_SCOPE, EXPECTS };
enum { OWN_REQUEST_NONE, OWN_REQUEST_ISSUED, OWN_REQUEST_UNKNOWN, OWN_REQUESTS };
#define SLEPT_SINCE 1000
#define SCOPE_DEV   77

struct pt_regs {
	u64 ip;
};

struct task_struct {
	struct pt_regs regs;
};

struct carried {
	u64 reset_end_ns;
	u32 dev;
	u16 cause;
};

struct wait_row {
	u32 state, cause, dev;
};

/* As far as the header looks at it. */
struct thread {
	u64 sleep_ns, told_ns;
	struct wait_row row, told;
	u32 hint, hint_dev, hint_timed, learned_syscall, last_dev, open_scopes, told_seq, wait_seq;
	u16 kind, expect, own_request, own_cause, goes_on;
	u32 details;
};

static bool any_befallen;
static struct carried befallen = { .dev = 1, .cause = ABI_CAUSE_NVME_RESET };

static u64 last_request(const struct thread *t)
{
	return t->own_request;
}

static bool request_was_faulted(u64 request)
{
	(void)request;
	return false;
}

static bool last_was_reset(const struct thread *t, u64 since_ns)
{
	(void)t;
	(void)since_ns;
	return false;
}

static const struct carried *last_befallen(const struct thread *t, u64 since_ns)
{
	(void)t;
	(void)since_ns;
	return &befallen;
}

static bool own_under_way(const struct thread *t)
{
	(void)t;
	return false;
}

static u32 call_number(struct task_struct *task, const struct pt_regs *regs)
{
	(void)task;
	return (u32)regs->ip;
}

static u32 scope_cause(const struct thread *t)
{
	return t->open_scopes ? ABI_CAUSE_DMA_MAP : 0;
}

static u32 scope_dev(const struct thread *t, u32 cause)
{
	(void)t;
	return cause ? SCOPE_DEV : 0;
}

static void detail_decide(struct thread *t, const struct carried *from)
{
	(void)from;
	t->details++;
}

#include "bpf/decide.bpf.h"

/* --- the tests --------------------------------------------------------------------------------------------------- */

static const u32 causes[] = { 0,
	                      ABI_CAUSE_BLOCK_IO,
	                      ABI_CAUSE_WRITEBACK,
	                      ABI_CAUSE_JOURNAL,
	                      ABI_CAUSE_THROTTLE,
	                      ABI_CAUSE_TAG_WAIT,
	                      ABI_CAUSE_DMA_BOUNCE,
	                      ABI_CAUSE_NVME_RESET };

#define CAUSES (sizeof(causes) / sizeof(causes[0]))

/* A number that counts through all combinations of what follows. */
static u32 take(u32 *number, u32 choices)
{
	u32 choice = *number % choices;

	*number /= choices;
	return choice;
}

#define COMBINATIONS (CAUSES * 3 * EXPECTS * OWN_REQUESTS * 3 * 2 * 2 * 2 * 2)

/* Whether the short way was taken. */
static bool both_ways(u32 number)
{
	struct carried from = { .dev = 1, .cause = (u16)causes[take(&number, CAUSES)] };
	struct thread once = { .sleep_ns = SLEPT_SINCE,
		               .last_dev = 9,
		               .hint_dev = 5,
		               .kind = ABI_WAIT_SLEEP },
	              twice;
	struct task_struct task = { .regs = { .ip = 3 } };

	from.reset_end_ns = take(&number, 3) * (SLEPT_SINCE - 1); /* none, before it, or in it */
	once.expect = (u16)take(&number, EXPECTS);
	once.own_request = (u16)take(&number, OWN_REQUESTS);
	once.hint = take(&number, 3) * (ABI_CAUSE_TAG_WAIT - 1);
	once.hint_timed = take(&number, 2);
	once.open_scopes = take(&number, 2);
	any_befallen = take(&number, 2);
	if (take(&number, 2))
		once.kind = ABI_WAIT_OTHER;
	if (!wait_end_is_plain(&once, &from))
		return false;
	twice = once;
	wait_decide(&once, &from, call_to_learn(&task, &once, &from));
	wait_decide_plainly(&twice, &from);
	assert_memory_equal(&once, &twice, sizeof(once));
	return true;
}

static void test_decide__short_way(void **state)
{
	u32 plain = 0;

	(void)state;
	for (u32 i = 0; i < COMBINATIONS; i++)
		plain += both_ways(i);
	assert_in_range(plain, 1, COMBINATIONS / 2);
	assert_false(wait_end_is_plain(&(struct thread){ .expect = EXPECT_IOWAIT }, NULL));
}

/* The most common of all. */
static void test_decide__read(void **state)
{
	struct carried from = { .dev = 3, .cause = ABI_CAUSE_BLOCK_IO };
	struct thread t = { .expect = EXPECT_IOWAIT, .own_request = OWN_REQUEST_ISSUED };

	(void)state;
	any_befallen = false;
	assert_true(wait_end_is_plain(&t, &from));
	wait_decide_plainly(&t, &from);
	assert_int_equal(t.row.cause, ABI_CAUSE_BLOCK_IO);
	assert_int_equal(t.row.state, ABI_STALL);
	assert_int_equal(t.row.dev, 3);
	assert_int_equal(t.last_dev, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_decide__short_way),
		cmocka_unit_test(test_decide__read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
