/*
 * calls: waits of a second in calls that hide what they are, each under a tag:
 *	int80.other	read of a pipe by int 0x80, the kernel's entry for 32-bit programs, which numbers its calls differently
 *	vfork.child	until the child of a vfork() exits
 *	clone.child	the same by clone(CLONE_VFORK), as posix_spawn() does it
 */
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attack.h"
#include "stalltag/stalltag.h"

static long int80(long nr, long first, long second, long third)
{
	long ret;

	asm volatile("int $0x80"
	             : "=a"(ret)
	             : "a"(nr), "b"(first), "c"(second), "d"(third)
	             : "memory", "r8", "r9", "r10", "r11");
	return ret;
}

static void read_by_int80(void)
{
	char *low = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	struct held_tag tag = { 0 };
	int ends[2];

	must(low != MAP_FAILED && pipe(ends) == 0, "memory, pipe");
	if (fork() == 0) {
		sleep_ms(1000);
		_exit(write(ends[1], "x", 1) != 1);
	}
	tag_open(&tag, 1, "int80.other");
	must(int80(3, ends[0], (long)low, 1) == 1, "read");
	tag_close(&tag);
}

static void wait_for_vfork(void)
{
	struct held_tag tag = { 0 };
	pid_t child;

	tag_open(&tag, 1, "vfork.child");
	child = vfork();
	if (child == 0) {
		sleep_ms(1000);
		_exit(0);
	}
	tag_close(&tag);
	must(child > 0, "vfork");
}

static int sleep_and_exit(void *unused)
{
	(void)unused;
	sleep_ms(1000);
	return 0;
}

static void wait_for_clone(void)
{
	static char stack[65536] __attribute__((aligned(16)));
	struct held_tag tag = { 0 };
	int child;

	tag_open(&tag, 1, "clone.child");
	child = clone(sleep_and_exit, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
	tag_close(&tag);
	must(child > 0, "clone");
}

int main(void)
{
	read_by_int80();
	wait_for_vfork();
	wait_for_clone();
	return 0;
}
