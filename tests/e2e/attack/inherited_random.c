/*
 * inherited_random seconds=N: threads rnd0 to rnd9, each under a tag of its name, that sleep, compute, hold locks and call each other at random.
 * The first CLIENTS go on for so long; the others are servers, which answer calls by pipes, and may call those after them meanwhile.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "attack.h"
#include "stalltag/stalltag.h"

#define CLIENTS 4
#define THREADS 10
#define LOCKS   3

struct actor {
	int number;
	unsigned int seed;
	int calls[2];   /* the write ends of the callers' replies, or -1: the end */
	int replies[2]; /* a byte when a call is answered */
};

static struct actor actors[THREADS];
static pthread_mutex_t locks[LOCKS] = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
	                                PTHREAD_MUTEX_INITIALIZER };
static uint64_t until_ns;

static int below(struct actor *self, int limit)
{
	return rand_r(&self->seed) / 7 % limit;
}

static void call(struct actor *self, struct actor *server)
{
	char byte;

	must(write(server->calls[1], &self->replies[1], sizeof(int)) == sizeof(int), "call");
	must(read(self->replies[0], &byte, 1) == 1, "reply");
}

/* Servers call only those after them, so that no two wait for each other. */
static void call_any(struct actor *self)
{
	int first = self->number < CLIENTS ? CLIENTS : self->number + 1;

	if (first < THREADS)
		call(self, &actors[first + below(self, THREADS - first)]);
}

static void hold_lock(struct actor *self)
{
	pthread_mutex_t *lock = &locks[below(self, LOCKS)];

	pthread_mutex_lock(lock);
	sleep_us(1000 + (unsigned int)below(self, 4000));
	compute_us(200);
	pthread_mutex_unlock(lock);
}

static void act(struct actor *self)
{
	for (int i = 1 + below(self, 2); i > 0; i--)
		switch (below(self, 4)) {
		case 0:
			sleep_us(1000 + (unsigned int)below(self, 7000));
			break;
		case 1:
			compute_us(300 + (unsigned int)below(self, 1500));
			break;
		case 2:
			hold_lock(self);
			break;
		default:
			call_any(self);
		}
}

static void serve(struct actor *self)
{
	int reply;

	while (read(self->calls[0], &reply, sizeof(reply)) == sizeof(reply) && reply >= 0) {
		act(self);
		must(write(reply, "x", 1) == 1, "answer");
	}
}

static void *run(void *argument)
{
	struct actor *self = argument;
	char name[16];

	snprintf(name, sizeof(name), "rnd%d", self->number);
	pthread_setname_np(pthread_self(), name);
	stalltag_push(1, name);
	if (self->number >= CLIENTS)
		serve(self);
	else
		while (monotonic_ns() < until_ns)
			act(self);
	stalltag_pop();
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	const int end = -1;

	until_ns = monotonic_ns() + (uint64_t)argument(argc, argv, "seconds", 8) * 1000000000ull;
	for (int i = 0; i < THREADS; i++) {
		actors[i].number = i;
		actors[i].seed = (unsigned int)i * 77 + 5;
		must(pipe(actors[i].calls) == 0 && pipe(actors[i].replies) == 0, "pipe");
	}
	for (int i = 0; i < THREADS; i++)
		must(pthread_create(&threads[i], NULL, run, &actors[i]) == 0, "thread");
	for (int i = 0; i < CLIENTS; i++)
		pthread_join(threads[i], NULL);
	for (int i = CLIENTS; i < THREADS; i++)
		must(write(actors[i].calls[1], &end, sizeof(end)) == sizeof(end), "end");
	for (int i = CLIENTS; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
