/*
 * detours SHAPE: ways to a function other than a call from its caller's: signals, contexts, jumps, children, code
 * made at run time, what the loader calls. Each comes to `here`, and ends by itself.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define NOINLINE    __attribute__((noinline, noclone))
#define STACK_BYTES 65536

static volatile int sink;

NOINLINE static int here(int n)
{
	sink += n;
	return sink;
}

static void handler(int signal_number)
{
	here(signal_number);
}

static void handler_with_info(int signal_number, siginfo_t *info, void *context)
{
	here(signal_number + info->si_code);
	(void)context;
}

/* Another signal on top of the first. */
static void nesting_handler(int signal_number)
{
	sink += signal_number;
	raise(SIGUSR2);
	sink--;
}

static void on_signal(int signal_number, void (*f)(int), int flags)
{
	struct sigaction action = { .sa_handler = f, .sa_flags = flags };

	sigaction(signal_number, &action, NULL);
}

static void *alternate_stack(void)
{
	stack_t alternate = { .ss_size = STACK_BYTES };

	alternate.ss_sp = malloc(STACK_BYTES);
	sigaltstack(&alternate, NULL);
	return alternate.ss_sp;
}

NOINLINE static int by_signal(int flags)
{
	if (flags & SA_ONSTACK)
		alternate_stack();
	on_signal(SIGUSR1, handler, flags);
	raise(SIGUSR1);
	return sink;
}

NOINLINE static int by_nested_signals(int first_flags, int second_flags)
{
	alternate_stack();
	on_signal(SIGUSR1, nesting_handler, first_flags);
	on_signal(SIGUSR2, handler, second_flags);
	raise(SIGUSR1);
	return sink;
}

/* A system call that a signal interrupts. */
NOINLINE static int by_alarm(void)
{
	on_signal(SIGALRM, handler, 0);
	ualarm(20000, 0);
	pause();
	return sink;
}

static sigjmp_buf after_fault;

static void leave_fault(int signal_number)
{
	here(signal_number);
	siglongjmp(after_fault, 1);
}

/* Its first instruction faults, so what is before the interrupted pc belongs to another function. */
__attribute__((naked, noinline)) static void faulty(void)
{
	__asm__("movl 8, %eax\n\tret");
}

NOINLINE static int by_fault(void)
{
	struct sigaction action = { .sa_sigaction = handler_with_info, .sa_flags = SA_SIGINFO };

	sigaction(SIGUSR2, &action, NULL);
	on_signal(SIGSEGV, leave_fault, SA_NODEFER);
	if (!sigsetjmp(after_fault, 1))
		faulty();
	raise(SIGUSR2);
	return sink;
}

static ucontext_t main_context, other_context;

static void coroutine(int n)
{
	here(n);
	swapcontext(&other_context, &main_context);
	here(n + 1);
}

NOINLINE static int by_context(void)
{
	getcontext(&other_context);
	other_context.uc_stack.ss_sp = malloc(STACK_BYTES);
	other_context.uc_stack.ss_size = STACK_BYTES;
	other_context.uc_link = &main_context;
	makecontext(&other_context, (void (*)(void))coroutine, 1, 7);
	swapcontext(&main_context, &other_context);
	swapcontext(&main_context, &other_context);
	return sink;
}

static jmp_buf back;

NOINLINE static int jumper(int n)
{
	here(n);
	longjmp(back, n);
}

NOINLINE static int by_jump(void)
{
	int n = setjmp(back);

	if (!n)
		return jumper(5);
	return here(n);
}

NOINLINE static int by_vfork(void)
{
	pid_t child = vfork();

	if (!child) {
		here(1);
		_exit(0);
	}
	here(2);
	return waitpid(child, NULL, 0) == child;
}

static int clone_main(void *argument)
{
	return here(*(int *)argument) & 0;
}

NOINLINE static int by_clone(void)
{
	char *stack = malloc(STACK_BYTES);
	int n = 3;
	pid_t child = clone(clone_main, stack + STACK_BYTES, CLONE_VM | SIGCHLD, &n);

	return waitpid(child, NULL, 0) == child;
}

static void *thread_main(void *argument)
{
	here(*(int *)argument);
	return NULL;
}

NOINLINE static int by_thread(void)
{
	pthread_t thread;
	int n = 4;

	pthread_create(&thread, NULL, thread_main, &n);
	return pthread_join(thread, NULL);
}

/* push %rbp; mov %rsp,%rbp; sub $16,%rsp; mov $1,%edi; call *%rax; leave; ret; with rax loaded before the call. */
NOINLINE static int by_jit(int (*f)(int))
{
	static const uint8_t head[] = { 0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x10, 0x48, 0xb8 };
	static const uint8_t tail[] = { 0xbf, 1, 0, 0, 0, 0xff, 0xd0, 0xc9, 0xc3 };
	uint8_t *code =
	        mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int (*made)(void);

	memcpy(code, head, sizeof(head));
	memcpy(code + sizeof(head), &f, sizeof(f));
	memcpy(code + sizeof(head) + sizeof(f), tail, sizeof(tail));
	memcpy(&made, &code, sizeof(made));
	return made() + sink;
}

static void at_exit(void)
{
	here(9);
}

__attribute__((destructor)) static void at_unload(void)
{
	here(10);
}

NOINLINE static int by_clock(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return here((int)ts.tv_sec);
}

NOINLINE static int by_dlopen(const char *path)
{
	void *library = dlopen(path, RTLD_LAZY);

	return library ? here(1) + dlclose(library) : here(2);
}

static int run(const char *shape, const char *argument)
{
	if (strcmp(shape, "signal") == 0)
		return by_signal(0);
	if (strcmp(shape, "altstack") == 0)
		return by_signal(SA_ONSTACK);
	if (strcmp(shape, "nested") == 0)
		return by_nested_signals(0, 0);
	if (strcmp(shape, "nested_altstack") == 0)
		return by_nested_signals(0, SA_ONSTACK);
	if (strcmp(shape, "alarm") == 0)
		return by_alarm();
	if (strcmp(shape, "fault") == 0)
		return by_fault();
	if (strcmp(shape, "context") == 0)
		return by_context();
	if (strcmp(shape, "jump") == 0)
		return by_jump();
	if (strcmp(shape, "vfork") == 0)
		return by_vfork();
	if (strcmp(shape, "clone") == 0)
		return by_clone();
	if (strcmp(shape, "thread") == 0)
		return by_thread();
	if (strcmp(shape, "jit") == 0)
		return by_jit(here);
	if (strcmp(shape, "clock") == 0)
		return by_clock();
	if (strcmp(shape, "dlopen") == 0)
		return by_dlopen(argument);
	return atexit(at_exit);
}

int main(int argc, char **argv)
{
	run(argc > 1 ? argv[1] : "exit", argc > 2 ? argv[2] : "");
	return 0;
}
