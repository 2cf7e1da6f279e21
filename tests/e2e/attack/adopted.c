/*
 * adopted file=FILE threads=N seconds=N: a process to be recorded by its pid. A child of it has ended, and nobody has waited for it; N
 * threads wait for a lock all the while; the main thread reads FILE, O_DIRECT, in read_all(). Prints {"zombie": PID} when all that is so.
 */
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attack.h"

static sem_t never;

static void *waits(void *unused)
{
	sem_wait(&never);
	return unused;
}

__attribute__((noinline)) static void read_all(int fd, char *buffer, uint64_t until_ns)
{
	off_t size = lseek(fd, 0, SEEK_END);

	for (off_t at = 0; monotonic_ns() < until_ns; at = (at + 65536) % size)
		must(pread(fd, buffer, 65536, at) == 65536, "read");
}

int main(int argc, char **argv)
{
	uint64_t seconds = (uint64_t)argument(argc, argv, "seconds", 3);
	int fd = open(argument_text(argc, argv, "file", ""), O_RDONLY | O_DIRECT);
	char *buffer = aligned_buffer(65536);
	pthread_attr_t small;
	pthread_t thread;
	siginfo_t info;
	pid_t child;

	must(fd >= 0, "open");
	sem_init(&never, 0, 0);
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 65536);
	for (long i = argument(argc, argv, "threads", 300); i; i--)
		must(pthread_create(&thread, &small, waits, NULL) == 0, "thread");
	child = fork();
	if (!child)
		_exit(0);
	must(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT) == 0, "child");
	printf("{\"zombie\": %d}\n", (int)child);
	fflush(stdout);
	read_all(fd, buffer, monotonic_ns() + seconds * 1000000000);
	return 0;
}
