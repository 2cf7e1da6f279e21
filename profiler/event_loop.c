#include "profiler/event_loop.h"

#include <errno.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "profiler/session.h"

#define FDS_MAX (SESSION_FDS_MAX + 1)

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000ULL + now.tv_nsec;
}

int event_loop_init(struct event_loop *loop)
{
	sigset_t mask;

	sigemptyset(&mask);
	sigaddset(&mask, SIGINT);
	sigaddset(&mask, SIGTERM);
	sigaddset(&mask, SIGHUP);
	sigaddset(&mask, SIGCHLD);
	if (sigprocmask(SIG_BLOCK, &mask, NULL))
		return -errno;
	/* Writing then fails with an error, which can be told. */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	loop->signal_fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
	return loop->signal_fd < 0 ? -errno : 0;
}

void event_loop_close(struct event_loop *loop)
{
	if (loop->signal_fd >= 0)
		close(loop->signal_fd);
	loop->signal_fd = -1;
}

static int take_signals(struct event_loop *loop)
{
	struct signalfd_siginfo info;
	int result = 0;

	while (!result && read(loop->signal_fd, &info, sizeof(info)) == sizeof(info))
		result = loop->on_signal(loop->ctx, info.ssi_signo);
	return result;
}

static int timeout_ms(const struct event_loop *loop, uint64_t now, uint64_t end)
{
	int timeout = session_timeout_ms(loop->session);

	if (end && end <= now)
		return 0;
	if (end && (end - now) / 1000000 < (uint64_t)timeout)
		timeout = (end - now) / 1000000 + 1;
	return timeout;
}

int event_loop_run(struct event_loop *loop)
{
	uint64_t begin = now_ns(), now = begin;
	uint64_t window_end = loop->window_ns ? begin + loop->window_ns : 0;
	uint64_t end = loop->duration_ns ? begin + loop->duration_ns : 0;
	struct pollfd fds[FDS_MAX] = { { .fd = loop->signal_fd, .events = POLLIN } };
	int session_fd[SESSION_FDS_MAX], n = session_fds(loop->session, session_fd), i, result = 0;

	for (i = 0; i < n; i++)
		fds[i + 1] = (struct pollfd){ .fd = session_fd[i], .events = POLLIN };
	while (!result) {
		uint64_t next = !window_end || (end && end < window_end) ? end : window_end;

		if (poll(fds, n + 1, timeout_ms(loop, now, next)) < 0 && errno != EINTR)
			return -errno;
		now = now_ns();
		result = take_signals(loop);
		if (!result)
			result = session_tick(loop->session);
		if (!result && loop->on_tick)
			loop->on_tick(loop->ctx, now - begin);
		if (!result && end && now >= end)
			result = EVENT_LOOP_DURATION;
		if (!result && window_end && now >= window_end) {
			result = loop->on_window(loop->ctx);
			while (window_end <= now)
				window_end += loop->window_ns;
		}
	}
	return result;
}
