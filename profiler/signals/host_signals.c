/* The threads that read signals, and what they have read so far. */

#include "profiler/signals/host_signals.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "profiler/format/stamp.h"
#include "profiler/format/timeline.h"
#include "profiler/signals/gpu_signals.h"
#include "profiler/signals/signal_cgroups.h"
#include "profiler/signals/signal_files.h"
#include "symbolizer/base/clock.h"

#define GPU_TICK_MAX_NS 5000000000ULL
#define LOOK_NS         500000000ULL   /* between looks for cgroups, at least */
#define DEVICES_NS      10000000000ULL /* between looks for devices */
#define LOOK_BUDGET     0.0001         /* CPUs, of the budget, for each of the two */
#define POINTS_MAX      (1u << 16)
#define SLACK_NS        1000000UL
#define PATIENCE_NS     1000000000ULL
#define IDLE_NS         3000000000ULL
#define IDLE_STRETCH    4
#define JUDGE_NS        2000000000ULL /* how often the cost is looked at */
/* After so long within the budget one source is read more often again; twice as long each time that this proves too dear. */
#define QUIET_NS     30000000000ULL
#define QUIET_MAX_NS 600000000000ULL

struct host_signals {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool run, stop;            /* under the lock, as the next six */
	struct timeline *timeline; /* what was read since it was taken last */
	struct signal_cgroups cgroups;
	struct signal_files files;
	char no_gpus[256];       /* why; "": there are some */
	bool gpus_read;          /* they have been asked */
	unsigned int gpus_told;  /* what any of them said, of enum nvml_value */
	_Atomic uint64_t ran_ns; /* when a followed process was told to have run */
	/* Of the threads alone: */
	char text[SIGNAL_TEXT_BYTES];
	uint64_t tick, turns; /* the last one */
	unsigned int stretch; /* how many times as long the pauses are as chosen */
	uint64_t look_ns;     /* when to look for cgroups again */
	uint64_t devices_ns;  /* when to look for devices again */
	bool rates_chosen;
	uint64_t judged_ns, judged_cpu_ns; /* when the cost was last looked at */
	uint64_t changed_ns, quiet_ns; /* when a rate was last changed, and for how long it stays at least */
	bool sped_up;                  /* the last change */
	struct gpu_signals gpus;
	/* Of the owner: */
	bool started, has_reader, has_gpu_reader;
	pthread_t reader, gpu_reader;
};

struct host_signals *host_signals_new(void)
{
	struct host_signals *signals = calloc(1, sizeof(*signals));

	if (!signals)
		return NULL;
	signals->timeline = timeline_new(POINTS_MAX);
	if (!signals->timeline) {
		free(signals);
		errno = ENOMEM;
		return NULL;
	}
	pthread_mutex_init(&signals->lock, NULL);
	pthread_cond_init(&signals->changed, NULL);
	snprintf(signals->no_gpus, sizeof(signals->no_gpus), "not looked for yet");
	signal_files_open(&signals->files, "");
	return signals;
}

/* --- the threads -------------------------------------------------------------------------------------------- */

/* Waits until it is to read, or is to no longer. False: it is to end. */
static bool wait_until(struct host_signals *signals, bool run)
{
	bool stop;

	pthread_mutex_lock(&signals->lock);
	while (signals->run != run && !signals->stop)
		pthread_cond_wait(&signals->changed, &signals->lock);
	stop = signals->stop;
	pthread_mutex_unlock(&signals->lock);
	return !stop;
}

/* Waits until the next multiple of the period. False: it is not to read now, or to end. */
static bool wait_for_turn(struct host_signals *signals, uint64_t period_ns)
{
	uint64_t until_ns = monotonic_ns() / period_ns * period_ns + period_ns;
	struct timespec until = { .tv_sec = (time_t)(until_ns / 1000000000),
		                  .tv_nsec = (long)(until_ns % 1000000000) };
	bool reads;

	pthread_mutex_lock(&signals->lock);
	while (signals->run && !signals->stop &&
	       pthread_cond_clockwait(&signals->changed, &signals->lock, CLOCK_MONOTONIC, &until) !=
	               ETIMEDOUT)
		;
	reads = signals->run && !signals->stop;
	pthread_mutex_unlock(&signals->lock);
	return reads;
}

/* Of files and cgroups. */
#define SOURCES_MAX (SIGNAL_SOURCES_MAX + SIGNAL_CGROUPS_MAX)

static size_t all_sources(struct host_signals *signals, struct signal_source *all[SOURCES_MAX])
{
	size_t n = 0;

	for (size_t i = 0; i < signals->files.count; i++)
		all[n++] = &signals->files.source[i];
	for (size_t i = 0; i < signals->cgroups.count; i++)
		all[n++] = &signals->cgroups.source[i];
	return n;
}

/* It takes too much: one is read more rarely. */
static void slow_down(struct host_signals *signals, struct signal_source *const *all, size_t count,
                      uint64_t now_ns)
{
	signal_sources_slow_down(all, count);
	if (signals->sped_up && signals->quiet_ns < QUIET_MAX_NS)
		signals->quiet_ns *= 2;
	signals->sped_up = false;
	signals->changed_ns = now_ns;
}

static void speed_up(struct host_signals *signals, struct signal_source *const *all, size_t count,
                     uint64_t now_ns)
{
	if (now_ns - signals->changed_ns < signals->quiet_ns)
		return;
	signals->sped_up = signal_sources_speed_up(all, count, HOST_SIGNALS_BUDGET - 2 * LOOK_BUDGET);
	signals->changed_ns = now_ns;
}

/* Chooses rates once each has been read often enough to know what that costs, again when there is another one, and reads more rarely if
 * it turns out to be more, and more often again when it has been less for long. Returns how many ticks lie between turns. */
static unsigned int hold_budget(struct host_signals *signals, uint64_t now_ns)
{
	struct signal_source *all[SOURCES_MAX];
	size_t count = all_sources(signals, all);
	uint64_t cpu_ns = thread_cpu_ns();

	if (signals->turns < SIGNAL_TIMED_READS) {
		signals->judged_ns = now_ns;
		signals->judged_cpu_ns = cpu_ns;
		return 1;
	}
	signals->rates_chosen = true;
	if (signal_sources_are_new(all, count)) {
		signal_sources_choose_rates(all, count, HOST_SIGNALS_BUDGET - 2 * LOOK_BUDGET);
		signals->changed_ns = now_ns;
		signals->quiet_ns = QUIET_NS;
	} else if (now_ns - signals->judged_ns >= JUDGE_NS) {
		if ((double)(cpu_ns - signals->judged_cpu_ns) >
		    HOST_SIGNALS_BUDGET * (double)(now_ns - signals->judged_ns))
			slow_down(signals, all, count, now_ns);
		else
			speed_up(signals, all, count, now_ns);
		signals->judged_ns = now_ns;
		signals->judged_cpu_ns = cpu_ns;
	}
	return signal_sources_every(all, count);
}

/* The chosen pauses are for a host that works. */
static unsigned int stretch_of(const struct host_signals *signals, uint64_t now_ns)
{
	return signals->rates_chosen && now_ns - signals->ran_ns > IDLE_NS ? IDLE_STRETCH : 1;
}

static bool is_due(const struct host_signals *signals, const struct signal_source *source, uint64_t tick)
{
	uint64_t every = source->every * signals->stretch;

	return !signals->rates_chosen || tick / every != signals->tick / every;
}

/* Those whose time has come since the last turn. */
static void read_sources(struct host_signals *signals, struct signal_source *sources, size_t count,
                         uint64_t tick)
{
	struct timeline *timeline = signals->rates_chosen ? signals->timeline : NULL;

	for (size_t i = 0; i < count; i++)
		if (is_due(signals, &sources[i], tick))
			signal_source_read(&sources[i], signals->text, unix_ns(), timeline);
}

/* When to look again after a look that began then: the longer it took, the less often. */
static uint64_t next_look_ns(uint64_t now_ns, uint64_t began_cpu_ns, uint64_t rest_ns)
{
	uint64_t wanted_ns = (uint64_t)((double)(thread_cpu_ns() - began_cpu_ns) / LOOK_BUDGET);

	return now_ns + (wanted_ns > rest_ns ? wanted_ns : rest_ns);
}

static void look_for_cgroups(struct host_signals *signals, uint64_t now_ns)
{
	uint64_t cpu_ns = thread_cpu_ns();

	if (now_ns < signals->look_ns)
		return;
	signal_cgroups_look(&signals->cgroups, "");
	signals->look_ns = next_look_ns(now_ns, cpu_ns, LOOK_NS);
}

/* Disks are connected and removed while a host runs. */
static void look_for_devices(struct host_signals *signals, uint64_t now_ns)
{
	uint64_t cpu_ns = thread_cpu_ns();

	if (now_ns < signals->devices_ns)
		return;
	signal_files_look(&signals->files, "");
	signals->devices_ns = next_look_ns(now_ns, cpu_ns, DEVICES_NS);
}

/* Returns how many ticks lie between turns. */
static unsigned int take_turn(struct host_signals *signals)
{
	uint64_t now_ns = monotonic_ns(), tick = now_ns / SIGNAL_TICK_NS;
	unsigned int every;

	signals->stretch = stretch_of(signals, now_ns);
	pthread_mutex_lock(&signals->lock);
	look_for_devices(signals, now_ns);
	read_sources(signals, signals->files.source, signals->files.count, tick);
	look_for_cgroups(signals, now_ns);
	read_sources(signals, signals->cgroups.source, signals->cgroups.count, tick);
	every = hold_budget(signals, now_ns);
	pthread_mutex_unlock(&signals->lock);
	signals->tick = tick;
	signals->turns++;
	return every;
}

static void *read_files(void *arg)
{
	struct host_signals *signals = arg;
	unsigned int every = 1;

	signals->stretch = 1;
	signals->devices_ns = monotonic_ns() + DEVICES_NS;
	prctl(PR_SET_NAME, "stallprof-host");
	prctl(PR_SET_TIMERSLACK, SLACK_NS);
	signal_cgroups_see_all();
	while (wait_until(signals, true))
		while (wait_for_turn(signals, every * signals->stretch * SIGNAL_TICK_NS))
			every = take_turn(signals);
	return NULL;
}

/* The longer a turn takes, the fewer there are. */
static uint64_t gpu_period(uint64_t cpu_ns)
{
	uint64_t period_ns = (uint64_t)((double)cpu_ns / HOST_SIGNALS_GPU_BUDGET);

	period_ns = period_ns < GPU_SIGNALS_TICK_NS ? GPU_SIGNALS_TICK_NS : period_ns;
	return period_ns > GPU_TICK_MAX_NS ? GPU_TICK_MAX_NS : period_ns;
}

/* Until it is not to read any more. */
static void read_all_gpus(struct host_signals *signals)
{
	uint64_t last_ns = 0, now_ns, cpu_ns, period_ns = GPU_SIGNALS_TICK_NS;

	while (wait_for_turn(signals, period_ns)) {
		now_ns = monotonic_ns();
		cpu_ns = thread_cpu_ns();
		/* After a pause nothing is known of the time before. */
		if (now_ns - last_ns < 5 * period_ns) {
			gpu_signals_read(&signals->gpus);
			pthread_mutex_lock(&signals->lock);
			signals->gpus_told |=
			        gpu_signals_tell(&signals->gpus, now_ns - last_ns, signals->timeline);
			signals->gpus_read = true;
			pthread_mutex_unlock(&signals->lock);
		}
		period_ns = gpu_period(thread_cpu_ns() - cpu_ns);
		last_ns = now_ns;
	}
}

static void *read_gpus(void *arg)
{
	struct host_signals *signals = arg;
	char why[sizeof(signals->no_gpus)];
	bool any;

	prctl(PR_SET_NAME, "stallprof-gpu");
	while (wait_until(signals, true)) {
		any = gpu_signals_open(&signals->gpus, why, sizeof(why));
		pthread_mutex_lock(&signals->lock);
		snprintf(signals->no_gpus, sizeof(signals->no_gpus), "%s", any ? "" : why);
		pthread_mutex_unlock(&signals->lock);
		if (any)
			read_all_gpus(signals);
		else
			wait_until(signals, false);
		gpu_signals_close(&signals->gpus);
	}
	return NULL;
}

/* --- for their owner ---------------------------------------------------------------------------------------- */

/* With all signals blocked, as the owner waits for those. */
static void start(struct host_signals *signals)
{
	sigset_t all, before;

	signals->started = true;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	signals->has_reader = !pthread_create(&signals->reader, NULL, read_files, signals);
	signals->has_gpu_reader = !pthread_create(&signals->gpu_reader, NULL, read_gpus, signals);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void host_signals_run(struct host_signals *signals, bool run)
{
	if (!signals || signals->run == run)
		return;
	pthread_mutex_lock(&signals->lock);
	signals->run = run;
	pthread_cond_broadcast(&signals->changed);
	pthread_mutex_unlock(&signals->lock);
	if (run)
		signals->ran_ns = monotonic_ns();
	if (run && !signals->started)
		start(signals);
}

void host_signals_follow(struct host_signals *signals, uint32_t pid)
{
	if (!signals)
		return;
	signals->ran_ns = monotonic_ns();
	/* The reader may be in a slow file. Who is not followed now, is at the next second's row. */
	if (pthread_mutex_trylock(&signals->lock))
		return;
	signal_cgroups_follow(&signals->cgroups, pid);
	pthread_mutex_unlock(&signals->lock);
}

int host_signals_take(struct host_signals *signals, struct timeline *timeline)
{
	struct timeline *empty = signals ? timeline_new(POINTS_MAX) : NULL, *taken;
	int err;

	if (!signals)
		return 0;
	if (!empty)
		return -ENOMEM;
	pthread_mutex_lock(&signals->lock);
	taken = signals->timeline;
	signals->timeline = empty;
	pthread_mutex_unlock(&signals->lock);
	err = timeline_merge(timeline, taken);
	timeline_free(taken);
	return err;
}

int host_signals_describe(struct host_signals *signals, struct stamp *stamp)
{
	char no_gpus[sizeof(signals->no_gpus)];
	bool has_cgroups, refused, outside;
	unsigned int told;
	int err;

	if (!signals)
		return stamp_add_hook(stamp, HOST_SIGNALS_CAUSE, "all", HOOK_UNUSED, "switched off");
	pthread_mutex_lock(&signals->lock);
	snprintf(no_gpus, sizeof(no_gpus), "%s", signals->no_gpus);
	told = signals->gpus_read ? signals->gpus_told : ~0u;
	has_cgroups = signals->cgroups.count;
	refused = signals->cgroups.refused;
	outside = signals->cgroups.outside;
	err = signal_files_describe(&signals->files, stamp);
	pthread_mutex_unlock(&signals->lock);
	if (!err)
		err = stamp_add_hook(stamp, HOST_SIGNALS_CAUSE, "cpu_throttled",
		                     refused || outside ? HOOK_MISSING
		                     : has_cgroups      ? HOOK_ATTACHED
		                                        : HOOK_UNUSED,
		                     outside       ? "the job is outside of the profiler's cgroup namespace"
		                     : refused     ? "more cgroups than places"
		                     : has_cgroups ? ""
		                                   : "no cgroup of the job has the CPU controller");
	return err ? err : gpu_signals_describe(no_gpus, told, stamp);
}

/* False: the thread hangs in a library's call. */
static bool ends(pthread_t thread)
{
	uint64_t until_ns = unix_ns() + PATIENCE_NS;
	struct timespec until = { .tv_sec = (time_t)(until_ns / 1000000000),
		                  .tv_nsec = (long)(until_ns % 1000000000) };

	return !pthread_timedjoin_np(thread, NULL, &until);
}

void host_signals_free(struct host_signals *signals)
{
	bool ended = true;

	if (!signals)
		return;
	pthread_mutex_lock(&signals->lock);
	signals->stop = true;
	pthread_cond_broadcast(&signals->changed);
	pthread_mutex_unlock(&signals->lock);
	if (signals->has_reader)
		pthread_join(signals->reader, NULL);
	signal_files_close(&signals->files);
	signal_cgroups_close(&signals->cgroups);
	if (signals->has_gpu_reader)
		ended = ends(signals->gpu_reader);
	if (!ended)
		return;
	timeline_free(signals->timeline);
	pthread_cond_destroy(&signals->changed);
	pthread_mutex_destroy(&signals->lock);
	free(signals);
}
