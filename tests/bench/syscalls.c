/*
 * syscalls: a loop of the cheapest system call, to measure profilers that hook system calls or slow down every thread.
 *
 *   syscalls [SECONDS]     prints calls a second, and by second of its own CPU time
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static double clock_s(clockid_t id)
{
	struct timespec now;

	clock_gettime(id, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? strtod(argv[1], NULL) : 3, began = clock_s(CLOCK_MONOTONIC), ended;
	unsigned long calls = 0;

	do {
		for (int i = 0; i < 5000; i++, calls++)
			syscall(SYS_getppid);
		ended = clock_s(CLOCK_MONOTONIC);
	} while (ended - began < seconds);
	printf("%.1f %.1f\n", (double)calls / (ended - began),
	       (double)calls / clock_s(CLOCK_PROCESS_CPUTIME_ID));
	return 0;
}
