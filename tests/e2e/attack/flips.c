/*
 * flips how=pipe|sleep|read count=N [file=FILE]: N short waits, each under the tag `inner`, which ends right after the wait; between them
 * some microseconds of work under the tag `outer`, which all else is under. So nothing is slept but under `inner`.
 *   pipe    a byte from another thread
 *   sleep   nanosleep of 10 us
 *   read    4 KiB of FILE, O_DIRECT
 */
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "attack.h"
#include "stalltag/stalltag.h"

static int there[2], back[2], file;
static char *buffer;
static off_t size, at;

static void *answers(void *unused)
{
	char byte;

	while (read(there[0], &byte, 1) == 1 && byte)
		must(write(back[1], &byte, 1) == 1, "write");
	return unused;
}

static void by_pipe(void)
{
	char byte = 1;

	must(write(there[1], &byte, 1) == 1 && read(back[0], &byte, 1) == 1, "pass");
}

static void by_sleep(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 10000 }, NULL);
}

static void by_read(void)
{
	must(pread(file, buffer, 4096, at) == 4096, "read");
	at = (at + 4096) % size;
}

static void work(void)
{
	volatile int sink = 0;

	for (int i = 0; i < 3000; i++)
		sink += i;
}

int main(int argc, char **argv)
{
	const char *how = argument_text(argc, argv, "how", "pipe"),
	           *path = argument_text(argc, argv, "file", NULL);
	void (*wait_once)(void) = !strcmp(how, "pipe") ? by_pipe : !strcmp(how, "sleep") ? by_sleep : by_read;
	long count = argument(argc, argv, "count", 10000);
	struct held_tag tag = { 0 };
	pthread_t thread;

	must(pipe(there) == 0 && pipe(back) == 0, "pipe");
	if (path) {
		buffer = aligned_buffer(4096);
		file = open(path, O_RDONLY | O_DIRECT);
		must(file >= 0, "open");
		size = lseek(file, 0, SEEK_END);
	}
	must(pthread_create(&thread, NULL, answers, NULL) == 0, "thread");
	tag_open(&tag, 1, "outer");
	for (long i = 0; i < count; i++) {
		stalltag_push(2, "inner");
		wait_once();
		stalltag_pop();
		work();
	}
	tag_close(&tag);
	must(write(there[1], "", 1) == 1, "write");
	pthread_join(thread, NULL);
	return 0;
}
