/*
 * changes how=nested|signals|threads|forks [ms=N] [rate=N] [wait=1]: a thread's tag changes as often as `rate` a second, and each stretch
 * under a tag is clocked by the thread itself. Prints lines of JSON, which are to be summed by tag:
 *   {"tag", "first_id", "ids", "wall_ns", "outer_ns"}
 * A profiler sees a change somewhere inside of push or pop: the wall time lies between wall_ns and outer_ns.
 *   nested   three levels deep; at the middle one each id is new, at the others few come again and again
 *   signals  the same, interrupted by a signal handler with a tag of its own, each millisecond
 *   threads  the same, by many threads, each of which ends after some 100 changes
 *   forks    the same, by children that end after some 100 changes; `last` is what they hold at last, for a moment before _exit()
 * wait=1: begins when SIGUSR1 comes.
 */
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attack.h"
#include "stalltag/stalltag.h"

#define DEPTH    4
#define STEPS    5 /* a round of the outermost tag */
#define SHORT    5 /* rounds of a thread or child that ends soon */
#define ENDING   40
#define HANDLING "handler"

enum { OUTSIDE, EPOCH, STEP, PART, NAMES };
static const char *const names[NAMES] = { "outside", "epoch", "step", "part" };

struct books {
	uint64_t ns, outer_ns, first_id, ids;
};

/* When it was, and how long handlers had run by then: at most, at least. */
struct look {
	uint64_t ns, handled_outer_ns, handled_ns;
};

struct worker {
	struct books books[NAMES];
	int held[DEPTH], depth;
	struct look before, after; /* the last change */
	uint64_t next_ns, gap_ns;
};

static atomic_uint_fast64_t handled_ns, handled_outer_ns, handled;
static atomic_uint_fast64_t next_step = 1000;
static uint64_t gap_ns;

static struct look look(void)
{
	return (struct look){ monotonic_ns(), handled_outer_ns, handled_ns };
}

static void on_signal(int number)
{
	uint64_t before = monotonic_ns(), began, ended, after;

	(void)number;
	stalltag_push(7, HANDLING);
	began = monotonic_ns();
	while (monotonic_ns() < began + 5000)
		;
	ended = monotonic_ns();
	stalltag_pop();
	after = monotonic_ns();
	handled_ns += ended - began;
	handled_outer_ns += after - before;
	handled++;
}

static void book(struct worker *w, const struct look *before, const struct look *after)
{
	struct books *b = &w->books[w->held[w->depth]];

	b->ns += before->ns - w->after.ns - (before->handled_outer_ns - w->after.handled_outer_ns);
	b->outer_ns += after->ns - w->before.ns - (after->handled_ns - w->before.handled_ns);
	w->before = *before;
	w->after = *after;
}

static void pace(struct worker *w)
{
	w->next_ns += gap_ns;
	while (monotonic_ns() < w->next_ns)
		;
}

static void push(struct worker *w, int name, uint64_t id)
{
	struct look before = look(), after;

	stalltag_push(id, names[name]);
	after = look();
	book(w, &before, &after);
	w->held[++w->depth] = name;
	pace(w);
}

static void pop(struct worker *w)
{
	struct look before = look(), after;

	stalltag_pop();
	after = look();
	book(w, &before, &after);
	w->depth--;
	pace(w);
}

static void begin(struct worker *w)
{
	memset(w, 0, sizeof(*w));
	w->before = w->after = look();
	w->next_ns = w->after.ns;
}

/* One round; its ids count up from `first`. */
static void round_of(struct worker *w, uint64_t number, uint64_t first)
{
	push(w, EPOCH, 1 + number % 4);
	for (int i = 0; i < STEPS; i++) {
		push(w, STEP, first + i);
		push(w, PART, 1 + i % 3);
		pop(w);
		pop(w);
	}
	pop(w);
}

static void tell_line(const char *name, uint64_t first, uint64_t ids, const struct books *b)
{
	printf("{\"tag\": \"%s\", \"first_id\": %" PRIu64 ", \"ids\": %" PRIu64 ", \"wall_ns\": %" PRIu64
	       ", \"outer_ns\": %" PRIu64 "}\n",
	       name, first, ids, b->ns, b->outer_ns);
}

static void tell(const struct worker *w, uint64_t rounds, uint64_t first_step)
{
	flockfile(stdout);
	tell_line("epoch", 1, rounds < 4 ? rounds : 4, &w->books[EPOCH]);
	tell_line("part", 1, 3, &w->books[PART]);
	tell_line("step", first_step, rounds * STEPS, &w->books[STEP]);
	funlockfile(stdout);
}

static void *run_rounds(uint64_t rounds, uint64_t until_ns)
{
	static __thread struct worker w;
	uint64_t first = rounds ? atomic_fetch_add(&next_step, rounds * STEPS) : next_step, n;

	begin(&w);
	for (n = 0; rounds ? n < rounds : monotonic_ns() < until_ns; n++)
		round_of(&w, n, first + n * STEPS);
	tell(&w, n, first);
	return NULL;
}

static void *ends_soon(void *unused)
{
	(void)unused;
	return run_rounds(SHORT, 0);
}

static void run_threads(void)
{
	pthread_t threads[2];

	for (int i = 0; i < ENDING; i++) {
		for (int k = 0; k < 2; k++)
			must(pthread_create(&threads[k], NULL, ends_soon, NULL) == 0, "thread");
		for (int k = 0; k < 2; k++)
			pthread_join(threads[k], NULL);
	}
}

static void child(uint64_t number)
{
	static const struct books none;

	run_rounds(SHORT, 0);
	tell_line("last", 1 + number, 1, &none);
	fflush(stdout);
	stalltag_push(2, "before");
	stalltag_pop();
	stalltag_push(1 + number, "last");
	stalltag_pop();
	_exit(0);
}

/* The parent's tag changes, too, while a child has a copy of its log. */
static void run_forks(void)
{
	for (uint64_t i = 0; i < ENDING; i++) {
		pid_t pid;

		run_rounds(1, 0);
		fflush(stdout);
		pid = fork();
		must(pid >= 0, "fork");
		if (!pid)
			child(i);
		atomic_fetch_add(&next_step, SHORT * STEPS);
		run_rounds(1, 0);
		must(waitpid(pid, NULL, 0) == pid, "wait");
	}
}

static void run_signals(uint64_t until_ns)
{
	const struct itimerval each = { { 0, 1000 }, { 0, 1000 } }, never = { { 0, 0 }, { 0, 0 } };

	signal(SIGALRM, on_signal);
	setitimer(ITIMER_REAL, &each, NULL);
	run_rounds(0, until_ns);
	setitimer(ITIMER_REAL, &never, NULL);
	tell_line(HANDLING, 7, 1, &(struct books){ .ns = handled_ns, .outer_ns = handled_outer_ns });
}

int main(int argc, char **argv)
{
	const char *how = argument_text(argc, argv, "how", "nested");
	uint64_t ms = (uint64_t)argument(argc, argv, "ms", 1000);
	sigset_t awaited;
	int number;

	gap_ns = 1000000000 / (uint64_t)argument(argc, argv, "rate", 100000);
	sigemptyset(&awaited);
	sigaddset(&awaited, SIGUSR1);
	sigprocmask(SIG_BLOCK, &awaited, NULL);
	if (argument(argc, argv, "wait", 0))
		must(sigwait(&awaited, &number) == 0, "wait");
	if (!strcmp(how, "threads"))
		run_threads();
	else if (!strcmp(how, "forks"))
		run_forks();
	else if (!strcmp(how, "signals"))
		run_signals(monotonic_ns() + ms * 1000000);
	else
		run_rounds(0, monotonic_ns() + ms * 1000000);
	return 0;
}
