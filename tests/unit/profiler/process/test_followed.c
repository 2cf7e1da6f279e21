/* Tests of followed.h: processes that end, and pids that are used again. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "profiler/process/followed.h"
#include "profiler/tracer/tracer_state.h"
#include "symbolizer/base/process_stat.h"

#define PID 4711

/* The process that has the pid now; 0: nobody has. */
static uint64_t start_ticks;
/* What the BPF side has: which of two processes with that pid. */
static bool known[3];

int process_stat_read(const char *proc, uint32_t pid, struct process_stat *out)
{
	assert_string_equal(proc, "/proc");
	assert_int_equal(pid, PID);
	*out = (struct process_stat){ .start_ticks = start_ticks };
	return start_ticks ? 0 : -ESRCH;
}

/* Where no file can be opened, nobody has a start time, but they are there. */
static bool out_of_files;

int kill(pid_t pid, int signal)
{
	assert_int_equal(pid, PID);
	assert_int_equal(signal, 0);
	errno = ESRCH;
	return start_ticks || out_of_files ? 0 : -1;
}

static int refused; /* -E2BIG: the BPF side has no room */

static int set_process(struct tracer *tracer, const struct abi_process_key *key,
                       const struct abi_process *process)
{
	(void)tracer;
	(void)process;
	assert_int_equal(key->tgid, PID);
	assert_in_range(key->start_ticks, 1, 2);
	known[key->start_ticks] = !refused;
	return refused;
}

static void forget_process(struct tracer *tracer, const struct abi_process_key *key)
{
	(void)tracer;
	known[key->start_ticks] = false;
}

static const struct tracer_ops ops = { .set_process = set_process, .forget_process = forget_process };
static struct tracer tracer = { .ops = &ops };

static int begin(void **state)
{
	memset(known, 0, sizeof(known));
	start_ticks = 1;
	out_of_files = false;
	refused = 0;
	*state = followed_new(&tracer);
	return *state ? 0 : -1;
}

static int end(void **state)
{
	followed_free(*state);
	return 0;
}

/* Another process has its pid, and its end was not told: it is forgotten, with all that was known of it. */
static void test_followed__another_process_has_the_pid(void **state)
{
	struct followed_processes *all = *state;
	bool added = false;
	struct followed *f = followed_add(all, PID, &added);

	assert_true(f && added);
	f->process.base_tag = 7;
	f->given = true;
	assert_int_equal(followed_publish(all, f), 0);
	assert_true(followed_add(all, PID, &added) == f && !added);
	assert_true(known[1] && followed_need_attach(all));
	start_ticks = 2;
	f = followed_add(all, PID, &added);
	assert_true(f && added && f->start_ticks == 2);
	assert_false(known[1]);
	assert_int_equal(f->process.base_tag, 0);
	assert_false(f->given || followed_need_attach(all));
	assert_int_equal(followed_publish(all, f), 0);
	assert_true(known[2]);
	followed_drop(all, PID);
	assert_false(known[2]);
	assert_null(followed_find(all, PID));
}

/* Nor is one that ended before it was looked at. */
static void test_followed__gone_is_not_added(void **state)
{
	struct followed_processes *all = *state;

	start_ticks = 0;
	assert_null(followed_add(all, PID, NULL));
	assert_int_equal(errno, ESRCH);
	assert_null(followed_find(all, PID));
	assert_false(followed_take_changed(all));
}

/* Nobody told of its end. */
static void test_followed__sweep(void **state)
{
	struct followed_processes *all = *state;
	uint32_t ended[4] = { 0 };

	assert_int_equal(followed_sweep(all, 4, ended), 0);
	assert_int_equal(followed_publish(all, followed_add(all, PID, NULL)), 0);
	assert_int_equal(followed_sweep(all, 4, ended), 0);
	start_ticks = 0;
	out_of_files = true;
	assert_int_equal(followed_sweep(all, 4, ended), 0);
	out_of_files = false;
	assert_int_equal(followed_sweep(all, 4, ended), 1);
	assert_int_equal(ended[0], PID);
	assert_non_null(followed_find(all, PID));
	start_ticks = 2; /* another process has its pid */
	assert_int_equal(followed_sweep(all, 4, ended), 0);
	assert_null(followed_find(all, PID));
	assert_false(known[1]);
}

static void test_followed__refused(void **state)
{
	struct followed_processes *all = *state;

	refused = -E2BIG;
	assert_int_equal(followed_publish(all, followed_add(all, PID, NULL)), -E2BIG);
	assert_int_equal(followed_refused(all), 1);
	assert_false(followed_take_changed(all));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_followed__another_process_has_the_pid, begin, end),
		cmocka_unit_test_setup_teardown(test_followed__gone_is_not_added, begin, end),
		cmocka_unit_test_setup_teardown(test_followed__sweep, begin, end),
		cmocka_unit_test_setup_teardown(test_followed__refused, begin, end),
	};

	return cmocka_run_group_tests_name("followed", tests, NULL, NULL);
}
