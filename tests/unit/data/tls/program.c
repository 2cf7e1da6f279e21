/*
 * Sets the pointers in three threads, prints where each thread's thread pointer is and what it has set, and waits
 * until standard input ends. -DDLOPEN: the pointers are in the library argv[1], which the second thread loads.
 * -DOWN_STORAGE: the program has thread-local storage, too.
 *
 *	thread <thread pointer> <stalltag> <otel>
 *	ready
 * The last thread existed before the library was loaded and never touches it: it prints zeros.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef DLOPEN
static void (*set_slots)(void *, void *);
#else
void set_slots(void *stalltag, void *otel);
#endif

#ifdef OWN_STORAGE
__thread volatile int own_storage = 1;
#endif

static const char *library;
static pthread_barrier_t idle_is_there, loaded;

static void print_thread(uintptr_t stalltag, uintptr_t otel)
{
	uintptr_t thread_pointer;

	__asm__("mov %%fs:0, %0" : "=r"(thread_pointer));
	printf("thread %lx %lx %lx\n", (unsigned long)thread_pointer, (unsigned long)stalltag,
	       (unsigned long)otel);
}

static void set_and_print(uintptr_t stalltag, uintptr_t otel)
{
	set_slots((void *)stalltag, (void *)otel);
	print_thread(stalltag, otel);
}

static void *load(void *unused)
{
#ifdef DLOPEN
	void *handle = dlopen(library, RTLD_NOW);

	if (!handle) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	set_slots = (void (*)(void *, void *))dlsym(handle, "set_slots");
#endif
	set_and_print(0x1111, 0x2222);
	pthread_barrier_wait(&loaded);
	pause();
	return NULL;
}

static void *idle(void *unused)
{
	pthread_barrier_wait(&idle_is_there);
	pthread_barrier_wait(&loaded);
	print_thread(0, 0);
	printf("ready\n");
	fflush(stdout);
	pause();
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	char byte;

	library = argc > 1 ? argv[1] : NULL;
	pthread_barrier_init(&idle_is_there, NULL, 2);
	pthread_barrier_init(&loaded, NULL, 3);
	pthread_create(&thread, NULL, idle, NULL);
	pthread_barrier_wait(&idle_is_there);
	pthread_create(&thread, NULL, load, NULL);
	while (library && !set_slots)
		usleep(1000);
	set_and_print(0x3333, 0x4444);
	pthread_barrier_wait(&loaded);
	while (read(0, &byte, 1) > 0)
		;
	_exit(0);
}
