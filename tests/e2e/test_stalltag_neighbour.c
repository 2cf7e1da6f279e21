/*
 * A program that tags its thread beside the SDK of test_stalltag_sdk.c and says what came of it, a line a
 *fact.
 *
 *	linked			the SDK is linked, before or after libstalltag: the link says
 *	before|after FLAG SDK	it is loaded before the first push, or under a tag; FLAG is local or global
 *	context SDK		it publishes nothing but a process context, before the first push
 *	unload LIBRARY		no SDK; libstalltag is loaded, used in a thread and closed before the thread
 *ends
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stalltag/stalltag.h"
#include "tests/e2e/test_stalltag_sdk.h"

#ifdef LINKED
#define find(handle, name) name
#else
#define find(handle, name) ((__typeof__(name) *)dlsym(handle, #name))
#endif

static int contexts(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[1024];
	int count = 0;

	while (maps && fgets(line, sizeof(line), maps))
		count += strstr(line, "OTEL_CTX") != NULL;
	if (maps)
		fclose(maps);
	return count;
}

static const uint8_t *in_slot(const char *name, const char *version)
{
	const uint8_t **slot = version ? dlvsym(RTLD_DEFAULT, name, version) : dlsym(RTLD_DEFAULT, name);

	return slot ? *slot : NULL;
}

static void tell(const char *when)
{
	const uint8_t *own = in_slot("stalltag_thread_ctx_v1", NULL);
	const uint8_t *public = in_slot("otel_thread_ctx_v1", "STALLTAG_PRIVATE");

	printf("%s: state %d, contexts %d, own %d, public %d\n", when, stalltag_public_state(), contexts(),
	       own ? own[23] : 0, public ? public[23] : 0);
}

static void *push_in_a_new_thread(void *unused)
{
	stalltag_push(4, "thread");
	stalltag_pop();
	return unused;
}

static void beside(const char *when, void *(*load)(const char *, const char *), const char *flag,
                   const char *path)
{
	void *handle = strcmp(when, "after") ? load(flag, path) : NULL;
	void (*attach)(uint8_t), (*detach)(void);
	const uint8_t *(*current)(void);
	pthread_t thread;

	stalltag_push(1, "a");
	tell("pushed");
	if (!strcmp(when, "after"))
		handle = load(flag, path);
	attach = find(handle, sdk_attach);
	detach = find(handle, sdk_detach);
	current = find(handle, sdk_current);
	attach(70);
	stalltag_push(2, "b");
	printf("sdk %d\n", current()[23]);
	tell("attached");
	attach(71);
	stalltag_pop();
	printf("sdk %d\n", current()[23]);
	pthread_create(&thread, NULL, push_in_a_new_thread, NULL);
	pthread_join(thread, NULL);
	stalltag_push(3, "c");
	printf("sdk %d\n", current()[23]);
	tell("after a new thread");
	stalltag_pop();
	detach();
	stalltag_pop();
	printf("sdk %d\n", current() != NULL);
	tell("popped");
}

static void *load_sdk(const char *flag, const char *path)
{
	void *handle = dlopen(path, RTLD_NOW | (strcmp(flag, "global") ? RTLD_LOCAL : RTLD_GLOBAL));

	if (!handle) {
		puts(dlerror());
		exit(1);
	}
	return handle;
}

static void *no_load(const char *flag, const char *path)
{
	(void)flag;
	(void)path;
	return NULL;
}

#ifndef LINKED
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

static void unload(const char *path)
{
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL), *again = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	pthread_t thread;

	pthread_barrier_init(&barrier, NULL, 2);
	pthread_create(&thread, NULL, tagged_thread, handle);
	pthread_barrier_wait(&barrier);
	printf("same %d, closed %d\n", handle == again, !dlclose(handle) && !dlclose(again));
	pthread_barrier_wait(&barrier);
	pthread_join(thread, NULL);
	puts("ended");
}
#endif

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	if (!strcmp(argv[1], "linked")) {
		beside("linked", no_load, NULL, NULL);
#ifndef LINKED
	} else if (argc == 4) {
		beside(argv[1], load_sdk, argv[2], argv[3]);
	} else if (!strcmp(argv[1], "context")) {
		find(load_sdk("local", argv[2]), sdk_publish)();
		stalltag_push(1, "a");
		tell("pushed");
		stalltag_pop();
	} else {
		unload(argv[2]);
#endif
	}
	return 0;
}
