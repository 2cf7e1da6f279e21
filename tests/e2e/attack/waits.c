/*
 * waits count=N [rounds=R] [freezer=FOLDER]: waits that are no I/O, N of each kind, each kind under a tag of its own: sleep, futex, pipe,
 * socket, poll, epoll, timerfd, signal, flock, userfault, vfork, child, stopped, traced, frozen. What the thread waits for is done by
 * another thread, or a process that does it to this one. In round 2 the tags are sleep.2 and so on.
 */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <linux/futex.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "attack.h"

#define PAUSE_US 400

static long count, round_number;
static int pipes[2], sockets[2], polled[2], fault_fd, timer_fd, epoll_fd;
static char lock_path[] = "/var/tmp/stallprof-waits-XXXXXX";
static pthread_t main_thread;
static atomic_int word, holding, over;
static const char *freezer;

static void pause_us(long us)
{
	nanosleep(&(struct timespec){ .tv_nsec = us * 1000 }, NULL);
}

/* --- the other side: a thread a kind, which lets the main thread go after a while ----------------------------------- */
static void *wakes_futex(void *unused)
{
	for (long i = 1; i <= count; i++) {
		pause_us(PAUSE_US);
		word = (int)i;
		syscall(SYS_futex, &word, FUTEX_WAKE, 1, NULL, NULL, 0);
	}
	return unused;
}

static void *writes(void *fd)
{
	for (long i = 0; i < count; i++) {
		pause_us(PAUSE_US);
		must(write(*(int *)fd, "x", 1) == 1, "write");
	}
	return NULL;
}

static void *signals(void *unused)
{
	for (long i = 0; i < count; i++) {
		pause_us(PAUSE_US);
		pthread_kill(main_thread, SIGUSR1);
	}
	return unused;
}

static void *locks(void *unused)
{
	int fd = open(lock_path, O_RDWR);

	while (!over) {
		flock(fd, LOCK_EX);
		holding = 1;
		pause_us(PAUSE_US);
		holding = 0;
		flock(fd, LOCK_UN);
		pause_us(50);
	}
	close(fd);
	return unused;
}

static void *fills(void *unused)
{
	struct uffd_msg message;

	for (long i = 0; i < count; i++) {
		struct uffdio_zeropage zero = { 0 };

		must(read(fault_fd, &message, sizeof(message)) == sizeof(message), "userfaultfd");
		pause_us(PAUSE_US);
		zero.range.start = message.arg.pagefault.address & ~4095ull;
		zero.range.len = 4096;
		must(ioctl(fault_fd, UFFDIO_ZEROPAGE, &zero) == 0, "UFFDIO_ZEROPAGE");
	}
	return unused;
}

/* --- the waits -------------------------------------------------------------------------------------------------------- */
static void one_sleep(long i)
{
	(void)i;
	pause_us(PAUSE_US);
}

static void one_futex(long i)
{
	int seen;

	while ((seen = word) < (int)i + 1)
		syscall(SYS_futex, &word, FUTEX_WAIT, seen, NULL, NULL, 0);
}

static void take(int fd)
{
	char byte;

	must(read(fd, &byte, 1) == 1, "read");
}

static void one_pipe(long i)
{
	(void)i;
	take(pipes[0]);
}

static void one_socket(long i)
{
	(void)i;
	take(sockets[0]);
}

static void one_poll(long i)
{
	struct pollfd fd = { .fd = polled[0], .events = POLLIN };

	(void)i;
	must(poll(&fd, 1, -1) == 1, "poll");
	take(polled[0]);
}

static void one_epoll(long i)
{
	struct epoll_event event;

	(void)i;
	must(epoll_wait(epoll_fd, &event, 1, -1) == 1, "epoll");
	take(polled[0]);
}

static void one_timer(long i)
{
	struct itimerspec spec = { .it_value.tv_nsec = PAUSE_US * 1000 };
	uint64_t fired;

	(void)i;
	must(timerfd_settime(timer_fd, 0, &spec, NULL) == 0 && read(timer_fd, &fired, 8) == 8, "timerfd");
}

static void one_signal(long i)
{
	sigset_t set;

	(void)i;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigtimedwait(&set, NULL, &(struct timespec){ .tv_nsec = 2000000 });
}

static void one_flock(long i)
{
	static int fd = -1;

	(void)i;
	if (fd < 0)
		fd = open(lock_path, O_RDWR);
	for (int turn = 0; !holding && turn < 100000; turn++)
		;
	flock(fd, LOCK_EX);
	flock(fd, LOCK_UN);
}

static char *faulting;

static void one_fault(long i)
{
	(void)*(volatile char *)(faulting + i * 4096);
}

static void one_vfork(long i)
{
	pid_t child = vfork();

	(void)i;
	if (!child) {
		struct timespec pause = { .tv_nsec = PAUSE_US * 1000 };

		syscall(SYS_nanosleep, &pause, NULL);
		_exit(0);
	}
	waitpid(child, NULL, 0);
}

static void one_child(long i)
{
	pid_t child = fork();

	(void)i;
	if (!child) {
		pause_us(PAUSE_US);
		_exit(0);
	}
	waitpid(child, NULL, 0);
}

/* --- what is done to the whole process ------------------------------------------------------------------------------------ */
static void freeze(const char *state)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/freezer.state", freezer);
	fd = open(path, O_WRONLY);
	if (fd >= 0) {
		must(write(fd, state, strlen(state)) > 0, "freezer");
		close(fd);
	}
}

/* Moves a process into the freezer's group, or to where all are. */
static void move(pid_t process, const char *group)
{
	char path[4096], text[16];
	int fd, len = snprintf(text, sizeof(text), "%d", (int)process);

	snprintf(path, sizeof(path), "%s/cgroup.procs", group);
	fd = open(path, O_WRONLY);
	must(fd >= 0 && write(fd, text, (size_t)len) == len, path);
	close(fd);
}

static void done_to(pid_t victim, char kind)
{
	if (kind == 'f')
		move(victim, freezer);
	for (long i = 0; i < count / 8 + 1; i++) {
		if (kind == 's')
			kill(victim, SIGSTOP);
		else if (kind == 'f')
			freeze("FROZEN");
		else
			must(ptrace(PTRACE_INTERRUPT, victim, NULL, NULL) == 0 &&
			             waitpid(victim, NULL, __WALL) == victim,
			     "ptrace");
		pause_us(3000);
		if (kind == 's')
			kill(victim, SIGCONT);
		else if (kind == 'f')
			freeze("THAWED");
		else
			ptrace(PTRACE_CONT, victim, NULL, NULL);
		pause_us(1000);
	}
	if (kind == 'f')
		move(victim, dirname(strdup(freezer)));
	if (kind == 't')
		must(ptrace(PTRACE_INTERRUPT, victim, NULL, NULL) == 0 &&
		             waitpid(victim, NULL, __WALL) == victim &&
		             ptrace(PTRACE_DETACH, victim, NULL, NULL) == 0,
		     "detach");
	_exit(0);
}

/* The name of a tag in this round, good until the next call. */
static const char *in_round(const char *name)
{
	static char text[64];

	if (round_number == 1)
		return name;
	snprintf(text, sizeof(text), "%s.%ld", name, round_number);
	return text;
}

/* A helper does it to us while we use the CPU, until it ends. */
static void suffer(char kind, const char *name, uint64_t id)
{
	struct held_tag tag = { 0 };
	pid_t self = getpid(), helper = fork();

	if (!helper) {
		must(kind != 't' || ptrace(PTRACE_SEIZE, self, NULL, NULL) == 0, "PTRACE_SEIZE");
		done_to(self, kind);
	}
	tag_open(&tag, id, in_round(name));
	while (waitpid(helper, NULL, WNOHANG) == 0)
		spin_ms(1);
	tag_close(&tag);
}

static void kind(const char *name, uint64_t id, void (*one)(long), void *(*side)(void *), void *arg)
{
	struct held_tag tag = { 0 };
	pthread_t thread;

	if (side)
		must(pthread_create(&thread, NULL, side, arg) == 0, "thread");
	tag_open(&tag, id, in_round(name));
	for (long i = 0; i < count; i++)
		one(i);
	tag_close(&tag);
	over = 1;
	if (side)
		pthread_join(thread, NULL);
	over = 0;
}

static int userfault_open(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_MISSING };

	fault_fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	if (fault_fd < 0)
		return 0;
	faulting =
	        mmap(NULL, (size_t)count * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	range.range.start = (uintptr_t)faulting;
	range.range.len = (uint64_t)count * 4096;
	return ioctl(fault_fd, UFFDIO_API, &api) == 0 && ioctl(fault_fd, UFFDIO_REGISTER, &range) == 0;
}

static void prepare(void)
{
	struct epoll_event event = { .events = EPOLLIN };
	sigset_t set;

	main_thread = pthread_self();
	must(pipe(pipes) == 0 && pipe(polled) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0,
	     "pipe");
	epoll_fd = epoll_create1(0);
	must(epoll_ctl(epoll_fd, EPOLL_CTL_ADD, polled[0], &event) == 0, "epoll");
	timer_fd = timerfd_create(CLOCK_MONOTONIC, 0);
	must(mkstemp(lock_path) >= 0, lock_path);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
}

static void one_round(void)
{
	word = 0;
	kind("sleep", 1, one_sleep, NULL, NULL);
	kind("futex", 2, one_futex, wakes_futex, NULL);
	kind("pipe", 3, one_pipe, writes, &pipes[1]);
	kind("socket", 4, one_socket, writes, &sockets[1]);
	kind("poll", 5, one_poll, writes, &polled[1]);
	kind("epoll", 6, one_epoll, writes, &polled[1]);
	kind("timerfd", 7, one_timer, NULL, NULL);
	kind("signal", 8, one_signal, signals, NULL);
	kind("flock", 9, one_flock, locks, NULL);
	if (userfault_open())
		kind("userfault", 10, one_fault, fills, NULL);
	kind("vfork", 11, one_vfork, NULL, NULL);
	kind("child", 12, one_child, NULL, NULL);
	suffer('s', "stopped", 13);
	suffer('t', "traced", 14);
	if (freezer)
		suffer('f', "frozen", 15);
}

int main(int argc, char **argv)
{
	long rounds = argument(argc, argv, "rounds", 1);

	count = argument(argc, argv, "count", 300);
	freezer = argument_text(argc, argv, "freezer", NULL);
	prepare();
	for (round_number = 1; round_number <= rounds; round_number++)
		one_round();
	unlink(lock_path);
	return 0;
}
