/*
 * Tests of event_loop.h: what it calls, and when. The test's clock advances while the loop waits, and while a window
 * ends.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "profiler/session/event_loop.h"
#include "tests/unit/fake_session.h"

#define MS_NS     1000000ULL
#define ENDS_MAX  64
#define WINDOW_NS (500 * MS_NS)
#define WAITS_MAX 10000000

static struct {
	uint64_t now_ns, began_ns;
	uint64_t window_takes_ns;
	uint64_t ended_ns[ENDS_MAX]; /* of each window, since the begin */
	unsigned int windows, ticks, waits, signals, watched;
	unsigned int signal_at_wait; /* 0: none is sent */
	int last_timeout_ms, longest_timeout_ms;
	int wait_error, stop_after_windows, watched_result;
	bool watched_is_readable;
} world;

static uint64_t clock_of_world(void)
{
	return world.now_ns;
}

static int wait_in_world(struct pollfd *fds, nfds_t n, int timeout_ms)
{
	if (++world.waits > WAITS_MAX)
		fail_msg("the loop does not end");
	assert_true(timeout_ms >= 0);
	world.last_timeout_ms = timeout_ms;
	if (timeout_ms > world.longest_timeout_ms)
		world.longest_timeout_ms = timeout_ms;
	/* While the session still looks at processes it does not want to wait. */
	world.now_ns += timeout_ms ? (uint64_t)timeout_ms * MS_NS : 1000;
	if (world.waits == world.signal_at_wait)
		kill(getpid(), SIGTERM);
	fds[n - 1].revents = world.watched_is_readable && fds[n - 1].fd >= 0 ? POLLIN : 0;
	errno = world.wait_error;
	return world.wait_error ? -1 : 0;
}

static int on_window(void *ctx)
{
	assert_ptr_equal(ctx, &world);
	if (world.windows < ENDS_MAX)
		world.ended_ns[world.windows] = world.now_ns - world.began_ns;
	world.now_ns += world.window_takes_ns;
	world.windows++;
	return world.stop_after_windows && world.windows == (unsigned int)world.stop_after_windows ? 7 : 0;
}

static int on_signal(void *ctx, const struct signalfd_siginfo *signal)
{
	assert_ptr_equal(ctx, &world);
	world.signals += signal->ssi_signo == SIGTERM;
	return EVENT_LOOP_STOP;
}

static int on_watched(void *ctx)
{
	assert_ptr_equal(ctx, &world);
	world.watched++;
	return world.watched_result;
}

static void on_tick(void *ctx, uint64_t elapsed_ns)
{
	assert_ptr_equal(ctx, &world);
	assert_int_equal(elapsed_ns, world.now_ns - world.began_ns);
	world.ticks++;
}

static struct event_loop begin(void)
{
	struct event_loop loop = { .session = fake_session_begin(),
		                   .ctx = &world,
		                   .on_signal = on_signal,
		                   .on_window = on_window,
		                   .on_tick = on_tick,
		                   .wait = wait_in_world,
		                   .now_ns = clock_of_world };

	memset(&world, 0, sizeof(world));
	world.now_ns = world.began_ns = 1000 * FAKE_SECOND_NS;
	assert_int_equal(event_loop_init(&loop), 0);
	return loop;
}

static int run(struct event_loop *loop)
{
	world.began_ns = world.now_ns;
	world.waits = 0;
	return event_loop_run(loop);
}

static void end(struct event_loop *loop)
{
	event_loop_restore_signals(loop);
	event_loop_close(loop);
	fake_session_end(loop->session);
}

static void test_event_loop__windows_end_on_time(void **state)
{
	struct event_loop loop = begin();

	(void)state;
	loop.window_ns = WINDOW_NS;
	world.stop_after_windows = 10;
	assert_int_equal(run(&loop), 7);
	for (unsigned int i = 0; i < 10; i++)
		assert_in_range(world.ended_ns[i], (i + 1) * WINDOW_NS, (i + 1) * WINDOW_NS + MS_NS);
	end(&loop);
}

/* The end of one takes time, which is not added to the next: the tenth ends when it should have. */
static void test_event_loop__windows_do_not_drift(void **state)
{
	struct event_loop loop = begin();

	(void)state;
	loop.window_ns = WINDOW_NS;
	world.window_takes_ns = 30 * MS_NS;
	world.stop_after_windows = 10;
	assert_int_equal(run(&loop), 7);
	for (unsigned int i = 0; i < 10; i++)
		assert_in_range(world.ended_ns[i], (i + 1) * WINDOW_NS, (i + 1) * WINDOW_NS + 2 * MS_NS);
	end(&loop);
}

/* What a machine that stood still has missed is one window, not a row of empty ones. */
static void test_event_loop__missed_windows_are_not_made_up_for(void **state)
{
	struct event_loop loop = begin();

	(void)state;
	loop.window_ns = WINDOW_NS;
	world.window_takes_ns = 5 * WINDOW_NS + 10 * MS_NS;
	world.stop_after_windows = 2;
	assert_int_equal(run(&loop), 7);
	assert_in_range(world.ended_ns[1], 6 * WINDOW_NS, 7 * WINDOW_NS + MS_NS);
	end(&loop);
}

/* A reload that is refused, for instance, ends the loop, but not the window. */
static void test_event_loop__a_window_goes_on_when_it_runs_again(void **state)
{
	struct event_loop loop = begin();
	uint64_t began_ns = world.now_ns;

	(void)state;
	loop.window_ns = WINDOW_NS;
	loop.duration_ns = WINDOW_NS / 4;
	world.stop_after_windows = 1;
	for (int i = 0; i < 3; i++)
		assert_int_equal(run(&loop), EVENT_LOOP_DURATION);
	loop.duration_ns = 0;
	assert_int_equal(run(&loop), 7);
	assert_in_range(world.now_ns - began_ns, WINDOW_NS, WINDOW_NS + 2 * MS_NS);
	end(&loop);
}

static void test_event_loop__ends_after_the_duration(void **state)
{
	struct event_loop loop = begin();

	(void)state;
	loop.duration_ns = 1230 * MS_NS;
	assert_int_equal(run(&loop), EVENT_LOOP_DURATION);
	assert_in_range(world.now_ns - world.began_ns, 1230 * MS_NS, 1232 * MS_NS);
	assert_int_equal(world.windows, 0);
	assert_int_equal(world.ticks, world.waits);
	end(&loop);
}

/* Never longer than the session wants, nor than there is time left. */
static void test_event_loop__how_long_it_waits(void **state)
{
	struct event_loop loop = begin();
	int idle = fake_session_timeout(loop.session);

	(void)state;
	loop.duration_ns = (uint64_t)idle * MS_NS * 3 / 2;
	assert_int_equal(run(&loop), EVENT_LOOP_DURATION);
	assert_int_equal(world.longest_timeout_ms, idle);
	assert_in_range(world.last_timeout_ms, 0, idle / 2 + 1);
	assert_in_range(world.now_ns - world.began_ns, loop.duration_ns, loop.duration_ns + 2 * MS_NS);
	end(&loop);
}

static void test_event_loop__signals_come_as_calls(void **state)
{
	struct event_loop loop = begin();

	(void)state;
	loop.window_ns = WINDOW_NS;
	world.signal_at_wait = 3;
	assert_int_equal(run(&loop), EVENT_LOOP_STOP);
	assert_int_equal(world.signals, 1);
	assert_int_equal(world.waits, 3);
	assert_int_equal(world.ticks, 2);
	end(&loop);
}

static void test_event_loop__what_is_watched(void **state)
{
	struct event_loop loop = begin();

	(void)state;
	loop.on_watched = on_watched;
	loop.watched_fd = 0;
	loop.duration_ns = 20 * FAKE_SECOND_NS;
	assert_int_equal(run(&loop), EVENT_LOOP_DURATION);
	assert_int_equal(world.watched, 0);
	world.watched_is_readable = true;
	world.watched_result = -EPIPE;
	assert_int_equal(run(&loop), -EPIPE);
	assert_int_equal(world.watched, 1);
	end(&loop);
}

static void test_event_loop__errors_end_it(void **state)
{
	struct event_loop loop = begin();

	(void)state;
	loop.duration_ns = 20 * FAKE_SECOND_NS;
	world.wait_error = ENOMEM;
	assert_int_equal(run(&loop), -ENOMEM);
	world.wait_error = EINTR; /* is none */
	assert_int_equal(run(&loop), EVENT_LOOP_DURATION);
	world.wait_error = 0;
	fake.poll_result = -EIO;
	assert_int_equal(run(&loop), -EIO);
	end(&loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_event_loop__windows_end_on_time),
		cmocka_unit_test(test_event_loop__windows_do_not_drift),
		cmocka_unit_test(test_event_loop__missed_windows_are_not_made_up_for),
		cmocka_unit_test(test_event_loop__a_window_goes_on_when_it_runs_again),
		cmocka_unit_test(test_event_loop__ends_after_the_duration),
		cmocka_unit_test(test_event_loop__how_long_it_waits),
		cmocka_unit_test(test_event_loop__signals_come_as_calls),
		cmocka_unit_test(test_event_loop__what_is_watched),
		cmocka_unit_test(test_event_loop__errors_end_it),
	};

	return cmocka_run_group_tests_name("event_loop", tests, NULL, NULL);
}
