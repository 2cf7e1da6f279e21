/*
 * put_off [rounds=N wait_ms=N class=0|1]: a thread computes on a CPU where another one spins, and then waits for a byte in a pipe; while it
 * waits it is moved to another CPU, and there comes the byte. Since Linux 6.12 the scheduler puts off the dequeuing of such a thread, and
 * counts what it sleeps after the move as run queue. With class=1 it does so for half of the wait: a thread of SCHED_FIFO has the other CPU
 * until then, and when it leaves it the waiter's scheduling class is changed, and back. Prints the tag's line, and
 *   {"rounds", "waited_ns": from before each wait until the byte was written, by the clock; "counted_ns": what the scheduler counted}
 */
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/e2e/attack/attack.h"

static int pipe_ends[2];
static long rounds, wait_ms, class;
static _Atomic pid_t sleeper;
static _Atomic uint64_t began_ns; /* of the wait … */
static atomic_long waits;         /* … that is the so-many-eth */
static atomic_bool has_ended, over, hogs, hogging;

/* Two that this process may use. */
static int cpus[2];

static void find_cpus(void)
{
	cpu_set_t set;
	int n = 0;

	must(!sched_getaffinity(0, sizeof(set), &set) && CPU_COUNT(&set) >= 2, "two CPUs");
	for (int cpu = 0; n < 2; cpu++)
		if (CPU_ISSET(cpu, &set))
			cpus[n++] = cpu;
}

static void pin(pid_t tid, int which)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpus[which], &set);
	must(!sched_setaffinity(tid, sizeof(set), &set), "sched_setaffinity");
}

/* To SCHED_FIFO, and back: as a waiter on a lock with priority inheritance does to who holds it. */
static void change_class(pid_t tid)
{
	struct sched_param fifo = { .sched_priority = 1 }, other = { 0 };

	must(!sched_setscheduler(tid, SCHED_FIFO, &fifo), "SCHED_FIFO");
	must(!sched_setscheduler(tid, SCHED_OTHER, &other), "SCHED_OTHER");
}

static void *spin(void *arg)
{
	(void)arg;
	pin(0, 0);
	while (!over)
		compute_us(100);
	return NULL;
}

/* Has the other CPU while `hogs`. */
static void *hog(void *arg)
{
	struct sched_param fifo = { .sched_priority = 2 };

	(void)arg;
	pin(0, 1);
	must(!sched_setscheduler(0, SCHED_FIFO, &fifo), "SCHED_FIFO");
	while (!over) {
		while (hogs)
			hogging = true;
		hogging = false;
		sleep_us(100);
	}
	return NULL;
}

static void hog_begins(void)
{
	hogs = true;
	while (!hogging)
		sleep_us(100);
}

static void *wait_for_bytes(void *arg)
{
	struct held_tag tag;
	char byte;

	(void)arg;
	tag_open(&tag, 1, "put_off");
	sleeper = thread_id();
	for (long i = 0; i < rounds; i++) {
		pin(0, 0);
		spin_ms(5);
		began_ns = monotonic_ns();
		waits++;
		must(read(pipe_ends[0], &byte, 1) == 1, "read");
	}
	has_ended = true;
	tag_close(&tag);
	return NULL;
}

/* Whether the thread sleeps, by the kernel. */
static bool is_asleep(pid_t tid)
{
	char path[64], line[512] = "", *at;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	file = fopen(path, "r");
	if (!file || !fgets(line, sizeof(line), file))
		line[0] = '\0';
	if (file)
		fclose(file);
	at = strrchr(line, ')');
	return at && at[1] == ' ' && at[2] == 'S';
}

static uint64_t counted_ns(pid_t tid)
{
	uint64_t cpu, queue = 0;
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/schedstat", tid);
	file = fopen(path, "r");
	must(file && fscanf(file, "%" SCNu64 " %" SCNu64, &cpu, &queue) == 2, "schedstat");
	fclose(file);
	return queue;
}

int main(int argc, char **argv)
{
	uint64_t waited = 0, counted = 0;
	pthread_t spinner, waiter, hogger;

	rounds = argument(argc, argv, "rounds", 10);
	wait_ms = argument(argc, argv, "wait_ms", 300);
	class = argument(argc, argv, "class", 0);
	find_cpus();
	must(!pipe(pipe_ends), "pipe");
	must(!pthread_create(&spinner, NULL, spin, NULL), "thread");
	if (class) {
		pin(0, 0);
		must(!pthread_create(&hogger, NULL, hog, NULL), "thread");
	}
	must(!pthread_create(&waiter, NULL, wait_for_bytes, NULL), "thread");
	for (long i = 0; i < rounds; i++) {
		uint64_t before;

		while (waits <= i || !is_asleep(sleeper))
			sleep_us(200);
		before = counted_ns(sleeper);
		if (class)
			hog_begins();
		pin(sleeper, 1);
		sleep_ms((unsigned int)wait_ms / 2);
		if (class)
			change_class(sleeper);
		hogs = false;
		sleep_ms((unsigned int)wait_ms / 2);
		waited += monotonic_ns() - began_ns;
		must(write(pipe_ends[1], "x", 1) == 1, "write");
		while (waits == i + 1 && !has_ended)
			sleep_us(200);
		if (!has_ended)
			counted += counted_ns(sleeper) - before;
	}
	pthread_join(waiter, NULL);
	over = true;
	pthread_join(spinner, NULL);
	if (class)
		pthread_join(hogger, NULL);
	printf("{\"rounds\": %ld, \"waited_ns\": %" PRIu64 ", \"counted_ns\": %" PRIu64 "}\n", rounds, waited,
	       counted);
	return 0;
}
