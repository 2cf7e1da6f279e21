/*
 * unwind_target SHAPE: goes down to a read() that never returns, by a way that makes stacks hard to unwind; writes
 * one byte to standard output when it is about to get there. Built without frame pointers.
 */
#include <alloca.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))
#define INLINE   static inline __attribute__((always_inline))

static int pipe_ends[2];
static volatile int sink;

INLINE void block_inner(char *buffer)
{
	if (write(STDOUT_FILENO, "!", 1) != 1)
		abort();
	sink += (int)read(pipe_ends[0], buffer, 1);
	sink++;
}

INLINE void block_outer(int n)
{
	char buffer[64];

	memset(buffer, n, sizeof(buffer));
	block_inner(buffer);
	sink += buffer[1];
}

NOINLINE static int plain(int n)
{
	block_outer(n);
	return sink + n;
}

NOINLINE static int deep(int n)
{
	volatile char space[200];
	int result;

	space[n % 200] = (char)n;
	result = n ? deep(n - 1) : plain(3);
	return result + space[n % 200];
}

NOINLINE static int with_alloca(int n)
{
	char *space = alloca((size_t)n * 16 + 1);

	memset(space, n, (size_t)n * 16);
	sink += space[n];
	return plain(n) + space[n / 2];
}

NOINLINE static int realigned(int n)
{
	volatile char space[256] __attribute__((aligned(128)));

	space[n] = 1;
	return with_alloca(n) + space[n];
}

static int compare(const void *a, const void *b)
{
	if (!sink)
		plain(*(const int *)a);
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

static void handler(int signal_number)
{
	plain(signal_number);
}

NOINLINE static int by_signal(int n, int flags)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = flags };
	stack_t alternate = { .ss_size = 65536 };

	alternate.ss_sp = malloc(alternate.ss_size);
	if (flags & SA_ONSTACK)
		sigaltstack(&alternate, NULL);
	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
	return n + sink;
}

/* A fault in mid-function: the interrupted pc is no return address. */
NOINLINE static int by_fault(int n)
{
	struct sigaction action = { .sa_handler = handler };
	volatile int *nowhere = (volatile int *)8;

	sigaction(SIGSEGV, &action, NULL);
	sink += *nowhere;
	return n + sink;
}

static void *thread_main(void *argument)
{
	deep(*(int *)argument);
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

NOINLINE static int tail(int n)
{
	sink += n;
	return deep(n);
}

int main(int argc, char **argv)
{
	const char *shape = argc > 1 ? argv[1] : "plain";

	if (pipe(pipe_ends))
		return 1;
	if (strcmp(shape, "deep") == 0)
		return deep(60);
	if (strcmp(shape, "alloca") == 0)
		return with_alloca(40) + 1;
	if (strcmp(shape, "realigned") == 0)
		return realigned(40) + 1;
	if (strcmp(shape, "qsort") == 0)
		return by_qsort(5) + 1;
	if (strcmp(shape, "signal") == 0)
		return by_signal(5, 0) + 1;
	if (strcmp(shape, "altstack") == 0)
		return by_signal(5, SA_ONSTACK) + 1;
	if (strcmp(shape, "fault") == 0)
		return by_fault(5) + 1;
	if (strcmp(shape, "thread") == 0)
		return by_thread(10) + 1;
	if (strcmp(shape, "tail") == 0)
		return tail(4) + 1;
	return plain(1) + 1;
}
