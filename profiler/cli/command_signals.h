/*
 * What a signal to `record -- COMMAND` means for the command. The rule is that the command gets what it would get
 * without a profiler in front of it, once, and that the profiler stays until it has ended:
 *
 *     the terminal's, by Ctrl-C, Ctrl-\ or a hang-up    the command has it already, as it is in the same process
 *                                                       group; the second Ctrl-C sends it SIGTERM, the third
 *                                                       ends the recording and leaves it running
 *     anybody's, by kill(2)                             it was meant for the command, and is sent on to it
 *
 * (A sender that signals the whole group by kill(2) reaches the command twice, as with sudo(8): the kernel does not
 * tell the two ways apart.)
 */
#ifndef STALLPROF_PROFILER_COMMAND_SIGNALS_H
#define STALLPROF_PROFILER_COMMAND_SIGNALS_H

#include <stdbool.h>
#include <sys/signalfd.h>

struct command_signals {
	bool leads_session;      /* this process does: of a hang-up it alone is told */
	unsigned int interrupts; /* Ctrl-C so far */
};

enum command_signal {
	COMMAND_HAS_IT,
	COMMAND_IS_SENT_IT,
	COMMAND_IS_TERMINATED, /* send it SIGTERM */
	COMMAND_IS_LEFT,
};

/* Of SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1 and SIGUSR2. */
enum command_signal command_signals_take(struct command_signals *signals,
                                         const struct signalfd_siginfo *signal);

#endif
