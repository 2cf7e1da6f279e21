/* Tests of a thread's first push at bad moments: in a signal handler that interrupts its other first push, fork() or its end, on a small
 * stack, in a thread that is cancelled, and when the program has ended. Pushes tags. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stalltag/publication.h"
#include "stalltag/stalltag.h"

#define DEADLOCK_S     2 /* by then SIGALRM ends a test that hangs */
#define GOOD           7 /* a child's exit status */
#define NO_SECCOMP     77
#define HANDLERS_BYTES 6144 /* of 8192, of which the kernel takes some */

static bool ending; /* the test for which this process was forked */
static __thread bool raises;
static __thread struct stalltag_thread *of_handler; /* the thread's tags, as its handler found or made them */
static __thread sigset_t blocked_amid; /* the signals, when a first push or a fork was last seen */

static void on_signal(int number)
{
	(void)number;
	stalltag_push(7, "handler");
	of_handler = stalltag_thread_tags;
	stalltag_pop();
}

static void interrupt_once(void)
{
	pthread_sigmask(SIG_BLOCK, NULL, &blocked_amid);
	if (raises) {
		raises = false;
		raise(SIGUSR1);
	}
}

/* In the place of the library's: called amid a thread's first push. */
stalltag_slot *stalltag_public_slot(void)
{
	static __thread stalltag_slot slot;

	interrupt_once();
	return &slot;
}

/* In the place of libc's, in this program: called at the end of a thread that has tags. */
int munmap(void *address, size_t bytes)
{
	long result = syscall(SYS_munmap, address, bytes);

	interrupt_once();
	return (int)result;
}

/* Before the library's constructor, so that its handler has run when this one does. */
__attribute__((constructor(101))) static void watch_forks_first(void)
{
	pthread_atfork(interrupt_once, NULL, NULL);
}

static void *push_and_end(void *unused)
{
	stalltag_push(1, "late");
	return unused;
}

/* After the library's destructors. A process that did not come as far as this says so by its status. */
__attribute__((destructor(101))) static void after_the_end(void)
{
	pthread_t thread;

	if (!ending)
		return;
	if (!pthread_create(&thread, NULL, push_and_end, NULL) && !pthread_join(thread, NULL))
		_exit(GOOD);
}

static bool blocked(void)
{
	sigset_t now;

	pthread_sigmask(SIG_BLOCK, NULL, &now);
	return sigismember(&now, SIGUSR1);
}

static void *push_interrupted(void *good)
{
	raises = true;
	stalltag_push(1, "thread");
	*(bool *)good =
	        of_handler && of_handler == stalltag_thread_tags && stalltag_depth() == 1 && !blocked();
	stalltag_pop();
	return NULL;
}

static void *end_interrupted(void *good)
{
	stalltag_push(1, "held at exit");
	*(bool *)good = true;
	raises = true;
	return NULL;
}

static void *fork_interrupted(void *good)
{
	int status = -1;
	pid_t child;

	raises = true;
	child = fork();
	if (!child) {
		stalltag_push(2, "child");
		_exit(stalltag_depth() == 1 && !blocked() ? GOOD : 1);
	}
	waitpid(child, &status, 0);
	*(bool *)good = of_handler && of_handler == stalltag_thread_tags && !stalltag_depth() && !blocked() &&
	                WIFEXITED(status) && WEXITSTATUS(status) == GOOD;
	return NULL;
}

static bool in_a_thread(void *(*run)(void *))
{
	pthread_t thread;
	bool good = false;

	assert_int_equal(pthread_create(&thread, NULL, run, &good), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	return good;
}

/* What run() returns in a child, for which the first push is the process's first; -1: a signal ended the child. */
static int in_a_child(int (*run)(void))
{
	int status = -1;
	pid_t child = fork();

	if (!child) {
		alarm(DEADLOCK_S);
		_exit(run());
	}
	alarm(2 * DEADLOCK_S);
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void *push_cancelled(void *good)
{
	pthread_cancel(pthread_self());
	stalltag_push(1, "cancelled");
	*(bool *)good = stalltag_depth() == 1 && !blocked();
	pthread_testcancel();
	*(bool *)good = false;
	return NULL;
}

static void *push_once(void *good)
{
	stalltag_push(2, "after it");
	*(bool *)good = stalltag_depth() == 1;
	return NULL;
}

static int cancelled_then_another(void)
{
	bool first = in_a_thread(push_cancelled), second = in_a_thread(push_once);

	return first && second ? GOOD : 1;
}

/* The first push has calls in it at which a thread may be cancelled, and holds a lock. */
static void test_stalltag_first_push__of_a_cancelled_thread(void **state)
{
	(void)state;
	assert_int_equal(in_a_child(cancelled_then_another), GOOD);
}

static bool may_be_cancelled(void)
{
	int before = PTHREAD_CANCEL_DISABLE;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	return before == PTHREAD_CANCEL_ENABLE;
}

static void *fork_cancelled(void *good)
{
	int status = -1;
	pid_t child;

	stalltag_push(1, "published");
	pthread_cancel(pthread_self());
	child = fork();
	if (!child)
		_exit(may_be_cancelled() && !blocked() ? GOOD : 1);
	*(bool *)good = may_be_cancelled() && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
	                WEXITSTATUS(status) == GOOD;
	return NULL;
}

static void test_stalltag_first_push__a_cancelled_thread_forks(void **state)
{
	(void)state;
	assert_true(in_a_thread(fork_cancelled));
}

/* Those that the thread's own instructions cause, which are not to be blocked, as the kernel then kills the process. */
static bool blocks_all_but_faults(const sigset_t *mask)
{
	static const int faults[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS };

	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		if (sigismember(mask, faults[i]))
			return false;
	return sigismember(mask, SIGUSR1) && sigismember(mask, SIGTERM) && sigismember(mask, SIGCHLD);
}

static void *push_and_fork(void *good)
{
	pid_t child;

	stalltag_push(1, "thread");
	*(bool *)good = blocks_all_but_faults(&blocked_amid);
	sigemptyset(&blocked_amid);
	child = fork();
	if (!child)
		_exit(0);
	*(bool *)good &= waitpid(child, NULL, 0) == child && blocks_all_but_faults(&blocked_amid);
	return NULL;
}

static void test_stalltag_first_push__faults_are_not_blocked(void **state)
{
	(void)state;
	assert_true(in_a_thread(push_and_fork));
}

/* As sandboxes do that serve a system call in SIGSYS's handler. Here it pushes, too, amid the thread's first push. */
static int push_trapped(void)
{
	struct sock_filter instructions[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_memfd_create, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { .len = sizeof(instructions) / sizeof(instructions[0]),
		                     .filter = instructions };
	struct stalltag_losses losses;

	signal(SIGSYS, on_signal);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
		return NO_SECCOMP;
	stalltag_push(1, "outer");
	stalltag_read_losses(&losses);
	if (!of_handler || of_handler == stalltag_thread_tags || losses.no_memory != 1 ||
	    stalltag_depth() != 1)
		return 1;
	stalltag_pop();
	return stalltag_depth() ? 2 : GOOD;
}

static void test_stalltag_first_push__a_system_call_is_trapped(void **state)
{
	int status = in_a_child(push_trapped);

	(void)state;
	if (status == NO_SECCOMP) {
		print_message("# SKIP this kernel has no seccomp filters\n");
		skip();
	}
	assert_int_equal(status, GOOD);
}

static char thread_stack[1 << 18] __attribute__((__aligned__(64)));

/* What it writes to its stack goes down from this frame; below there are zeros. */
static void *push_on_a_new_stack(void *taken)
{
	char *deepest = thread_stack;

	stalltag_push(1, "thread");
	while (!*deepest)
		deepest++;
	*(size_t *)taken = (size_t)((char *)__builtin_frame_address(0) - deepest);
	return NULL;
}

static int push_on_a_small_stack(void)
{
	pthread_attr_t attributes;
	size_t taken = SIZE_MAX;
	pthread_t thread;

	setenv("OTEL_RESOURCE_ATTRIBUTES", "run=42,job=a%20b", 1);
	if (pthread_attr_init(&attributes) ||
	    pthread_attr_setstack(&attributes, thread_stack, sizeof(thread_stack)) ||
	    pthread_create(&thread, &attributes, push_on_a_new_stack, &taken) || pthread_join(thread, NULL))
		return 1;
	return taken <= HANDLERS_BYTES ? GOOD : 2;
}

static void test_stalltag_first_push__on_a_small_stack(void **state)
{
	(void)state;
#ifdef __SANITIZE_ADDRESS__
	print_message("# SKIP frames are larger under AddressSanitizer\n");
	skip();
#endif
	assert_int_equal(in_a_child(push_on_a_small_stack), GOOD);
}

static void test_stalltag_first_push__fork_is_interrupted(void **state)
{
	(void)state;
	assert_true(in_a_thread(fork_interrupted));
}

static void test_stalltag_first_push__a_thread_has_one_stack(void **state)
{
	(void)state;
	assert_true(in_a_thread(push_interrupted));
}

static void test_stalltag_first_push__a_thread_that_ends_is_interrupted(void **state)
{
	(void)state;
	assert_true(in_a_thread(end_interrupted));
}

static void test_stalltag_first_push__the_program_has_ended(void **state)
{
	int status = -1;
	pid_t child;

	(void)state;
	child = fork();
	if (!child) {
		stalltag_push(1, "main");
		ending = true;
		exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), GOOD);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		/* First those in children, in which nothing is to have been pushed. */
		cmocka_unit_test(test_stalltag_first_push__of_a_cancelled_thread),
		cmocka_unit_test(test_stalltag_first_push__a_system_call_is_trapped),
		cmocka_unit_test(test_stalltag_first_push__on_a_small_stack),
		cmocka_unit_test(test_stalltag_first_push__a_cancelled_thread_forks),
		cmocka_unit_test(test_stalltag_first_push__faults_are_not_blocked),
		cmocka_unit_test(test_stalltag_first_push__a_thread_has_one_stack),
		cmocka_unit_test(test_stalltag_first_push__fork_is_interrupted),
		cmocka_unit_test(test_stalltag_first_push__a_thread_that_ends_is_interrupted),
		cmocka_unit_test(test_stalltag_first_push__the_program_has_ended),
	};

	signal(SIGUSR1, on_signal);
	alarm(DEADLOCK_S);
	return cmocka_run_group_tests_name("stalltag_first_push", tests, NULL, NULL);
}
