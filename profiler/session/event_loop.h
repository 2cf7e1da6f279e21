/*
 * The loop that record and agent share: waits for the session's work, for signals, and for the end of a
 * window, and calls back.
 *
 * SIGINT, SIGTERM, SIGHUP and SIGCHLD come as calls of on_signal, with for_command also SIGQUIT, SIGUSR1 and
 * SIGUSR2. One that was ignored when the program began (by nohup, or a shell that starts something in the
 * background) stays ignored. The loop ends when a callback returns non-zero; that is then event_loop_run's result
 * (a negative number for -errno of its own).
 */
#ifndef STALLPROF_PROFILER_EVENT_LOOP_H
#define STALLPROF_PROFILER_EVENT_LOOP_H

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/signalfd.h>

struct session;

struct event_loop {
	struct session *session;
	uint64_t window_ns; /* 0: no windows */
	uint64_t
	        window_end_ns; /* when the next one ends; 0: so long after the loop begins. Kept when it ends, and runs again */
	uint64_t duration_ns; /* 0: until a callback ends it */
	void *ctx;
	int (*on_signal)(void *ctx, const struct signalfd_siginfo *signal);
	int (*on_window)(void *ctx);
	void (*on_tick)(void *ctx, uint64_t elapsed_ns); /* ten times a second while attached; may be NULL */
	int (*on_watched)(void *ctx);                    /* watched_fd is readable; may be NULL */
	int watched_fd;
	bool for_command;
	/* NULL: poll() and CLOCK_MONOTONIC. A test has a clock of its own, which its `wait` moves. */
	int (*wait)(struct pollfd *fds, nfds_t n, int timeout_ms);
	uint64_t (*now_ns)(void);
	int signal_fd;
	/* As event_loop_init() found it. */
	sigset_t mask_before;
	struct sigaction pipe_before, xfsz_before, chld_before;
};

enum { EVENT_LOOP_STOP = 1, EVENT_LOOP_DURATION = 2 };

/* Blocks the signals, and ignores SIGPIPE and SIGXFSZ; call it before anything that must not be interrupted, a
 * fork for instance. 0 or -errno. */
int event_loop_init(struct event_loop *loop);
int event_loop_run(struct event_loop *loop);
/* The loop without a session: calls on_signal, and on_watched, here also ten times a second, until one of them ends
 * it. */
int event_loop_wait(struct event_loop *loop);
/* Sets signals back to how event_loop_init() found them; for a process that is going to execute another program. */
void event_loop_restore_signals(const struct event_loop *loop);
void event_loop_close(struct event_loop *loop);

#endif
