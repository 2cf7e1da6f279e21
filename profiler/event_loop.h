/*
 * The loop that record and agent share: waits for the session's work, for signals, and for the end of a
 * window, and calls back.
 *
 * SIGINT, SIGTERM and SIGCHLD come as calls of on_signal; SIGHUP too. The loop ends when a callback returns
 * non-zero; that is then event_loop_run's result (a negative number for -errno of its own).
 */
#ifndef STALLPROF_PROFILER_EVENT_LOOP_H
#define STALLPROF_PROFILER_EVENT_LOOP_H

#include <signal.h>
#include <stdint.h>

struct session;

struct event_loop {
	struct session *session;
	uint64_t window_ns;   /* 0: no windows */
	uint64_t duration_ns; /* 0: until a callback ends it */
	void *ctx;
	int (*on_signal)(void *ctx, int signal);
	int (*on_window)(void *ctx);
	void (*on_tick)(void *ctx, uint64_t elapsed_ns); /* ten times a second while attached; may be NULL */
	int signal_fd;
};

enum { EVENT_LOOP_STOP = 1, EVENT_LOOP_DURATION = 2 };

/* Blocks the signals, and ignores SIGPIPE and SIGXFSZ; call it before anything that must not be interrupted, a fork for instance. 0 or -errno.
 */
int event_loop_init(struct event_loop *loop);
int event_loop_run(struct event_loop *loop);
void event_loop_close(struct event_loop *loop);

#endif
