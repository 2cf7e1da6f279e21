/*
 * A program that tags its thread beside the SDK of test_stalltag_sdk.c and says what came of it, a line
 * a fact.
 *
 *	linked			the SDK is linked, before or after libstalltag: the link says
 *	before|after FLAG SDK	it is loaded before the first push, or under a tag; FLAG is local or global
 *	context SDK		it publishes nothing but a process context, before the first push
 *	unload LIBRARY		no SDK; libstalltag is loaded, used in a thread and closed before the
 *				thread ends
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stalltag/stalltag.h"
#include "tests/e2e/test_stalltag_sdk.h"

#define find(handle, name) ((__typeof__(name) *)dlsym(handle, #name))

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

static void *load(const char *flag, const char *path)
{
	void *handle = dlopen(path, RTLD_NOW | (strcmp(flag, "global") ? RTLD_LOCAL : RTLD_GLOBAL));

	if (!handle) {
		puts(dlerror());
		exit(1);
	}
	return handle;
}

/* when: linked, before or after; flag: local or global. */
static void beside(const char *when, const char *flag, const char *path)
{
	void *handle = strcmp(when, "before") ? RTLD_DEFAULT : load(flag, path);
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

int main(int argc, char **argv)
{
	if (argc == 2) {
		beside("linked", NULL, NULL);
	} else if (argc == 4) {
		beside(argv[1], argv[2], argv[3]);
	} else if (argc == 3) {
		find(load("local", argv[2]), sdk_publish)();
		stalltag_push(1, "a");
		tell("pushed");
		stalltag_pop();
	}
	return argc < 2 || argc > 4;
}
