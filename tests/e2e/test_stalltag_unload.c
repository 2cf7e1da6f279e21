/*
 * A program that is not linked with libstalltag, loads it twice, closes it twice while a thread holds a tag,
 * and then lets the thread end: what runs at the thread's end must still be there, or must not be run.
 *
 *	unload LIBRARY
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

static pthread_barrier_t barrier;

static void *tagged_thread(void *handle)
{
	void (*push)(uint64_t, const char *) =
	        (void (*)(uint64_t, const char *))dlsym(handle, "stalltag_push");

	push(1, "held at exit");
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	return NULL;
}

int main(int argc, char **argv)
{
	const char *path = argc == 2 ? argv[1] : "";
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL), *again = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	pthread_t thread;

	pthread_barrier_init(&barrier, NULL, 2);
	pthread_create(&thread, NULL, tagged_thread, handle);
	pthread_barrier_wait(&barrier);
	printf("same %d, closed %d\n", handle == again, !dlclose(handle) && !dlclose(again));
	pthread_barrier_wait(&barrier);
	pthread_join(thread, NULL);
	puts("ended");
	return 0;
}
