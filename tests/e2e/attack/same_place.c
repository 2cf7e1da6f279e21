/* A library of functions that wait alike, with equal frames: called from one line, nothing but their return addresses tells them apart. */
#include <unistd.h>

#define WAITS(name, value)                                                                                   \
	__attribute__((noinline)) int name(int us)                                                           \
	{                                                                                                    \
		int result = usleep((useconds_t)us);                                                         \
                                                                                                             \
		__asm__ volatile("" ::"r"(&result) : "memory");                                              \
		return result + (value);                                                                     \
	}

WAITS(wait_alpha, 1)
WAITS(wait_beta, 2)
WAITS(wait_gamma, 3)
