/* Maps a thread's stack of tags at its first push and unmaps it at thread exit. */

#include <pthread.h>
#include <sys/mman.h>

#include "stalltag/change_log.h"
#include "stalltag/publication.h"
#include "stalltag/thread_tags.h"
#include "stalltag/trace_id.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t at_thread_exit;
static bool have_key;

/* Forgotten first: a signal handler's push must not go to memory that is gone. It makes tags of its own, whose end this is, too. */
static void thread_exit(void *tags)
{
	thread_tags_forget();
	thread_tags_free(tags);
}

static void begin(void)
{
	__atomic_store_n(&have_key, !pthread_key_create(&at_thread_exit, thread_exit), __ATOMIC_RELEASE);
}

/*
 * A plugin that has this code in it may be unloaded before the threads that it has tagged end: their end would call what is
 * not there any more. What they have mapped stays. It runs at the program's end, too, when other threads may still push.
 */
__attribute__((destructor)) static void forget_thread_exit(void)
{
	if (__atomic_exchange_n(&have_key, false, __ATOMIC_ACQ_REL))
		pthread_key_delete(at_thread_exit);
}

static struct stalltag_thread *map_tags(stalltag_slot *own_slot, const volatile uint64_t *attention)
{
	struct stalltag_thread *thread =
	        mmap(NULL, sizeof(*thread), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t trace_flags;

	if (thread == MAP_FAILED)
		return NULL;
	thread->own_slot = own_slot;
	thread->attention = attention;
	thread->public_slot = publication_join();
	if (!thread->public_slot)
		thread->public_slot = &thread->off_slot;
	trace_id_of_process(thread->trace_id, &trace_flags);
	thread->head = 1 | (uint32_t)trace_flags << 8;
	return thread;
}

struct stalltag_thread *thread_tags_new(stalltag_slot *own_slot, const volatile uint64_t *attention)
{
	struct stalltag_thread *thread;

	pthread_once(&once, begin);
	thread = map_tags(own_slot, attention);
	if (thread && __atomic_load_n(&have_key, __ATOMIC_ACQUIRE))
		pthread_setspecific(at_thread_exit, thread);
	return thread;
}

/* The slots are cleared first; a reader must not be led to memory that is gone. */
void thread_tags_free(struct stalltag_thread *thread)
{
	if (!thread)
		return;
	if (thread_tags_owns(thread, *thread->own_slot))
		*thread->own_slot = NULL;
	if (thread_tags_owns(thread, *thread->public_slot))
		*thread->public_slot = NULL;
	change_log_close(&thread->log);
	munmap(thread, sizeof(*thread));
}
