/* Threads that close BPF links, so that the caller need not wait for the kernel. */

#include "profiler/tracer/link_closer.h"

#include <bpf/libbpf.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#define STACK_BYTES (256 << 10)

struct link_closer {
	unsigned int threads_max;
	pthread_attr_t attributes;
	pthread_mutex_t lock; /* of all below */
	pthread_cond_t none_left;
	struct open_link *waiting;
	unsigned int threads;
};

struct link_closer *link_closer_new(unsigned int threads_max)
{
	struct link_closer *closer = calloc(1, sizeof(*closer));

	if (!closer)
		return NULL;
	closer->threads_max = threads_max;
	pthread_attr_init(&closer->attributes);
	pthread_attr_setdetachstate(&closer->attributes, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&closer->attributes, STACK_BYTES);
	pthread_mutex_init(&closer->lock, NULL);
	pthread_cond_init(&closer->none_left, NULL);
	return closer;
}

void link_closer_free(struct link_closer *closer)
{
	if (!closer)
		return;
	pthread_mutex_lock(&closer->lock);
	while (closer->threads)
		pthread_cond_wait(&closer->none_left, &closer->lock);
	pthread_mutex_unlock(&closer->lock);
	pthread_cond_destroy(&closer->none_left);
	pthread_mutex_destroy(&closer->lock);
	pthread_attr_destroy(&closer->attributes);
	free(closer);
}

static void close_one(struct open_link *link)
{
	if (link->fd >= 0)
		close(link->fd);
	bpf_link__destroy(link->link);
	free(link);
}

static void *close_waiting(void *ctx)
{
	struct link_closer *closer = ctx;
	struct open_link *link;

	pthread_mutex_lock(&closer->lock);
	while ((link = closer->waiting)) {
		closer->waiting = link->next;
		pthread_mutex_unlock(&closer->lock);
		close_one(link);
		pthread_mutex_lock(&closer->lock);
	}
	if (!--closer->threads)
		pthread_cond_signal(&closer->none_left);
	pthread_mutex_unlock(&closer->lock);
	return NULL;
}

/* Signals are for the main thread. */
static bool start_thread(struct link_closer *closer)
{
	sigset_t all, before;
	pthread_t thread;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&thread, &closer->attributes, close_waiting, closer);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return !err;
}

/* Adds a link; returns whether one more thread is needed. */
static bool add(struct link_closer *closer, struct open_link *link)
{
	bool wanted;

	pthread_mutex_lock(&closer->lock);
	link->next = closer->waiting;
	closer->waiting = link;
	wanted = closer->threads < closer->threads_max;
	closer->threads += wanted;
	pthread_mutex_unlock(&closer->lock);
	return wanted;
}

void link_closer_close(struct link_closer *closer, struct open_link *links)
{
	while (links) {
		struct open_link *link = links;

		links = link->next;
		if (add(closer, link) && !start_thread(closer))
			close_waiting(closer);
	}
}
