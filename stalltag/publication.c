/* Decides once whether this process publishes OpenTelemetry contexts, and handles fork(). */

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>

#include "stalltag/change_log.h"
#include "stalltag/foreign_publisher.h"
#include "stalltag/process_context.h"
#include "stalltag/publication.h"

enum { UNDECIDED = 0, PUBLISHING = 1, LEFT_TO_ANOTHER = -1 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int state;
static unsigned long long loads_seen;
static sigset_t mask_before_fork; /* of the thread that forks; guarded by the lock */

/* A signal handler that interrupted fork() here, and pushed its thread's first tag, would wait for the lock for ever. */
static void before_fork(void)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_mutex_lock(&lock);
	mask_before_fork = before;
}

static void after_fork(void)
{
	sigset_t before = mask_before_fork;

	pthread_mutex_unlock(&lock);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* The mapping is not inherited; the tags that this thread holds are. */
static void after_fork_in_child(void)
{
	if (state == PUBLISHING)
		process_context_republish();
	change_log_forked();
	after_fork();
}

/* From the start: a child forked during another thread's first push must not find the lock taken for good. */
__attribute__((constructor)) static void watch_forks(void)
{
	pthread_atfork(before_fork, after_fork, after_fork_in_child);
}

static void decide(void)
{
	unsigned long long loads = foreign_publisher_loads();

	if (state == LEFT_TO_ANOTHER || (state == PUBLISHING && loads == loads_seen))
		return;
	loads_seen = loads;
	if (foreign_publisher_present(process_context_address())) {
		if (state == PUBLISHING) {
			process_context_withdraw();
			publication_withdrawn_mark();
		}
		__atomic_store_n(&state, LEFT_TO_ANOTHER, __ATOMIC_RELEASE);
	} else if (state == UNDECIDED) {
		process_context_publish();
		__atomic_store_n(&state, PUBLISHING, __ATOMIC_RELEASE);
	}
}

stalltag_slot *publication_join(void)
{
	bool ours;

	pthread_mutex_lock(&lock);
	decide();
	ours = state == PUBLISHING;
	pthread_mutex_unlock(&lock);
	return ours && stalltag_public_slot ? stalltag_public_slot() : NULL;
}

int publication_state(void)
{
	return __atomic_load_n(&state, __ATOMIC_ACQUIRE);
}
