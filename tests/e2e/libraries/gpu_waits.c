/*
 * gpu_waits library=FILE how=HOW [ms=N] [rounds=N] [before_ms=N]: waits in the stand-in for libcuda (standin_cuda.c), under a tag that is
 * named as HOW, and clocks each call.
 *   sleep    cuStreamSynchronize, five levels deep in functions of its own
 *   nested   cuMemcpyDtoH_v2, likewise
 *   spin     cuEventSynchronize
 *   jump     leaves cuCtxSynchronize by longjmp, and sleeps outside of the library, in frames below where it was and above
 *   exit     a thread ends in cuCtxSynchronize; afterwards the first thread sleeps outside of the library
 *   cost     waits for nothing: prints what a call of a hooked function takes, and of one that is not, {"hooked_ns", "bare_ns"}
 * With calls=N a function that is hooked and returns at once is called so often first.
 * Loads the library when it has slept for before_ms. delete=1 removes its file then, and replace=1 puts an empty one in its
 * place. With begun=FILE that is made when the rounds begin. Prints tag_close()'s line, and call_clock_close()'s
 * for the calls and for the sleeps outside of the library.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/e2e/attack/attack.h"
#include "tests/e2e/libraries/call_clock.h"

#define LEVELS    5
#define NOT_TAKEN __attribute__((noinline, noclone))

static int (*call)(long), (*hooked)(long), (*bare)(long);
static int (*call_and_leave)(void (*leave)(void));
static struct call_clock inside, outside;
static jmp_buf jump;

int gpu_level(int level, long ms);

NOT_TAKEN int gpu_level(int level, long ms)
{
	volatile int result;

	if (level)
		return gpu_level(level - 1, ms) + 1;
	call_begin(&inside);
	result = call(ms);
	call_end(&inside);
	return result;
}

static void sleep_outside(long ms)
{
	call_begin(&outside);
	sleep_ms((unsigned int)ms);
	call_end(&outside);
}

/* Overwrites nothing of what lies between its caller's frame and its callee's. */
NOT_TAKEN static void sleep_far_below(long ms)
{
	volatile char room[4096];

	room[0] = 1;
	sleep_outside(ms);
	room[4095] = room[0];
}

static void leave_by_jump(void)
{
	longjmp(jump, 1);
}

static void leave_by_exit(void)
{
	pthread_exit(NULL);
}

NOT_TAKEN static void jump_once(void)
{
	if (!setjmp(jump))
		call_and_leave(leave_by_jump);
}

static void *exit_at_once(void *arg)
{
	(void)arg;
	pthread_exit(NULL);
}

/* The first pthread_exit() loads libgcc, and may wait for the disk that it lies on. */
static void load_libgcc(void)
{
	pthread_t thread;

	must(pthread_create(&thread, NULL, exit_at_once, NULL) == 0, "thread");
	pthread_join(thread, NULL);
}

static void *exit_inside(void *arg)
{
	struct held_tag tag;

	(void)arg;
	tag_open(&tag, 2, "exits");
	call_and_leave(leave_by_exit);
	return NULL;
}

static void one_round(const char *how, long ms)
{
	pthread_t thread;

	if (!strcmp(how, "jump")) {
		jump_once();
		sleep_far_below(ms);
		sleep_outside(ms);
	} else if (!strcmp(how, "exit")) {
		must(pthread_create(&thread, NULL, exit_inside, NULL) == 0, "thread");
		pthread_join(thread, NULL);
		sleep_outside(ms);
	} else {
		gpu_level(LEVELS, ms);
	}
}

/* CPU time of a call that does nothing, the least of some batches. */
static double cost_ns(int (*function)(long))
{
	const int batches = 20, calls = 5000;
	uint64_t least = UINT64_MAX, before, took;

	for (int batch = 0; batch < batches; batch++) {
		before = thread_cpu_ns();
		for (int i = 0; i < calls; i++)
			function(i);
		took = thread_cpu_ns() - before;
		least = took < least ? took : least;
	}
	return (double)least / calls;
}

static void print_costs(void)
{
	printf("{\"hooked_ns\": %.1f, \"bare_ns\": %.1f}\n", cost_ns(hooked), cost_ns(bare));
}

static void load(const char *file, const char *how)
{
	const char *name = !strcmp(how, "nested") ? "cuMemcpyDtoH_v2"
	                   : !strcmp(how, "spin") ? "cuEventSynchronize"
	                                          : "cuStreamSynchronize";
	void *library = dlopen(file, RTLD_NOW);

	must(library != NULL, "dlopen");
	*(void **)&call = dlsym(library, name);
	*(void **)&call_and_leave = dlsym(library, "cuCtxSynchronize");
	*(void **)&hooked = dlsym(library, "cuMemFree_v2");
	*(void **)&bare = dlsym(library, "cuEventQuery");
	must(call && call_and_leave && hooked && bare, "dlsym");
}

static void delete (const char *file, bool replace)
{
	int other;

	must(unlink(file) == 0, "unlink");
	other = replace ? open(file, O_CREAT | O_EXCL | O_WRONLY, 0644) : 0;
	must(other >= 0, "open");
}

static void make(const char *file)
{
	int made = open(file, O_CREAT | O_WRONLY, 0644);

	must(made >= 0 && close(made) == 0, file);
}

static void *idle(void *arg)
{
	(void)arg;
	sleep_ms(600000);
	return NULL;
}

/* As the pools of threads of a training process are. */
static void start_idle(long threads)
{
	pthread_attr_t small;
	pthread_t thread;

	must(!pthread_attr_init(&small) && !pthread_attr_setstacksize(&small, 65536), "attributes");
	for (long i = 0; i < threads; i++)
		must(!pthread_create(&thread, &small, idle, NULL), "thread");
}

int main(int argc, char **argv)
{
	const char *how = argument_text(argc, argv, "how", "sleep"),
	           *file = argument_text(argc, argv, "library", ""),
	           *begun = argument_text(argc, argv, "begun", NULL);
	long ms = argument(argc, argv, "ms", 100), rounds = argument(argc, argv, "rounds", 20);
	struct held_tag tag;

	sleep_ms((unsigned int)argument(argc, argv, "before_ms", 0));
	load(file, how);
	if (!strcmp(how, "exit"))
		load_libgcc();
	if (argument(argc, argv, "delete", 0))
		delete (file, argument(argc, argv, "replace", 0));
	sleep_ms(500); /* a profiler learns of the library a moment after it was mapped */
	start_idle(argument(argc, argv, "idle", 0));
	call_clock_open(&inside, how);
	call_clock_open(&outside, "outside");
	tag_open(&tag, 1, how);
	wait_until_hooked(*(void **)&hooked);
	sleep_ms((unsigned int)argument(argc, argv, "tagged_ms",
	                                500)); /* … and attaches when something is tagged */
	if (!strcmp(how, "cost"))
		print_costs();
	for (long i = 0, calls = argument(argc, argv, "calls", 0); i < calls; i += 2) {
		hooked(i);
		hooked(i + 1); /* which returns to another place */
	}
	if (begun)
		make(begun);
	for (long i = 0; strcmp(how, "cost") != 0 && i < rounds; i++)
		one_round(how, ms);
	tag_close(&tag);
	call_clock_close(&inside);
	call_clock_close(&outside);
	return 0;
}
