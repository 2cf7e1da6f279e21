/* Waits at the end of a recording until all windows are delivered, or the user stops it. */

#include "profiler/cli/delivery_wait.h"

#include <stdint.h>
#include <stdio.h>

#include "symbolizer/base/clock.h"
#include "profiler/session/event_loop.h"
#include "profiler/output/sink.h"

#define SAME_SIGNAL_NS (200 * 1000000ULL)
#define PATIENCE_NS    1000000000ULL

struct wait {
	struct sink *sink;
	const struct event_loop *loop;
	say_fn say;
	uint64_t since_ns;
	bool told;
};

static int on_signal(void *ctx, const struct signalfd_siginfo *signal)
{
	struct wait *wait = ctx;
	int result = wait->loop->on_signal(wait->loop->ctx, signal);

	/* Neither the end of the command nor a reload shortens the wait. */
	if (signal->ssi_signo == SIGCHLD || monotonic_ns() - wait->since_ns < SAME_SIGNAL_NS)
		return 0;
	return result == EVENT_LOOP_STOP ? result : 0;
}

static int on_news(void *ctx)
{
	struct wait *wait = ctx;
	char line[128];
	size_t n;

	if (sink_poll(wait->sink))
		return EVENT_LOOP_STOP;
	if (!wait->say || wait->told || monotonic_ns() - wait->since_ns < PATIENCE_NS)
		return 0;
	wait->told = true;
	n = sink_waiting(wait->sink);
	snprintf(line, sizeof(line), "waiting until %zu window%s delivered; Ctrl-C ends that", n,
	         n == 1 ? " is" : "s are");
	wait->say(line);
	return 0;
}

void delivery_wait(struct sink *sink, const struct event_loop *loop, say_fn say)
{
	struct wait wait = { .sink = sink, .loop = loop, .say = say, .since_ns = monotonic_ns() };
	struct event_loop own = { .ctx = &wait,
		                  .on_signal = on_signal,
		                  .on_watched = on_news,
		                  .watched_fd = sink_fd(sink),
		                  .signal_fd = loop->signal_fd };

	if (!sink_poll(sink))
		event_loop_wait(&own);
}
