/* target SHAPE (aarch64): calls down to stop(), where gdb records the stack, in a way that the unwinder has to know. */
#include <alloca.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))

static volatile int sink;

/* A leaf: it saves nothing, the return address is in the link register. */
NOINLINE int stop(int n)
{
	__asm__ volatile("" ::: "memory");
	return n + sink;
}

NOINLINE static int plain(int n)
{
	return stop(n) + ++sink;
}

NOINLINE static int deep(int n)
{
	volatile char space[100];
	int result;

	space[n % 100] = (char)n;
	result = n ? deep(n - 1) : plain(3);
	return result + space[n % 100];
}

/* Nearly every register that a callee saves is used across the call. */
NOINLINE static int saving(int a, int b, int c, int d, int e, int f, int g, int h)
{
	int result = plain(a + b);

	return result + a * b + c * d + e * f + g * h + a + b + c + d + e + f + g + h;
}

NOINLINE static int with_alloca(int n)
{
	char *space = alloca((size_t)n * 16 + 1);

	memset(space, n, (size_t)n * 16);
	sink += space[n];
	return saving(n, 2, 3, 4, 5, 6, 7, 8) + space[n / 2];
}

static int compare(const void *a, const void *b)
{
	if (!sink)
		sink += with_alloca(10);
	return *(const int *)a - *(const int *)b;
}

NOINLINE static int by_qsort(int n)
{
	int values[16], i;

	for (i = 0; i < 16; i++)
		values[i] = (i * 7 + n) % 16;
	qsort(values, 16, sizeof(*values), compare);
	return values[n % 16];
}

static void handler(int number)
{
	sink += deep(number % 3);
}

NOINLINE static int by_signal(int n)
{
	struct sigaction action = { .sa_handler = handler };
	volatile int *nowhere = (volatile int *)8;

	sigaction(SIGSEGV, &action, NULL);
	sink += *nowhere;
	return n + sink;
}

static void *thread_main(void *argument)
{
	sink += deep(*(int *)argument);
	return NULL;
}

NOINLINE static int by_thread(int n)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, thread_main, &n))
		abort();
	pthread_join(thread, NULL);
	return n;
}

int main(int argc, char **argv)
{
	const char *shape = argc > 1 ? argv[1] : "";

	if (strcmp(shape, "deep") == 0)
		return deep(20) + 1;
	if (strcmp(shape, "qsort") == 0)
		return by_qsort(5) + 1;
	if (strcmp(shape, "signal") == 0)
		return by_signal(argc) + 1;
	if (strcmp(shape, "thread") == 0)
		return by_thread(5) + 1;
	return 1;
}
