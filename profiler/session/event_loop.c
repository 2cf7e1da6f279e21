/* The main loop of `record` and `agent`: signals, ticks and the ends of windows. */

#include "profiler/session/event_loop.h"

#include <errno.h>
#include <stddef.h>
#include <unistd.h>

#include "symbolizer/base/clock.h"
#include "profiler/session/session.h"

#define FDS_MAX  (SESSION_FDS_MAX + 2)
#define WATCH_MS 100

/* The signals that we handle, except those that our parent had ignored. */
static void choose_signals(const struct event_loop *loop, sigset_t *mask)
{
	static const int always[] = { SIGINT, SIGTERM, SIGHUP }, command[] = { SIGQUIT, SIGUSR1, SIGUSR2 };
	size_t n = sizeof(always) / sizeof(always[0]), i;
	struct sigaction now;

	sigemptyset(mask);
	sigaddset(mask, SIGCHLD);
	for (i = 0; i < 2 * n; i++) {
		int number = i < n ? always[i] : command[i - n];

		if ((i < n || loop->for_command) && !sigaction(number, NULL, &now) &&
		    now.sa_handler != SIG_IGN)
			sigaddset(mask, number);
	}
}

int event_loop_init(struct event_loop *loop)
{
	const struct sigaction ignore = { .sa_handler = SIG_IGN }, by_default = { .sa_handler = SIG_DFL };
	sigset_t mask;

	choose_signals(loop, &mask);
	if (sigprocmask(SIG_BLOCK, &mask, &loop->mask_before))
		return -errno;
	/* Writing then fails with an error, which can be reported. */
	sigaction(SIGPIPE, &ignore, &loop->pipe_before);
	sigaction(SIGXFSZ, &ignore, &loop->xfsz_before);
	/* Ignored, it would leave no child to wait for. */
	sigaction(SIGCHLD, &by_default, &loop->chld_before);
	loop->signal_fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
	return loop->signal_fd < 0 ? -errno : 0;
}

void event_loop_restore_signals(const struct event_loop *loop)
{
	sigaction(SIGPIPE, &loop->pipe_before, NULL);
	sigaction(SIGXFSZ, &loop->xfsz_before, NULL);
	sigaction(SIGCHLD, &loop->chld_before, NULL);
	sigprocmask(SIG_SETMASK, &loop->mask_before, NULL);
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
		result = loop->on_signal(loop->ctx, &info);
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
	int (*wait)(struct pollfd *, nfds_t, int) = loop->wait ? loop->wait : poll;
	uint64_t (*now_ns)(void) = loop->now_ns ? loop->now_ns : monotonic_ns;
	uint64_t begin = now_ns(), now = begin;
	uint64_t end = loop->duration_ns ? begin + loop->duration_ns : 0;
	struct pollfd fds[FDS_MAX] = { { .fd = loop->signal_fd, .events = POLLIN } };
	int session_fd[SESSION_FDS_MAX], n = session_fds(loop->session, session_fd), i, result = 0;

	if (!loop->window_end_ns && loop->window_ns)
		loop->window_end_ns = begin + loop->window_ns;
	for (i = 0; i < n; i++)
		fds[i + 1] = (struct pollfd){ .fd = session_fd[i], .events = POLLIN };
	fds[n + 1] = (struct pollfd){ .fd = loop->on_watched ? loop->watched_fd : -1, .events = POLLIN };
	while (!result) {
		uint64_t window_end = loop->window_end_ns;
		uint64_t next = !window_end || (end && end < window_end) ? end : window_end;

		if (wait(fds, n + 2, timeout_ms(loop, now, next)) < 0 && errno != EINTR)
			return -errno;
		now = now_ns();
		result = take_signals(loop);
		if (!result && fds[n + 1].revents)
			result = loop->on_watched(loop->ctx);
		if (!result)
			result = session_tick(loop->session);
		if (!result && loop->on_tick)
			loop->on_tick(loop->ctx, now - begin);
		if (!result && end && now >= end)
			result = EVENT_LOOP_DURATION;
		if (!result && window_end && now >= window_end) {
			result = loop->on_window(loop->ctx);
			while (loop->window_end_ns <= now)
				loop->window_end_ns += loop->window_ns;
		}
	}
	return result;
}

int event_loop_wait(struct event_loop *loop)
{
	struct pollfd fds[] = { { .fd = loop->signal_fd, .events = POLLIN },
		                { .fd = loop->on_watched ? loop->watched_fd : -1, .events = POLLIN } };
	int result = 0;

	while (!result) {
		if (poll(fds, 2, loop->on_watched ? WATCH_MS : -1) < 0 && errno != EINTR)
			return -errno;
		result = take_signals(loop);
		if (!result && loop->on_watched)
			result = loop->on_watched(loop->ctx);
	}
	return result;
}
