/*
 * slow_map FILE SECONDS: a thread under the tag "beside" waits for such short times that its stack is mostly not copied, and then for SECONDS.
 * Meanwhile another one maps FILE, of a file system whose server takes its time to write a page (slowfs), past the page cache, where that
 * page lies changed: the kernel writes it first, and until then the process's mappings are locked. Prints "maps" before it does so,
 *   {"mapped_ns": how long that took}
 * behind it, and the tag's line.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/e2e/attack/attack.h"

#define PAGE 4096

static atomic_bool maps;
static long seconds;

static void *wait_beside(void *arg)
{
	struct held_tag tag;

	(void)arg;
	tag_open(&tag, 1, "beside");
	while (!maps)
		sleep_us(100);
	for (int i = 0; i < 100; i++)
		sleep_us(100);
	sleep_ms((unsigned int)seconds * 1000);
	tag_close(&tag);
	return NULL;
}

/* A page of the file, which is written when it has been changed. */
static volatile char *shared_page(const char *path)
{
	int file = open(path, O_RDWR | O_CLOEXEC);
	char *page;

	must(file >= 0, path);
	page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	must(page != MAP_FAILED, "mmap");
	return page;
}

int main(int argc, char **argv)
{
	volatile char *page;
	pthread_t beside;
	uint64_t began;
	int direct;

	must(argc == 3, "slow_map FILE SECONDS");
	seconds = strtol(argv[2], NULL, 10);
	direct = open(argv[1], O_RDONLY | O_DIRECT | O_CLOEXEC); /* which writes what is changed, too */
	must(direct >= 0, "open with O_DIRECT");
	page = shared_page(argv[1]);
	must(!pthread_create(&beside, NULL, wait_beside, NULL), "thread");
	sleep_ms(3000);
	page[0]++; /* not earlier: another program may sync() all file systems */
	puts("maps");
	fflush(stdout);
	maps = true;
	began = monotonic_ns();
	must(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, direct, 0) != MAP_FAILED, "mmap past the page cache");
	printf("{\"mapped_ns\": %" PRIu64 "}\n", monotonic_ns() - began);
	fflush(stdout);
	pthread_join(beside, NULL);
	return 0;
}
