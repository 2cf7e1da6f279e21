/*
 * What a signal to `record -- COMMAND` means for the command. The rule: the command gets each signal once, as it
 * would without a profiler, and the profiler stays until the command has ended:
 *
 *     from the terminal (Ctrl-C, Ctrl-\, hang-up)       the command has it already, as it is in the same process
 *                                                       group; the second Ctrl-C sends it SIGTERM, the third
 *                                                       ends the recording and leaves it running
 *     from anybody, by kill(2)                          it was meant for the command, and is sent on to it
 *
 * (A sender that signals the whole group by kill(2) reaches the command twice, as with sudo(8): the kernel does not
 * tell the two ways apart.)
 */
#ifndef STALLPROF_PROFILER_COMMAND_SIGNALS_H
#define STALLPROF_PROFILER_COMMAND_SIGNALS_H

#include <stdbool.h>
#include <sys/signalfd.h>

struct command_signals {
	bool leads_session;      /* this process does: the kernel sends a hang-up's SIGHUP to it alone */
	unsigned int interrupts; /* Ctrl-C so far */
};

enum command_signal {
	COMMAND_HAS_IT,
	COMMAND_IS_SENT_IT,
	COMMAND_IS_TERMINATED, /* send it SIGTERM */
	COMMAND_IS_LEFT,
};

/* Decides on one of SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1 and SIGUSR2. */
enum command_signal command_signals_take(struct command_signals *signals,
                                         const struct signalfd_siginfo *signal);

#endif
