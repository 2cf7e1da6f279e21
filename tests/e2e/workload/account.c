/* Sums what a thread spent under its tags and in its blocking calls, by its own clocks. */

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "stalltag/stalltag.h"
#include "tests/e2e/workload/account.h"

#define POINT_EVERY_NS 1000000u

int account_open(struct account *account, const char *tag_name, uint64_t first_id, size_t points_max)
{
	account->tag_name = tag_name;
	account->next_id = first_id;
	account->tid = (pid_t)syscall(SYS_gettid);
	account->cpu = sched_getcpu();
	account->points_max = points_max;
	if (points_max) {
		account->trace = calloc(points_max, sizeof(*account->trace));
		if (!account->trace)
			return -ENOMEM;
	}
	return thread_clock_open(&account->clock);
}

/* Taken away before the first tag and added after the last: these calls are slow. */
static void usage_count(struct account *account, int sign)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	account->sum.sleeps += (uint64_t)(sign * usage.ru_nvcsw);
	account->sum.preemptions += (uint64_t)(sign * usage.ru_nivcsw);
}

void account_close(struct account *account)
{
	if (account->sum.tags) {
		usage_count(account, 1);
		account->sum.blkio_delay_ns += thread_blkio_delay_ns();
	}
	thread_clock_close(&account->clock);
}

void account_free(struct account *account)
{
	free(account->trace);
	account->trace = NULL;
}

static void moment_take(struct account *account, struct moment *now)
{
	int err = thread_clock_read(&account->clock, now);

	if (err && !account->err)
		account->err = err;
}

static int64_t asleep_between(const struct moment *from, const struct moment *to)
{
	return (int64_t)(to->wall_ns - from->wall_ns) - (int64_t)(to->cpu_ns - from->cpu_ns) -
	       (int64_t)(to->runqueue_ns - from->runqueue_ns);
}

static void point_add(struct account *account, const struct moment *now)
{
	const struct moment *began = &account->tag_began;
	const struct totals *sum = &account->sum;

	if (!account->points_max)
		return;
	if (account->points && now->wall_ns - account->trace[account->points - 1].at_ns < POINT_EVERY_NS)
		return;
	if (account->points == account->points_max) {
		account->points_lost++;
		return;
	}
	account->trace[account->points++] = (struct trace_point){
		.at_ns = now->wall_ns,
		.wall_ns = sum->wall_ns + (now->wall_ns - began->first_ns),
		.cpu_ns = sum->cpu_ns + (now->cpu_ns - began->cpu_ns),
		.runqueue_ns = sum->runqueue_ns + (now->runqueue_ns - began->runqueue_ns),
		.stalled_ns = sum->stalled_ns + account->call_stalled_ns,
	};
}

void account_tag_begin(struct account *account)
{
	account->call_stalled_ns = 0;
	if (account->sum.tags == 0) {
		usage_count(account, -1);
		account->sum.blkio_delay_ns -= thread_blkio_delay_ns();
	}
	account->outer_cpu_ns = thread_cpu_ns();
	account->outer_wall_ns = monotonic_ns();
	stalltag_push(account->next_id++, account->tag_name);
	moment_take(account, &account->tag_began);
	point_add(account, &account->tag_began);
}

void account_tag_end(struct account *account)
{
	struct totals *sum = &account->sum;
	struct moment *began = &account->tag_began, now;

	moment_take(account, &now);
	stalltag_pop();
	sum->wall_outer_ns += monotonic_ns() - account->outer_wall_ns;
	sum->cpu_outer_ns += thread_cpu_ns() - account->outer_cpu_ns;
	point_add(account, &now);
	sum->wall_ns += now.wall_ns - began->first_ns;
	sum->cpu_ns += now.cpu_ns - began->cpu_ns;
	sum->runqueue_ns += now.runqueue_ns - began->runqueue_ns;
	sum->asleep_ns += asleep_between(began, &now);
	sum->stalled_ns += account->call_stalled_ns;
	sum->tags++;
	account->call_stalled_ns = 0;
}

void account_call_begin(struct account *account)
{
	moment_take(account, &account->call_began);
	point_add(account, &account->call_began);
}

static void migration_look(struct account *account)
{
	int cpu = sched_getcpu();

	account->sum.migrations += cpu != account->cpu;
	account->cpu = cpu;
}

/* Whether the call's time on run queues may be sleep: it lasted from the last move to the call's end. */
static void moved_look(struct account *account, const struct moment *now)
{
	uint64_t moved_at = account->moved_at_ns;
	uint64_t queued = now->runqueue_ns - account->call_began.runqueue_ns;

	if (moved_at > account->call_began.wall_ns && moved_at < now->first_ns &&
	    queued >= (now->wall_ns - moved_at) / 10 * 9)
		account->sum.moved_queue_ns += queued;
}

void account_call_end(struct account *account)
{
	struct moment now;

	moment_take(account, &now);
	account->call_stalled_ns += asleep_between(&account->call_began, &now);
	account->sum.calls++;
	moved_look(account, &now);
	migration_look(account);
	point_add(account, &now);
}

void account_look(struct account *account)
{
	struct moment now;

	if (account->points_max) {
		moment_take(account, &now);
		point_add(account, &now);
	}
	migration_look(account);
}
