/* Decides what a signal to `record -- COMMAND` means for the command. */

#include "profiler/cli/command_signals.h"

#include <signal.h>

enum command_signal command_signals_take(struct command_signals *signals,
                                         const struct signalfd_siginfo *signal)
{
	if (signal->ssi_code != SI_KERNEL)
		return COMMAND_IS_SENT_IT;
	if (signal->ssi_signo == SIGHUP && signals->leads_session)
		return COMMAND_IS_SENT_IT;
	if (signal->ssi_signo != SIGINT)
		return COMMAND_HAS_IT;
	switch (++signals->interrupts) {
	case 1:
		return COMMAND_HAS_IT;
	case 2:
		return COMMAND_IS_TERMINATED;
	default:
		return COMMAND_IS_LEFT;
	}
}
