/*
 * inherited_attack SCENARIO...: threads that wait for each other in ways that are easily told wrongly. The thread that waits holds a tag with the
 * scenario's name. Each scenario prints a line of JSON, times in ns by the threads' own clocks (../workload/clocks.h):
 *   {"name", "wall_ns", "slept_ns", "queued_ns"}
 * wall_ns: for how long it slept in its waits. slept_ns: what of that those slept who kept it waiting. queued_ns: for how long it, and each
 * thread between it and a sleeper, waited for a CPU about these waits: what was slept before it came to wait at all is at most that.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attack.h"
#include "stalltag/stalltag.h"

#define NS_PER_US    UINT64_C(1000)
#define MOST_WORKERS 8
#define MOST_SLEEPS  20000
#define CHAIN        5
#define ROUNDS       12

/* Of one scenario; processes share it. */
struct sums {
	_Atomic uint64_t slept_ns, queued_ns;
};

struct scenario {
	const char *name;
	void (*run)(const struct scenario *scenario);
	const void *shape; /* what the scenario is told, if it is one of several that are alike */
};

static struct sums *sums;
static uint64_t wall_ns;
static sem_t asked, answered;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local struct thread_clock thread_clock;

/* --- threads and their clocks ------------------------------------------------------------------------------- */

/* Each thread begins with that, and a new process. */
static void enter(uint64_t id, const char *tag)
{
	must(thread_clock_open(&thread_clock) == 0, "schedstat");
	stalltag_push(id, tag);
}

/* The thread for which the scenario's waiter waits. */
static void enter_as_other(const struct scenario *scenario)
{
	char tag[32];

	snprintf(tag, sizeof(tag), "%s_b", scenario->name);
	enter(1, tag);
}

static void leave(void)
{
	stalltag_pop();
	thread_clock_close(&thread_clock);
}

static pthread_t started(void *(*body)(void *), const void *argument)
{
	pthread_t thread;

	must(pthread_create(&thread, NULL, body, (void *)argument) == 0, "thread");
	return thread;
}

static struct moment look(void)
{
	struct moment now;

	must(thread_clock_read(&thread_clock, &now) == 0, "clocks");
	return now;
}

/* For how long the thread slept between the two. */
static uint64_t asleep_between(const struct moment *began, const struct moment *ended)
{
	uint64_t wall = ended->wall_ns - began->wall_ns;
	uint64_t awake = ended->cpu_ns - began->cpu_ns + ended->runqueue_ns - began->runqueue_ns;

	return wall > awake ? wall - awake : 0;
}

/* Ends a wait that began then. */
static void waited_since(const struct moment *began)
{
	struct moment now = look();

	wall_ns += asleep_between(began, &now);
	sums->queued_ns += now.runqueue_ns - began->runqueue_ns;
}

/* For how long it slept: what the thread waited for a CPU afterwards is none of it. Since Linux 6.12 the kernel may count the rest of a sleep as
 * that, if the thread is moved meanwhile (../workload/account.h); no sleep is shorter than was asked for. */
static uint64_t slept_us(unsigned int us, struct moment *began)
{
	struct moment ended;
	uint64_t asleep_ns;

	*began = look();
	sleep_us(us);
	ended = look();
	asleep_ns = asleep_between(began, &ended);
	return asleep_ns > us * NS_PER_US ? asleep_ns : us * NS_PER_US;
}

/* A sleep that keeps the scenario's waiter waiting. */
static void delay_us(unsigned int us)
{
	struct moment began;

	sums->slept_ns += slept_us(us, &began);
}

static void await_byte(int fd)
{
	char byte;

	must(read(fd, &byte, 1) == 1, "read");
}

static void send_byte(int fd)
{
	must(write(fd, "x", 1) == 1, "write");
}

static void await(sem_t *semaphore)
{
	while (sem_wait(semaphore))
		must(errno == EINTR, "semaphore");
}

/* --- sleeps of which only a part may lie in a wait ------------------------------------------------------------ */

struct span {
	uint64_t begin_ns, end_ns;
};

static struct span sleeps[MOST_SLEEPS]; /* of one thread, or of those who have a lock in turn */
static atomic_size_t sleeps_n;

static void noted_sleep_us(unsigned int us)
{
	struct moment began;
	uint64_t ns = slept_us(us, &began);

	must(sleeps_n < MOST_SLEEPS, "sleeps");
	sleeps[sleeps_n] = (struct span){ began.wall_ns, began.wall_ns + ns };
	sleeps_n++;
}

/* Ends a wait that began then. All sleeps that began during it have been noted. */
static void noted_wait_since(const struct moment *began)
{
	uint64_t now_ns = monotonic_ns();

	waited_since(began);
	for (size_t i = sleeps_n; i > 0 && sleeps[i - 1].end_ns > began->wall_ns; i--) {
		const struct span *slept = &sleeps[i - 1];
		uint64_t begin_ns = slept->begin_ns > began->wall_ns ? slept->begin_ns : began->wall_ns;
		uint64_t end_ns = slept->end_ns < now_ns ? slept->end_ns : now_ns;

		sums->slept_ns += end_ns > begin_ns ? end_ns - begin_ns : 0;
	}
}

/* --- questions by pipes and sockets -------------------------------------------------------------------------- */

/* One writes to ask[1] and reads from answer[0], the other reads from ask[0] and writes to answer[1]. */
struct link {
	int ask[2], answer[2];
};

static struct link pipes(void)
{
	struct link link;

	must(pipe(link.ask) == 0 && pipe(link.answer) == 0, "pipe");
	return link;
}

static void ask(const struct link *link)
{
	send_byte(link->ask[1]);
	await_byte(link->answer[0]);
}

/* By a thread between the waiter and a sleeper. */
static void pass_on(const struct link *link)
{
	struct moment began = look();

	ask(link);
	sums->queued_ns += look().runqueue_ns - began.runqueue_ns;
}

static void wait_for(const struct link *link)
{
	struct moment began = look();

	ask(link);
	waited_since(&began);
}

/* Before it answers it asks others in turn, or sleeps, and computes. */
struct worker {
	struct link link;
	char tag[32];
	struct worker *others;
	int others_n;
	unsigned int delay_us, compute_us;
};

static struct worker workers[MOST_WORKERS];

static void *work(void *argument)
{
	const struct worker *worker = argument;

	enter(1, worker->tag);
	for (int i = 0; i < ROUNDS; i++) {
		await_byte(worker->link.ask[0]);
		for (int k = 0; k < worker->others_n; k++)
			pass_on(&worker->others[k].link);
		if (worker->delay_us)
			delay_us(worker->delay_us);
		compute_us(worker->compute_us);
		send_byte(worker->link.answer[1]);
	}
	leave();
	return NULL;
}

/* The scenario's waiter asks the worker, which is a thread. */
static void wait_for_worker(const struct scenario *scenario, struct worker *worker)
{
	pthread_t thread = started(work, worker);

	enter(1, scenario->name);
	for (int i = 0; i < ROUNDS; i++)
		wait_for(&worker->link);
	leave();
	pthread_join(thread, NULL);
}

/* unix: a peer behind a socket. */
static void run_unix(const struct scenario *scenario)
{
	struct worker worker = { .tag = "unix_b", .delay_us = 40000 };
	int ends[2];

	must(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "socketpair");
	worker.link = (struct link){ { ends[1], ends[0] }, { ends[0], ends[1] } };
	wait_for_worker(scenario, &worker);
}

/* chain: five threads, each of which asks the next; the last one sleeps. */
static void run_chain(const struct scenario *scenario)
{
	pthread_t threads[CHAIN];

	for (int i = 0; i < CHAIN; i++) {
		workers[i] = (struct worker){ .link = pipes(), .compute_us = 500 };
		snprintf(workers[i].tag, sizeof(workers[i].tag), "chain%d", i + 1);
		workers[i].others = &workers[i + 1];
		workers[i].others_n = i + 1 < CHAIN;
		workers[i].delay_us = i + 1 < CHAIN ? 0 : 40000;
	}
	for (int i = 1; i < CHAIN; i++)
		threads[i] = started(work, &workers[i]);
	wait_for_worker(scenario, &workers[0]);
	for (int i = 1; i < CHAIN; i++)
		pthread_join(threads[i], NULL);
}

struct collect_shape {
	bool processes, names; /* each worker is a process, has a tag of its own */
};

static void make_worker(struct worker *worker, const struct scenario *scenario, int number)
{
	const struct collect_shape *shape = scenario->shape;

	*worker = (struct worker){ .link = pipes(), .delay_us = 20000 };
	if (shape->names)
		snprintf(worker->tag, sizeof(worker->tag), "%s_w%d", scenario->name, number);
	else
		snprintf(worker->tag, sizeof(worker->tag), "%s_w", scenario->name);
}

static pid_t work_as_process(struct worker *worker)
{
	pid_t process = fork();

	must(process >= 0, "fork");
	if (process)
		return process;
	work(worker);
	_exit(0);
}

/* collect_...: a thread that is asked, and asks eight workers in turn. */
static void run_collect(const struct scenario *scenario)
{
	const struct collect_shape *shape = scenario->shape;
	struct worker between = { pipes(), "collector", workers, MOST_WORKERS, 0, 0 };
	pthread_t threads[MOST_WORKERS];
	pid_t processes[MOST_WORKERS];

	for (int i = 0; i < MOST_WORKERS; i++) {
		make_worker(&workers[i], scenario, i);
		if (shape->processes)
			processes[i] = work_as_process(&workers[i]);
		else
			threads[i] = started(work, &workers[i]);
	}
	wait_for_worker(scenario, &between);
	for (int i = 0; i < MOST_WORKERS; i++)
		if (shape->processes)
			must(waitpid(processes[i], NULL, 0) == processes[i], "waitpid");
		else
			pthread_join(threads[i], NULL);
}

/* --- wakers that end ------------------------------------------------------------------------------------------ */

/* child: processes that sleep, and end. They have their parent's tag. */
static void run_child(const struct scenario *scenario)
{
	enter(1, scenario->name);
	for (int i = 0; i < 12; i++) {
		struct moment began = look();
		pid_t process = fork();

		must(process >= 0, "fork");
		if (!process) {
			must(thread_clock_open(&thread_clock) == 0, "schedstat");
			delay_us(40000);
			_exit(0);
		}
		must(waitpid(process, NULL, 0) == process, "waitpid");
		waited_since(&began);
	}
	leave();
}

static void *die_thread(void *argument)
{
	const uint64_t *number = argument;
	char tag[32];

	snprintf(tag, sizeof(tag), "die_w/%" PRIu64, *number);
	enter(*number, tag);
	delay_us(15000);
	thread_clock_close(&thread_clock);
	sem_post(&answered);
	return NULL;
}

/* die: each wait is ended by a thread that ends then, with its tag, which is one of many. */
static void run_die(const struct scenario *scenario)
{
	enter(1, scenario->name);
	for (uint64_t number = 1; number <= 40; number++) {
		struct moment began = look();
		pthread_t thread = started(die_thread, &number);

		await(&answered);
		waited_since(&began);
		pthread_join(thread, NULL);
	}
	leave();
}

/* --- dense, compact, plain: one that sleeps nearly always, but less while it is waited for ---------------------------- */

struct doze_shape {
	unsigned int idle_us, pause_us; /* while it isn't asked: sleeps so long, computes so long */
	int sleeps;                     /* before it answers: computes so long, sleeps so long */
	unsigned int compute_us, sleep_us;
	int rounds;
	unsigned int rest_us; /* of the waiter, between its waits */
};

static atomic_bool question, over;

static void *doze(void *argument)
{
	const struct scenario *scenario = argument;
	const struct doze_shape *shape = scenario->shape;

	enter_as_other(scenario);
	while (!over) {
		noted_sleep_us(shape->idle_us);
		compute_us(shape->pause_us);
		if (!atomic_exchange(&question, false))
			continue;
		for (int i = 0; i < shape->sleeps; i++) {
			compute_us(shape->compute_us);
			noted_sleep_us(shape->sleep_us);
		}
		compute_us(shape->compute_us);
		sem_post(&answered);
	}
	leave();
	return NULL;
}

static void run_doze(const struct scenario *scenario)
{
	const struct doze_shape *shape = scenario->shape;
	pthread_t thread;

	question = over = false;
	thread = started(doze, scenario);
	enter(1, scenario->name);
	for (int i = 0; i < shape->rounds; i++) {
		struct moment began;

		stalltag_push(1, "rest_between");
		sleep_us(shape->rest_us);
		stalltag_pop();
		began = look();
		question = true;
		await(&answered);
		noted_wait_since(&began);
	}
	leave();
	over = true;
	pthread_join(thread, NULL);
}

/* --- wakers that do not wait while they are waited for ----------------------------------------------------------- */

struct turns_shape {
	unsigned int there_us, here_us;
	int rounds;
};

static void *other_turn(void *argument)
{
	const struct scenario *scenario = argument;
	const struct turns_shape *shape = scenario->shape;

	enter_as_other(scenario);
	for (int i = 0; i < shape->rounds; i++) {
		await(&asked);
		compute_us(shape->there_us);
		sem_post(&answered);
	}
	leave();
	return NULL;
}

/* Two that compute strictly in turn: each waits while the other does not. The other has waited long before it is asked at all. */
static void run_turns(const struct scenario *scenario)
{
	const struct turns_shape *shape = scenario->shape;
	pthread_t thread = started(other_turn, scenario);

	sleep_us(60000);
	enter(1, scenario->name);
	for (int i = 0; i < shape->rounds; i++) {
		struct moment began = look();

		sem_post(&asked);
		await(&answered);
		waited_since(&began);
		compute_us(shape->here_us);
	}
	leave();
	pthread_join(thread, NULL);
}

/* timed: waits that end by themselves. */
static void run_timed(const struct scenario *scenario)
{
	struct pollfd never = { eventfd(0, 0), POLLIN, 0 };

	must(never.fd >= 0, "eventfd");
	enter(1, scenario->name);
	for (int i = 0; i < 20; i++) {
		struct moment began = look();

		must(poll(&never, 1, 20) == 0, "poll");
		waited_since(&began);
	}
	leave();
}

/* --- convoy: five hold a mutex in turn, and sleep with it ---------------------------------------------------------- */

#define HOLDERS 5

static void *holder(void *unused)
{
	(void)unused;
	enter(1, "convoy_h");
	for (int i = 0; i < 12; i++) {
		pthread_mutex_lock(&mutex);
		noted_sleep_us(8000);
		pthread_mutex_unlock(&mutex);
		sleep_us(1000);
	}
	leave();
	return NULL;
}

static void run_convoy(const struct scenario *scenario)
{
	pthread_t threads[HOLDERS];

	for (int i = 0; i < HOLDERS; i++)
		threads[i] = started(holder, NULL);
	enter(1, scenario->name);
	for (int i = 0; i < 10; i++) {
		struct moment began = look();

		pthread_mutex_lock(&mutex);
		noted_wait_since(&began);
		pthread_mutex_unlock(&mutex);
		sleep_us(2000);
	}
	leave();
	for (int i = 0; i < HOLDERS; i++)
		pthread_join(threads[i], NULL);
}

static const struct scenario scenarios[] = {
	{ "unix", run_unix, NULL },
	{ "chain", run_chain, NULL },
	{ "child", run_child, NULL },
	{ "die", run_die, NULL },
	{ "collect_threads", run_collect, &(struct collect_shape){ false, false } },
	{ "collect_procs", run_collect, &(struct collect_shape){ true, false } },
	{ "collect_names", run_collect, &(struct collect_shape){ false, true } },
	/* Its short sleeps are longer than T, which is 100 us: shorter ones are nobody's. */
	{ "dense", run_doze, &(struct doze_shape){ 5000, 50, 40, 600, 150, 15, 150000 } },
	{ "compact", run_doze, &(struct doze_shape){ 20000, 700, 10, 5000, 1100, 15, 150000 } },
	{ "plain", run_doze, &(struct doze_shape){ 20000, 700, 3, 15000, 10000, 15, 100000 } },
	{ "spin", run_turns, &(struct turns_shape){ 30000, 0, 20 } },
	{ "timed", run_timed, NULL },
	{ "pp", run_turns, &(struct turns_shape){ 450, 300, 1000 } },
	{ "pp4", run_turns, &(struct turns_shape){ 3000, 3000, 120 } },
	{ "convoy", run_convoy, NULL },
};

static void run(const char *name)
{
	const struct scenario *scenario = scenarios,
	                      *end = scenarios + sizeof(scenarios) / sizeof(*scenarios);

	while (scenario < end && strcmp(scenario->name, name) != 0)
		scenario++;
	errno = EINVAL;
	must(scenario < end, name);
	must(sem_init(&asked, 0, 0) == 0 && sem_init(&answered, 0, 0) == 0, "semaphores");
	sums->slept_ns = sums->queued_ns = 0;
	sleeps_n = 0;
	wall_ns = 0;
	scenario->run(scenario);
	printf("{\"name\": \"%s\", \"wall_ns\": %" PRIu64 ", \"slept_ns\": %" PRIu64
	       ", \"queued_ns\": %" PRIu64 "}\n",
	       name, wall_ns, sums->slept_ns, sums->queued_ns);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	sums = mmap(NULL, sizeof(*sums), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	must(sums != MAP_FAILED, "mmap");
	for (int i = 1; i < argc; i++)
		run(argv[i]);
	return 0;
}
