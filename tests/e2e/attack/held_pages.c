/*
 * held_pages file=FILE [seconds=N wait_ms=N]: a thread reads FILE past the page cache, three levels deep, in frames of two pages each,
 * under the tag "held_pages"; or it waits for so long, again and again. Its stack is shared memory, and all of it but the innermost pages
 * is taken out of the page tables again and again: as the kernel holds pages back that a thread does not touch (NUMA balancing, swap).
 * Prints tag_close()'s line.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/e2e/attack/attack.h"

#define STACK_BYTES (1u << 20)
#define FRAME_BYTES 8192
#define READ_BYTES  65536
#define BLOCKS      64
#define PAGE        4096u
#define NOT_TAKEN   __attribute__((noinline, noclone))

static int file;
static char *stack;
static void *buffer;
static uint64_t until_ns;
static volatile bool over;
static long wait_ms;
static _Atomic uintptr_t innermost;

NOT_TAKEN static void read_blocks(void)
{
	innermost = (uintptr_t)__builtin_frame_address(0);
	while (wait_ms && monotonic_ns() < until_ns)
		sleep_ms((unsigned int)wait_ms);
	for (int i = 0; monotonic_ns() < until_ns; i++)
		must(pread(file, buffer, READ_BYTES, (off_t)(i % BLOCKS) * READ_BYTES) == READ_BYTES,
		     "pread");
}

#define LEVEL(name, callee)                                                                                  \
	NOT_TAKEN static void name(void)                                                                     \
	{                                                                                                    \
		volatile char room[FRAME_BYTES];                                                             \
                                                                                                             \
		room[0] = 1;                                                                                 \
		callee();                                                                                    \
		room[FRAME_BYTES - 1] = room[0];                                                             \
	}

LEVEL(level_three, read_blocks)
LEVEL(level_two, level_three)
LEVEL(level_one, level_two)

static void *run(void *arg)
{
	struct held_tag tag;

	(void)arg;
	tag_open(&tag, 1, "held_pages");
	level_one();
	tag_close(&tag);
	over = true;
	return NULL;
}

/* All pages above that in which the innermost frame begins. */
static void put_out(void)
{
	uintptr_t from = (innermost / PAGE + 1) * PAGE, end = (uintptr_t)stack + STACK_BYTES;

	if (innermost)
		madvise((void *)from, end - from, MADV_DONTNEED);
}

int main(int argc, char **argv)
{
	int stack_file = memfd_create("stack", MFD_CLOEXEC);
	pthread_attr_t attr;
	pthread_t thread;

	file = open(argument_text(argc, argv, "file", ""), O_RDWR | O_CREAT | O_DIRECT | O_CLOEXEC, 0600);
	must(file >= 0 && stack_file >= 0, "open");
	buffer = aligned_buffer(READ_BYTES);
	for (int i = 0; i < BLOCKS; i++)
		must(pwrite(file, buffer, READ_BYTES, (off_t)i * READ_BYTES) == READ_BYTES, "pwrite");
	must(ftruncate(stack_file, STACK_BYTES) == 0, "ftruncate");
	stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, stack_file, 0);
	must(stack != MAP_FAILED, "mmap");
	until_ns = monotonic_ns() + (uint64_t)argument(argc, argv, "seconds", 3) * 1000000000;
	wait_ms = argument(argc, argv, "wait_ms", 0);
	must(!pthread_attr_init(&attr) && !pthread_attr_setstack(&attr, stack, STACK_BYTES) &&
	             !pthread_create(&thread, &attr, run, NULL),
	     "thread");
	while (!over) {
		put_out();
		sleep_ms(2);
	}
	pthread_join(thread, NULL);
	return 0;
}
