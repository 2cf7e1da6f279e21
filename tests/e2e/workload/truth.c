/*
 * truth: threads that stall on purpose and clock themselves, so that a profiler can be judged.
 *
 *   truth --seconds S --dir DIR --json FILE [--mode all|direct,fsync,fault,uring,cpu] [--tags-per-second N]
 *         [--flip-ms MS] [--throttle-cgroup CGROUP] [--trace]
 *
 * One thread a mode, each under a tag of its own; the main thread, untagged, moves every one of them to
 * another CPU each MS milliseconds (100). With --tags-per-second a thread pops and pushes its tag (same name,
 * next id) N times a second, catching up between its calls. Only the direct writer enters CGROUP (v1).
 * SIGTERM ends it early, as if the seconds were over.
 * --trace adds the sums over time, for a profiler that sees a part of the run only. Output: see
 * json_print().
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/e2e/workload/loads.h"

#define NS_PER_SEC 1000000000ull
#define MOST_LOADS 8
#define ID_STRIDE  100000000ull
#define POINTS_A_S 2500

struct options {
	double seconds;
	const char *dir, *json, *modes, *throttle_cgroup;
	unsigned long tags_per_second, flip_ms;
	bool trace;
};

struct worker {
	const struct load *load;
	const struct options *options;
	struct account account;
	struct load_state *state;
	pthread_t thread;
	pthread_barrier_t *ready;
	_Atomic pid_t tid;
	uint64_t began_ns;
	int err;
};

static volatile sig_atomic_t told_to_end;

static void on_sigterm(int number)
{
	(void)number;
	told_to_end = 1;
}

static bool mode_wanted(const char *modes, const char *mode)
{
	size_t len = strlen(mode);

	if (!strcmp(modes, "all"))
		return true;
	for (const char *at = modes; at && *at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
		if (!strncmp(at, mode, len) && (at[len] == ',' || at[len] == '\0'))
			return true;
	return false;
}

/* Changes the tag as often as the time since the begin asks for. */
static void retag(struct worker *worker, uint64_t now_ns)
{
	struct account *account = &worker->account;
	uint64_t due = (now_ns - worker->began_ns) / 1000 * worker->options->tags_per_second / 1000000;

	while (account->sum.tags < due) {
		account_tag_end(account);
		account_tag_begin(account);
	}
}

static void work(struct worker *worker)
{
	uint64_t now_ns = monotonic_ns(), until_ns;

	worker->began_ns = now_ns;
	until_ns = now_ns + (uint64_t)(worker->options->seconds * (double)NS_PER_SEC);
	account_tag_begin(&worker->account);
	while (!worker->err && !told_to_end && now_ns < until_ns) {
		worker->err = worker->load->step(worker->state, &worker->account);
		now_ns = monotonic_ns();
		if (worker->options->tags_per_second)
			retag(worker, now_ns);
	}
	account_tag_end(&worker->account);
}

static void *worker_run(void *arg)
{
	struct worker *worker = arg;
	const struct options *options = worker->options;
	size_t points = options->trace ? (size_t)((options->seconds + 5) * POINTS_A_S) : 0;
	uint64_t first_id = ID_STRIDE * (uint64_t)(worker->load - LOADS + 1);

	pthread_setname_np(pthread_self(), worker->load->tag);
	worker->err = worker->load->open(&worker->state, options->dir, options->throttle_cgroup);
	if (!worker->err)
		worker->err = account_open(&worker->account, worker->load->tag, first_id, points);
	pthread_barrier_wait(worker->ready);
	if (!worker->err) {
		worker->tid = worker->account.tid;
		work(worker);
		worker->tid = 0;
		account_close(&worker->account);
		worker->err = worker->err ? worker->err : worker->account.err;
	}
	worker->load->close(worker->state);
	return NULL;
}

/* Moves each living worker to the next allowed CPU; returns how many were left. */
static int flip(struct worker *workers, size_t count, const cpu_set_t *allowed, unsigned int turn)
{
	int cpus = CPU_COUNT(allowed), living = 0;

	for (size_t i = 0; i < count; i++) {
		pid_t tid = workers[i].tid;
		int skip = (int)((turn + i) % (unsigned int)cpus);
		cpu_set_t one;

		CPU_ZERO(&one);
		for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
			if (CPU_ISSET(cpu, allowed) && skip-- == 0)
				CPU_SET(cpu, &one);
		if (tid) {
			workers[i].account.moved_at_ns = monotonic_ns();
			sched_setaffinity(tid, sizeof(one), &one);
		}
		living += tid != 0;
	}
	return living;
}

static void conduct(struct worker *workers, size_t count, const struct options *options)
{
	struct timespec pause = { (time_t)(options->flip_ms / 1000),
		                  (long)(options->flip_ms % 1000) * 1000000 };
	cpu_set_t allowed;
	unsigned int turn = 0;

	sched_getaffinity(0, sizeof(allowed), &allowed);
	do
		nanosleep(&pause, NULL);
	while (flip(workers, count, &allowed, turn++));
}

static void trace_print(FILE *out, const struct account *account)
{
	fprintf(out, ",\n   \"points_lost\": %zu, \"trace\": [", account->points_lost);
	for (size_t i = 0; i < account->points; i++) {
		const struct trace_point *point = &account->trace[i];

		fprintf(out, "%s[%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRId64 "]", i ? "," : "",
		        point->at_ns, point->wall_ns, point->cpu_ns, point->runqueue_ns, point->stalled_ns);
	}
	fputc(']', out);
}

static void worker_print(FILE *out, const struct worker *worker)
{
	const struct totals *sum = &worker->account.sum;
	const struct {
		const char *key;
		int64_t value;
	} rows[] = {
		{ "tid", worker->account.tid },
		{ "first_id", (int64_t)(worker->account.next_id - sum->tags) },
		{ "tags", (int64_t)sum->tags },
		{ "wall_ns", (int64_t)sum->wall_ns },
		{ "wall_outer_ns", (int64_t)sum->wall_outer_ns },
		{ "cpu_ns", (int64_t)sum->cpu_ns },
		{ "cpu_outer_ns", (int64_t)sum->cpu_outer_ns },
		{ "runqueue_ns", (int64_t)sum->runqueue_ns },
		{ "stalled_ns", sum->stalled_ns },
		{ "asleep_ns", sum->asleep_ns },
		{ "blkio_delay_ns", (int64_t)sum->blkio_delay_ns },
		{ "calls", (int64_t)sum->calls },
		{ "bytes", (int64_t)sum->bytes },
		{ "sleeps", (int64_t)sum->sleeps },
		{ "preemptions", (int64_t)sum->preemptions },
		{ "migrations", (int64_t)sum->migrations },
		{ "warm_pages", (int64_t)sum->warm_pages },
		{ "moved_queue_ns", (int64_t)sum->moved_queue_ns },
		{ "reread", (int64_t)worker->account.clock.reread },
	};

	fprintf(out, "  {\"tag\": \"%s\", \"mode\": \"%s\"", worker->load->tag, worker->load->mode);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		fprintf(out, ", \"%s\": %" PRId64, rows[i].key, rows[i].value);
	if (worker->options->trace)
		trace_print(out, &worker->account);
	fputc('}', out);
}

/* {"workload", "pid", "seconds", "oracle", "realtime_offset_ns", "stolen_ns", "tags": [one a thread]}; a
 * trace point is [CLOCK_MONOTONIC, wall, cpu, runqueue, stalled]. */
static int json_print(const struct options *options, const struct worker *workers, size_t count,
                      uint64_t stolen)
{
	FILE *out = strcmp(options->json, "-") ? fopen(options->json, "we") : stdout;

	if (!out)
		return -errno;
	fprintf(out, "{\"workload\": \"truth\", \"pid\": %d, \"seconds\": %.3f, \"tags_per_second\": %lu,\n",
	        (int)getpid(), options->seconds, options->tags_per_second);
	fprintf(out, " \"oracle\": \"sum over calls of wall - thread cpu - schedstat run delay\",\n");
	fprintf(out, " \"realtime_offset_ns\": %" PRId64 ", \"stolen_ns\": %" PRIu64 ",\n \"tags\": [\n",
	        realtime_offset_ns(), stolen);
	for (size_t i = 0; i < count; i++) {
		worker_print(out, &workers[i]);
		fprintf(out, i + 1 < count ? ",\n" : "\n");
	}
	fprintf(out, " ]}\n");
	return fflush(out) || ferror(out) || (out != stdout && fclose(out)) ? -EIO : 0;
}

static int usage(void)
{
	fprintf(stderr,
	        "usage: truth --seconds S --dir DIR --json FILE [--mode all|direct,fsync,fault,uring,cpu]\n"
	        "       [--tags-per-second N] [--flip-ms MS] [--throttle-cgroup CGROUP] [--trace]\n");
	return 2;
}

static int options_parse(struct options *options, int argc, char **argv)
{
	static const struct option known[] = {
		{ "seconds", required_argument, NULL, 's' },
		{ "dir", required_argument, NULL, 'd' },
		{ "json", required_argument, NULL, 'j' },
		{ "mode", required_argument, NULL, 'm' },
		{ "trace", no_argument, NULL, 'r' },
		{ "tags-per-second", required_argument, NULL, 't' },
		{ "flip-ms", required_argument, NULL, 'f' },
		{ "throttle-cgroup", required_argument, NULL, 'c' },
		{ NULL, 0, NULL, 0 },
	};
	int found;

	while ((found = getopt_long(argc, argv, "", known, NULL)) != -1) {
		switch (found) {
		case 's':
			options->seconds = strtod(optarg, NULL);
			break;
		case 'd':
			options->dir = optarg;
			break;
		case 'j':
			options->json = optarg;
			break;
		case 'm':
			options->modes = optarg;
			break;
		case 'r':
			options->trace = true;
			break;
		case 't':
			options->tags_per_second = strtoul(optarg, NULL, 10);
			break;
		case 'f':
			options->flip_ms = strtoul(optarg, NULL, 10);
			break;
		case 'c':
			options->throttle_cgroup = optarg;
			break;
		default:
			return -EINVAL;
		}
	}
	return options->seconds > 0 && options->dir && options->flip_ms > 0 && optind == argc ? 0 : -EINVAL;
}

static size_t workers_start(struct worker *workers, const struct options *options, pthread_barrier_t *ready)
{
	size_t count = 0;

	for (size_t i = 0; i < LOADS_COUNT && i < MOST_LOADS; i++)
		if (mode_wanted(options->modes, LOADS[i].mode))
			workers[count++].load = &LOADS[i];
	if (!count)
		return 0;
	pthread_barrier_init(ready, NULL, (unsigned int)count + 1);
	for (size_t i = 0; i < count; i++) {
		workers[i].options = options;
		workers[i].ready = ready;
		if (pthread_create(&workers[i].thread, NULL, worker_run, &workers[i])) {
			fprintf(stderr, "truth: cannot start a thread: %s\n", strerror(errno));
			exit(1);
		}
	}
	pthread_barrier_wait(ready);
	return count;
}

int main(int argc, char **argv)
{
	struct options options = { .json = "-", .modes = "all", .flip_ms = 100 };
	struct sigaction ending = { .sa_handler = on_sigterm, .sa_flags = SA_RESTART };
	static struct worker workers[MOST_LOADS];
	pthread_barrier_t ready;
	uint64_t stolen;
	size_t count;
	int err = 0;

	if (options_parse(&options, argc, argv))
		return usage();
	sigaction(SIGTERM, &ending, NULL);
	count = workers_start(workers, &options, &ready);
	if (!count)
		return usage();
	stolen = stolen_ns();
	conduct(workers, count, &options);
	for (size_t i = 0; i < count; i++) {
		pthread_join(workers[i].thread, NULL);
		if (workers[i].err) {
			fprintf(stderr, "truth: %s: %s\n", workers[i].load->mode, strerror(-workers[i].err));
			err = workers[i].err;
		}
	}
	stolen = stolen_ns() - stolen;
	if (!err)
		err = json_print(&options, workers, count, stolen);
	for (size_t i = 0; i < count; i++)
		account_free(&workers[i].account);
	return err ? 1 : 0;
}
