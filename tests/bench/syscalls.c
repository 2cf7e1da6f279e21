/*
 * syscalls: a loop of the cheapest system call, for whoever hooks system calls or makes each thread pay.
 *
 *   syscalls [SECONDS]     prints calls a second
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? strtod(argv[1], NULL) : 3, began = now_s(), ended;
	unsigned long calls = 0;

	do {
		for (int i = 0; i < 5000; i++, calls++)
			syscall(SYS_getppid);
		ended = now_s();
	} while (ended - began < seconds);
	printf("%.1f\n", (double)calls / (ended - began));
	return 0;
}
