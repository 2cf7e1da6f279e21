/* Decides once whether this process publishes OpenTelemetry contexts, and handles fork(). */

#include <pthread.h>
#include <stdbool.h>

#include "stalltag/change_log.h"
#include "stalltag/foreign_publisher.h"
#include "stalltag/process_context.h"
#include "stalltag/publication.h"
#include "stalltag/undisturbed.h"

enum { UNDECIDED = 0, PUBLISHING = 1, LEFT_TO_ANOTHER = -1 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int state;
static unsigned long long loads_seen;
static struct undisturbed forks; /* the thread that forks, before it; guarded by the lock */

/* A signal handler that interrupted fork() here, and pushed its thread's first tag, would wait for the lock for ever; and
 * in the child a thread that was cancelled would end with it. */
static void before_fork(void)
{
	struct undisturbed before;

	undisturbed_begin(&before);
	pthread_mutex_lock(&lock);
	forks = before;
}

static void after_fork(void)
{
	struct undisturbed before = forks;

	pthread_mutex_unlock(&lock);
	undisturbed_end(&before);
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
