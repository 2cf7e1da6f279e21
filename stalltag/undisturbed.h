/*
 * A stretch of code in which no signal handler runs on the thread and nobody cancels it, as it holds a lock.
 *
 *	undisturbed_begin(&before);
 *	...
 *	undisturbed_end(&before);
 *
 * Signals that the thread's own instructions cause (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS) come through:
 * the kernel ends a process that blocks one of these, as where a seccomp filter has system calls made by a handler.
 * Such stretches may be nested. Neither call can fail; errno stays.
 */
#ifndef STALLTAG_UNDISTURBED_H
#define STALLTAG_UNDISTURBED_H

#include <signal.h>

#pragma GCC visibility push(hidden)

struct undisturbed {
	sigset_t blocked;
	int cancel_state;
};

/* Keeps in *before what undisturbed_end() restores. */
void undisturbed_begin(struct undisturbed *before);
void undisturbed_end(const struct undisturbed *before);

#pragma GCC visibility pop

#endif
