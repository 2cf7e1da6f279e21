/*
 * Processes that publish OpenTelemetry's key map long after their library was mapped: they are asked for it as long as they live, each
 * for itself and all together seldom enough to cost little.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "profiler/process/followed.h"
#include "profiler/tags/tag_watch.h"
#include "symbolizer/base/clock.h"
#include "tests/unit/compile_program.h"
#include "tests/unit/fake_tracer.h"

#define PUBLISHERS 2
#define LOOKS      20 /* more than a process is looked at by itself */
#define SECOND_NS  1000000000ULL

struct publisher {
	pid_t pid;
	int to, from;
};

static struct fake_tracer fake;
static struct tag_watch *watch;
static struct publisher publishers[PUBLISHERS];

static void say(const char *line)
{
	print_message("# %s\n", line);
}

static void expect(const struct publisher *publisher, const char *line)
{
	char got[16];

	assert_int_equal(read(publisher->from, got, sizeof(got)), strlen(line));
	assert_memory_equal(got, line, strlen(line));
}

static struct publisher start(const char *program)
{
	int in[2], out[2];
	pid_t pid;

	assert_true(!pipe2(in, O_CLOEXEC) && !pipe2(out, O_CLOEXEC));
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(in[0], 0);
		dup2(out[1], 1);
		execl(program, program, NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	return (struct publisher){ pid, in[1], out[0] };
}

static uint32_t key_of(const struct publisher *publisher)
{
	const struct abi_process *process = fake_process(&fake, (uint32_t)publisher->pid);

	assert_non_null(process);
	assert_int_not_equal(process->otel.kind, 0);
	return process->ai_tag_key;
}

static unsigned int known_keys(void)
{
	unsigned int n = 0;

	for (int i = 0; i < PUBLISHERS; i++)
		n += key_of(&publishers[i]) == 0;
	return n;
}

static int begin(void **state)
{
	char err[512] = "", program[128];

	if (program_dir_make(state))
		return -1;
	snprintf(program, sizeof(program), "%s/late_keys", program_dir);
	if (!compile_into("-DONLY_OTEL -o %s tests/unit/data/tls/late_keys.c tests/unit/data/tls/slots.c",
	                  program))
		return -1;
	fake_tracer_init(&fake);
	watch = tag_watch_new(&fake.tracer, say, err, sizeof(err));
	if (!watch)
		return -1;
	for (int i = 0; i < PUBLISHERS; i++) {
		publishers[i] = start(program);
		expect(&publishers[i], "ready\n");
	}
	return 0;
}

static int end(void **state)
{
	for (int i = 0; i < PUBLISHERS; i++) {
		kill(publishers[i].pid, SIGKILL);
		waitpid(publishers[i].pid, NULL, 0);
		close(publishers[i].to);
		close(publishers[i].from);
	}
	tag_watch_free(watch);
	return program_dir_remove(state);
}

/* As often as a process without a key map is looked at soon after its library was mapped, and then some. */
static void use_up_the_looks(void)
{
	for (int look = 0; look < LOOKS; look++) {
		for (int i = 0; i < PUBLISHERS; i++)
			tag_watch_met(watch, (uint32_t)publishers[i].pid, true);
		do
			tag_watch_poll(watch, monotonic_ns());
		while (tag_watch_behind(watch));
	}
}

static void test_tag_watch_keys__published_late(void **state)
{
	uint64_t now_ns;

	(void)state;
	use_up_the_looks();
	assert_int_equal(key_of(&publishers[0]), FOLLOWED_NO_KEY);
	assert_int_equal(key_of(&publishers[1]), FOLLOWED_NO_KEY);
	for (int i = 0; i < PUBLISHERS; i++) {
		assert_int_equal(write(publishers[i].to, "", 1), 1);
		expect(&publishers[i], "published\n");
	}
	assert_true(tag_watch_take_changed(watch));
	tag_watch_poll(watch, monotonic_ns() + 5 * SECOND_NS);
	assert_int_equal(known_keys(), 0);
	assert_false(tag_watch_take_changed(watch));
	/* Then one after the other. */
	now_ns = monotonic_ns() + 20 * SECOND_NS;
	tag_watch_poll(watch, now_ns);
	assert_int_equal(known_keys(), 1);
	assert_true(tag_watch_take_changed(watch));
	tag_watch_poll(watch, now_ns);
	assert_int_equal(known_keys(), 1);
	tag_watch_poll(watch, now_ns + 1000 * SECOND_NS);
	assert_int_equal(known_keys(), 2);
}

/* Nobody is told anew of a process that has none. */
static void test_tag_watch_keys__never_published(void **state)
{
	(void)state;
	use_up_the_looks();
	assert_true(tag_watch_take_changed(watch));
	for (uint64_t i = 1; i <= 10; i++)
		tag_watch_poll(watch, monotonic_ns() + 1000 * i * SECOND_NS);
	assert_int_equal(known_keys(), 0);
	assert_false(tag_watch_take_changed(watch));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_tag_watch_keys__published_late, begin, end),
		cmocka_unit_test_setup_teardown(test_tag_watch_keys__never_published, begin, end),
	};

	return cmocka_run_group_tests_name("tag_watch_keys", tests, NULL, NULL);
}
