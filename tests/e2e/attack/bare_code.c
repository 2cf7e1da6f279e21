/*
 * bare_code HOW SECONDS: spins in code that has no unwind tables.
 *	handler		a handler of SIGALRM, which came upon interrupted(), called by outer(): of musl, whose signal frames have no rules
 *	register	assembler that uses the frame pointer for something else: it leads to words that look like a frame of bait()
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static volatile int done;
static volatile unsigned long n;

/* Of CPU time. */
static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

__attribute__((noinline)) static void handled(double seconds)
{
	for (double end = now() + seconds; now() < end;)
		for (int i = 0; i < 100000; i++)
			n++;
}

static double for_seconds;

__attribute__((noinline)) static void on_alarm(int number)
{
	(void)number;
	handled(for_seconds);
	done = 1;
}

__attribute__((noinline)) static void interrupted(void)
{
	while (!done)
		n++;
}

__attribute__((noinline)) static void outer(void)
{
	interrupted();
	n++;
}

/* bare_spin(turns): its record of a frame is (up the stack, bait + 8), and that one's (0, no code). */
asm(".text\n"
    ".globl bait\n"
    ".type bait, @function\n"
    "bait:\n"
    "	.cfi_startproc\n"
    "	.skip 16, 0x90\n"
    "	ret\n"
    "	.cfi_endproc\n"
    ".size bait, . - bait\n"
    ".globl bare_spin\n"
    ".type bare_spin, @function\n"
    "bare_spin:\n"
    "	push %rbp\n"
    "	sub $64, %rsp\n"
    "	lea 16(%rsp), %rbp\n"
    "	lea 32(%rsp), %rax\n"
    "	mov %rax, 16(%rsp)\n"
    "	lea bait+8(%rip), %rax\n"
    "	mov %rax, 24(%rsp)\n"
    "	movq $0, 32(%rsp)\n"
    "	movq $1, 40(%rsp)\n"
    "	movq $0, (%rsp)\n"
    "1:	dec %rdi\n"
    "	jnz 1b\n"
    "	add $64, %rsp\n"
    "	pop %rbp\n"
    "	ret\n"
    ".size bare_spin, . - bare_spin\n");
void bare_spin(unsigned long turns);

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	for_seconds = atof(argv[2]);
	if (!strcmp(argv[1], "handler")) {
		signal(SIGALRM, on_alarm);
		ualarm(50000, 0);
		outer();
		return 0;
	}
	for (double end = now() + for_seconds; now() < end;)
		bare_spin(10000000);
	return 0;
}
