/*
 * zombie: at SIGUSR1, sent once nothing is tagged any more and the hooks are detached, a child pushes a tag and ends at once; its parent
 * does not wait for it, and sleeps for REST_MS. It pushes a tag of its own at the begin.
 */
#include <signal.h>
#include <stdio.h>
#include <sys/types.h>
#include <unistd.h>

#include "attack.h"
#include "stalltag/stalltag.h"

#define REST_MS 60000

int main(void)
{
	sigset_t begin;
	pid_t child;
	int number;

	sigemptyset(&begin);
	sigaddset(&begin, SIGUSR1);
	sigprocmask(SIG_BLOCK, &begin, NULL);
	sleep_ms(1000); /* the library is listened to by then */
	stalltag_push(1, "first");
	stalltag_pop();
	if (sigwait(&begin, &number))
		return 1;
	child = fork();
	if (child < 0)
		return 1;
	if (!child) {
		stalltag_push(1, "gone");
		_exit(0);
	}
	sleep_ms(REST_MS);
	return 0;
}
