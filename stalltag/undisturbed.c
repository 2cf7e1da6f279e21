/* Blocks signals and cancelling, and restores them. */

#include <pthread.h>
#include <stddef.h>

#include "stalltag/undisturbed.h"

static const int of_instructions[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS };

void undisturbed_begin(struct undisturbed *before)
{
	sigset_t blocked;

	sigfillset(&blocked);
	for (size_t i = 0; i < sizeof(of_instructions) / sizeof(of_instructions[0]); i++)
		sigdelset(&blocked, of_instructions[i]);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before->cancel_state);
	pthread_sigmask(SIG_BLOCK, &blocked, &before->blocked);
}

/* Cancelling last: a thread that is cancelled at any point ends there, and its handlers want their signals. */
void undisturbed_end(const struct undisturbed *before)
{
	pthread_sigmask(SIG_SETMASK, &before->blocked, NULL);
	pthread_setcancelstate(before->cancel_state, NULL);
}
