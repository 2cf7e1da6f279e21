/* Brings together what a report says. */

#include "profiler/report/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/format/stamp.h"
#include "profiler/loaded/loaded_profiles.h"
#include "profiler/loaded/loaded_sample.h"
#include "profiler/report/report_primary.h"

/* From which correlation with the lost time on a signal of the host is taken for a part of it. */
#define FOUND_CORRELATION 0.3

/* --- steps -------------------------------------------------------------------------------------------------- */

/* By the ledger, where the timeline has no steps. */
static const struct loaded_class *choose_steps(const struct loaded_classes *classes)
{
	const struct loaded_class *best = NULL;

	for (size_t i = 0; i < classes->count; i++) {
		const struct loaded_class *row = &classes->rows[i];

		if (!row->base && row->tags > 1 && (!best || row->tags > best->tags))
			best = row;
	}
	return best;
}

static void find_steps(struct report *report, const char *wanted)
{
	const char *name = wanted ? wanted : report->ranking.steps;

	report->steps = name ? loaded_classes_find(&report->classes, name) : choose_steps(&report->classes);
}

/* --- verdict ------------------------------------------------------------------------------------------------ */

bool report_signal_found(const struct report *report, const struct report_cause *signal)
{
	return report->ranking.mode == REPORT_SPIKE && signal->z >= SPIKE_SIGMAS &&
	       signal->correlation >= FOUND_CORRELATION;
}

const struct report_cause *report_telling_signal(const struct report *report)
{
	const struct report_cause *primary = report->ranking.primary, *best = NULL;

	for (size_t i = 0; i < report->ranking.signal_count && primary; i++) {
		const struct report_cause *signal = &report->ranking.signals[i];
		const struct report_signal *known = report_signal_of(signal->name);

		if (known && known->tells_cause && signal->family == primary->family &&
		    report_signal_found(report, signal) && (!best || signal->score > best->score))
			best = signal;
	}
	return best;
}

bool report_signals_silent(const struct report *report)
{
	const struct report_ranking *ranking = &report->ranking;
	bool any = false;

	if (!ranking->primary || ranking->primary->family != FAMILY_CPU)
		return false;
	for (size_t i = 0; i < ranking->signal_count; i++) {
		const struct report_cause *signal = &ranking->signals[i];

		if (signal->family != FAMILY_CPU || signal->before_unknown)
			continue;
		if (report_signal_found(report, signal))
			return false;
		any = true;
	}
	return any;
}

/* What a signal of the host makes of a family's verdict. */
static const struct {
	const char *signal, *verdict;
} by_signal[] = {
	{ "cpu_throttled", "CPU throttling" },
	{ "thermal_throttle", "CPU throttling" },
	{ "steal", "stolen CPU time" },
	{ "gpu_throttled", "GPU throttling" },
};

static const char *const by_family[FAMILIES] = {
	[FAMILY_DISK] = "disk pressure",     [FAMILY_CPU] = "CPU contention",
	[FAMILY_NETWORK] = "network",        [FAMILY_GPU] = "GPU slower",
	[FAMILY_MEMORY] = "memory pressure", [FAMILY_THREADS] = "another thread",
	[FAMILY_UNKNOWN] = "unknown",
};

/* Of what the loop waits for all the time, which may be as it should. */
static const struct {
	const char *wait, *verdict;
} by_wait[] = {
	{ "lock", "the loop waits for another thread" },
	{ "pipe", "the loop waits for another process" },
	{ "child", "the loop waits for another process" },
	{ "poll", "the loop waits for others" },
	{ "socket", "the loop waits for a peer" },
	{ "sleep", "the loop sleeps" },
	{ "stopped", "the loop is stopped" },
};

static const char *wait_verdict(const char *wait)
{
	for (size_t i = 0; i < sizeof(by_wait) / sizeof(by_wait[0]); i++)
		if (!strcmp(by_wait[i].wait, wait))
			return by_wait[i].verdict;
	return "the loop waits";
}

static const char *verdict_of(const struct report *report)
{
	const struct report_cause *told = report_telling_signal(report);

	if (!report->has_timeline)
		return "no timeline";
	if (report->ranking.mode == REPORT_NOTHING)
		return "nothing";
	if (!report->ranking.primary)
		return report->ranking.oncpu.class ? "more CPU time" : "unknown";
	for (size_t i = 0; told && i < sizeof(by_signal) / sizeof(by_signal[0]); i++)
		if (!strcmp(by_signal[i].signal, told->name))
			return by_signal[i].verdict;
	if (report_primary_as_baseline(&report->ranking))
		return "as the baseline";
	if (report_is_fault(report->ranking.primary->name))
		return "device fault";
	if (report_primary_is_wait(&report->ranking))
		return wait_verdict(report->ranking.primary->name);
	/* Nothing tells whether it is slower, and that the loop waits for it is what it is for. */
	if (report->ranking.mode == REPORT_STEADY && report->ranking.primary->family == FAMILY_GPU)
		return report_primary_is_bound(&report->ranking) ? "GPU-bound" : "GPU";
	return by_family[report->ranking.primary->family];
}

const char *report_primary_name(const struct report *report)
{
	const struct report_paths *paths = report->paths;

	return paths && paths->gil_ns > paths->ns / 2 ? REPORT_GIL : report->ranking.primary->name;
}

/* Whether it is known who used what the primary cause waits for, or that no process did. */
static bool is_explained(const struct report *report)
{
	return report->user_count ||
	       (report_telling_signal(report) && report->ranking.primary->family == FAMILY_CPU);
}

/* --- all of it ---------------------------------------------------------------------------------------------- */

static int find_paths(struct report *report)
{
	const struct report_ranking *ranking = &report->ranking;

	if (!ranking->primary)
		return 0;
	report->paths = calloc(1, sizeof(*report->paths));
	if (!report->paths)
		return -ENOMEM;
	return report_paths_find(report->paths, report->input, report->tags, ranking->primary,
	                         ranking->begin_ns, ranking->end_ns);
}

/* Whether some program has mapped a library for them. */
static bool has_collectives(const struct loaded_profiles *input)
{
	for (size_t i = 0; i < stamp_hook_count(input->stamp); i++) {
		struct stamp_hook hook = stamp_hook_at(input->stamp, i);

		if (!strcmp(hook.cause, "collective") && hook.state == HOOK_ATTACHED)
			return true;
	}
	return false;
}

int report_make(struct report *report, const struct loaded_profiles *input,
                const struct loaded_profiles *baseline, const char *step_class,
                const struct report_hint *hint)
{
	static const struct loaded_filter all;
	int err;

	*report = (struct report){ .input = input, .tags = loaded_tags_new(input) };
	if (!report->tags)
		return -ENOMEM;
	err = loaded_classes_build(&report->classes, input, &all, LOADED_LEVEL_CLASS);
	if (err) {
		loaded_tags_free(report->tags);
		return err;
	}
	if (step_class && !loaded_classes_find(&report->classes, step_class)) {
		report_release(report);
		return -ENOENT;
	}
	err = report_rank(&report->ranking, input, baseline, step_class, hint);
	report->has_timeline = !err;
	if (err == -ENODATA) { /* how fast the steps came is not known */
		report->ranking.steps_before = report->ranking.steps_during = report->ranking.steps_newest =
		        -1;
		err = 0;
	}
	if (report->has_timeline)
		report->user_count = report_users_find(report->users, &report->ranking, input->timeline);
	if (!err) {
		find_steps(report, step_class);
		err = find_paths(report);
	}
	if (!err)
		err = report_loop_find(&report->loop, input, &report->classes, report->steps);
	if (!err)
		err = report_jobs_find(&report->jobs, input, report->steps ? report->steps->name : NULL);
	if (!err && !report->jobs.ranks)
		err = report_last_rank_find(
		        &report->last_rank, input->ledger, &report->loop, &report->ranking.spins,
		        report->steps && has_collectives(input) ? report->steps->name : NULL);
	if (!err)
		err = loaded_wakers_build(&report->wakers, input->ledger);
	if (!err)
		err = report_waits_find(&report->wait, input, report->tags, &report->classes, &report->loop);
	if (err) {
		report_release(report);
		return err;
	}
	report->verdict = verdict_of(report);
	report_users_whole(&report->whole_users, &report->ranking, input, is_explained(report));
	return 0;
}

void report_release(struct report *report)
{
	free(report->paths);
	loaded_wakers_free(&report->wakers);
	report_loop_free(&report->loop);
	report_ranking_free(&report->ranking);
	loaded_classes_free(&report->classes);
	loaded_tags_free(report->tags);
	*report = (struct report){ .paths = NULL };
}
