/*
 * relay steps=N sleep_ms=N: a process that waits in one of two functions, and executes this program again as soon as it wakes, until all
 * steps are done. Prints each wait by its own clock: {"function", "ns"}.
 */
#include <stdio.h>
#include <unistd.h>

#include "attack.h"

static __attribute__((noinline)) void waits_odd(unsigned int ms)
{
	sleep_ms(ms);
	__asm__ volatile("# odd" ::: "memory"); /* no tail call, and no function like the other */
}

static __attribute__((noinline)) void waits_even(unsigned int ms)
{
	sleep_ms(ms);
	__asm__ volatile("# even" ::: "memory");
}

int main(int argc, char **argv)
{
	long steps = argument(argc, argv, "steps", 20), ms = argument(argc, argv, "sleep_ms", 30);
	char left[32], length[32];
	uint64_t began_ns;

	if (!steps)
		return 0;
	snprintf(left, sizeof(left), "steps=%ld", steps - 1);
	snprintf(length, sizeof(length), "sleep_ms=%ld", ms);
	began_ns = monotonic_ns();
	if (steps % 2)
		waits_odd((unsigned int)ms);
	else
		waits_even((unsigned int)ms);
	dprintf(1, "{\"function\": \"%s\", \"ns\": %lu}\n", steps % 2 ? "waits_odd" : "waits_even",
	        (unsigned long)(monotonic_ns() - began_ns));
	execl("/proc/self/exe", argv[0], left, length, NULL);
	must(0, "execl");
}
