/* Two threads hold a tag, one has never pushed. Prints what program.c prints, with 1 for each tag held. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "stalltag/stalltag.h"

static pthread_barrier_t ready;

static void print_thread(int held)
{
	uintptr_t thread_pointer;

	__asm__("mov %%fs:0, %0" : "=r"(thread_pointer));
	printf("thread %lx %d %d\n", (unsigned long)thread_pointer, held, held);
}

static void *run(void *pushes)
{
	if (pushes)
		stalltag_push(7, "pushes/1");
	print_thread(pushes != NULL);
	pthread_barrier_wait(&ready);
	pause();
	return NULL;
}

int main(void)
{
	pthread_t thread;
	char byte;

	pthread_barrier_init(&ready, NULL, 3);
	pthread_create(&thread, NULL, run, &ready);
	pthread_create(&thread, NULL, run, NULL);
	stalltag_push(8, "pushes/1");
	print_thread(1);
	pthread_barrier_wait(&ready);
	printf("ready\n");
	fflush(stdout);
	while (read(0, &byte, 1) > 0)
		;
	_exit(0);
}
