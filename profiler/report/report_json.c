/* Writes a report's numbers as JSON. */

#include "profiler/report/report_json.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/format/json_writer.h"
#include "profiler/format/ledger_row.h"
#include "profiler/format/stamp.h"
#include "profiler/format/timeline.h"
#include "profiler/loaded/loaded_profiles.h"
#include "profiler/report/report.h"
#include "profiler/top/top_checkpoints.h"
#include "profiler/report/report_evidence.h"
#include "profiler/report/report_next.h"
#include "profiler/report/report_verdict.h"
#include "profiler/report/report_rank.h"

static void member_double(struct json_writer *json, const char *key, double value)
{
	json_key(json, key);
	json_double(json, value);
}

/* A number that is negative where it is not known: then null. */
static void member_known(struct json_writer *json, const char *key, double value)
{
	member_double(json, key, value < 0 ? (double)NAN : value);
}

static void member_bool(struct json_writer *json, const char *key, bool value)
{
	json_key(json, key);
	json_bool(json, value);
}

static void write_others(struct json_writer *json, const struct report_ranking *ranking)
{
	json_key(json, "other_incidents");
	json_array_begin(json);
	for (size_t i = 0; i < ranking->stretch_count; i++) {
		const struct report_stretch *stretch = &ranking->stretches[i];

		if (stretch->in_incident)
			continue;
		json_object_begin(json);
		json_member_u64(json, "begin_ns", stretch->begin_ns);
		json_member_u64(json, "end_ns", stretch->end_ns);
		member_double(json, "lost_ns", stretch->spike.excess);
		json_member_string(json, "name", stretch->name);
		json_member_string(json, "device", stretch->device);
		json_object_end(json);
	}
	json_array_end(json);
}

static void write_window(struct json_writer *json, const struct report *report)
{
	struct stamp_coverage covered = stamp_coverage(report->input->stamp);
	const struct report_ranking *ranking = &report->ranking;

	json_key(json, "window");
	json_object_begin(json);
	json_member_u64(json, "first_ns", covered.first_ns);
	json_member_u64(json, "last_ns", covered.last_ns);
	json_member_u64(json, "covered_ns", covered.covered_ns);
	json_member_u64(json, "windows", covered.windows);
	json_member_u64(json, "processes", report->classes.processes);
	json_member_u64(json, "away_ns", ranking->away.ns);
	json_object_end(json);
	json_key(json, "baseline");
	json_object_begin(json);
	member_bool(json, "given", ranking->baseline.given);
	json_member_u64(json, "begin_ns", ranking->baseline_begin_ns);
	json_member_u64(json, "end_ns", ranking->baseline_end_ns);
	member_double(json, "threads_lost", ranking->baseline.median);
	member_double(json, "sigma", ranking->baseline.sigma);
	if (ranking->mode == REPORT_STEADY)
		member_known(json, "share_of_primary", ranking->share_there);
	json_object_end(json);
	json_key(json, "incident");
	json_object_begin(json);
	json_member_u64(json, "begin_ns", ranking->begin_ns);
	json_member_u64(json, "end_ns", ranking->end_ns);
	member_double(json, "threads_lost", ranking->during);
	member_double(json, "z", ranking->incident.z);
	member_double(json, "lost_ns", ranking->incident.excess);
	json_member_u64(json, "stretches", ranking->spikes);
	member_bool(json, "by_steps", ranking->by_steps);
	member_bool(json, "by_fault", ranking->by_fault);
	member_bool(json, "goes_on", ranking->goes_on);
	json_object_end(json);
	write_others(json, ranking);
}

/* null: of no class. */
static void write_oncpu(struct json_writer *json, const struct report_oncpu *oncpu)
{
	json_key(json, "on_cpu");
	if (!oncpu->class) {
		json_string(json, NULL);
		return;
	}
	json_object_begin(json);
	json_member_string(json, "class", oncpu->class);
	member_double(json, "ns_before", oncpu->before_ns);
	member_double(json, "ns_during", oncpu->during_ns);
	json_object_end(json);
}

/* null: the steps are of one job, as far as is known. */
static void write_jobs(struct json_writer *json, const struct report_jobs *jobs)
{
	json_key(json, "side_by_side");
	if (!jobs->n) {
		json_string(json, NULL);
		return;
	}
	json_object_begin(json);
	json_member_u64(json, "processes", jobs->n);
	json_member_u64(json, "ranks", jobs->ranks);
	json_key(json, "slowest");
	json_array_begin(json);
	for (size_t i = 0; i < jobs->shown; i++) {
		json_object_begin(json);
		json_member_string(json, "comm", jobs->job[i].process->comm);
		json_member_u64(json, "pid", jobs->job[i].process->pid);
		json_member_u64(json, "tags", jobs->job[i].steps);
		json_member_i64(json, "p50_ns", jobs->job[i].p50_ns);
		json_member_i64(json, "p99_ns", jobs->job[i].p99_ns);
		json_object_end(json);
	}
	json_array_end(json);
	json_object_end(json);
}

static void write_steps(struct json_writer *json, const struct report *report)
{
	const struct loaded_class *class = report->steps;

	json_key(json, "steps");
	json_object_begin(json);
	json_member_string(json, "class", class ? class->name : NULL);
	if (class) {
		json_member_u64(json, "tags", class->tags);
		json_member_i64(json, "p50_ns", class->p50_ns);
		json_member_i64(json, "p99_ns", class->p99_ns);
		json_member_i64(json, "worst_ns", class->worst_ns);
		json_member_string(json, "worst", class->worst ? class->worst->tag : NULL);
		json_member_u64(json, "worst_id", class->worst ? class->worst->id : 0);
		json_member_u64(json, "worst_pid", class->worst ? class->worst->pid : 0);
		member_known(json, "a_second_before", report->ranking.steps_before);
		member_known(json, "a_second_during", report->ranking.steps_during);
		member_double(json, "z", report->ranking.steps_z);
		write_oncpu(json, &report->ranking.oncpu);
		write_jobs(json, &report->jobs);
	}
	json_object_end(json);
}

static void write_cause(struct json_writer *json, const struct report_cause *cause)
{
	json_object_begin(json);
	json_member_string(json, "kind", timeline_kind_name(cause->kind));
	json_member_string(json, "name", cause->name);
	json_member_string(json, "device", cause->device);
	json_member_string(json, "family", report_family_name(cause->family));
	member_bool(json, "indirect", cause->indirect);
	member_double(json, "score", cause->score);
	member_double(json, "z", cause->z);
	member_double(json, "spike", cause->spike);
	member_double(json, "correlation", cause->correlation);
	json_member_i64(json, "lag_ms", cause->lag_ms);
	member_double(json, "before", cause->before);
	member_double(json, "during", cause->during);
	member_double(json, "lost_ns", cause->excess_ns);
	member_double(json, "share", cause->share);
	member_double(json, "of_loop", cause->of_loop);
	json_object_end(json);
}

static void write_last_rank(struct json_writer *json, const struct report_last_rank *last)
{
	if (!last->ranks)
		return;
	json_key(json, "last_rank");
	json_object_begin(json);
	json_member_u64(json, "rank", last->rank);
	json_member_u64(json, "ranks", last->ranks);
	member_bool(json, "by_gpu", last->by_gpu);
	json_member_i64(json, "wait_ns", last->ns);
	json_member_i64(json, "others_wait_ns", last->others_ns);
	member_double(json, "wait_share", last->share);
	member_double(json, "others_wait_share", last->others_share);
	json_object_end(json);
}

static void write_causes(struct json_writer *json, const struct report *report)
{
	const struct report_ranking *ranking = &report->ranking;

	write_last_rank(json, &report->last_rank);
	json_key(json, "primary");
	if (ranking->primary)
		write_cause(json, ranking->primary);
	else
		json_string(json, NULL);
	json_key(json, "whole");
	if (ranking->whole.name)
		write_cause(json, &ranking->whole);
	else
		json_string(json, NULL);
	json_key(json, "causes");
	json_array_begin(json);
	for (size_t i = 0; i < ranking->count; i++)
		write_cause(json, &ranking->causes[i]);
	json_array_end(json);
}

static void write_chain(struct json_writer *json, const struct report_chain *chain)
{
	if (!chain->ns) {
		json_string(json, NULL);
		return;
	}
	json_object_begin(json);
	json_member_string(json, "class", chain->class);
	json_member_string(json, "kind", chain->kind);
	json_member_string(json, "woken_by", chain->waker);
	json_member_string(json, "from", chain->from);
	json_member_string(json, "end", chain->end);
	json_member_i64(json, "ns", chain->ns);
	json_object_end(json);
}

static void write_chains(struct json_writer *json, const struct report_paths *paths)
{
	json_key(json, "inherited");
	json_array_begin(json);
	for (size_t i = 0; paths && i < paths->chains.count; i++)
		write_chain(json, &paths->chains.chain[i]);
	json_array_end(json);
}

static void write_paths(struct json_writer *json, const struct report *report)
{
	const struct report_paths *paths = report->paths;

	json_key(json, "path");
	json_array_begin(json);
	for (size_t i = 0; paths && i < paths->count; i++) {
		json_object_begin(json);
		json_member_string(json, "class", paths->path[i].class);
		json_member_string(json, "tag", paths->path[i].tag);
		json_member_string(json, "line", paths->path[i].own);
		json_member_string(json, "call", paths->path[i].call);
		json_member_string(json, "kernel", paths->path[i].kernel);
		json_member_i64(json, "ns", paths->path[i].ns);
		json_member_i64(json, "waits", paths->path[i].waits);
		json_object_end(json);
	}
	json_array_end(json);
	write_chains(json, paths);
	json_key(json, "details");
	json_array_begin(json);
	for (size_t i = 0; paths && i < paths->label_count; i++) {
		json_object_begin(json);
		json_member_string(json, "label", paths->label[i].key);
		json_member_string(json, "value", paths->label[i].value);
		json_member_i64(json, "ns", paths->label[i].ns);
		json_object_end(json);
	}
	json_array_end(json);
}

static void write_signals(struct json_writer *json, const struct report *report)
{
	json_key(json, "signals");
	json_array_begin(json);
	for (size_t i = 0; i < report_signal_count; i++) {
		const struct report_signal *signal = &report_signals[i];
		struct stamp_hook hook = { .reason = "" };
		bool known = report_signal_hook(report, signal->name, &hook);

		json_object_begin(json);
		json_member_string(json, "name", signal->name);
		json_member_string(json, "unit", signal->unit);
		member_bool(json, "read", known && hook.state == HOOK_ATTACHED);
		json_member_string(json, "why_not",
		                   known && hook.state != HOOK_ATTACHED ? hook.reason : NULL);
		json_key(json, "seen");
		json_array_begin(json);
		for (size_t s = 0; s < report->ranking.signal_count; s++) {
			const struct report_cause *seen = &report->ranking.signals[s];

			if (strcmp(seen->name, signal->name) != 0)
				continue;
			json_object_begin(json);
			json_member_string(json, "device", seen->device);
			member_bool(json, "found", report_signal_found(report, seen));
			member_double(json, "before",
			              seen->before_unknown ? NAN : seen->before * signal->scale);
			member_double(json, "during", seen->during * signal->scale);
			member_double(json, "z", seen->z);
			member_double(json, "correlation", seen->correlation);
			json_member_i64(json, "lag_ms", seen->lag_ms);
			json_object_end(json);
		}
		json_array_end(json);
		json_object_end(json);
	}
	json_array_end(json);
}

static void write_users(struct json_writer *json, const struct report *report)
{
	json_key(json, "users");
	json_array_begin(json);
	for (size_t i = 0; i < report->user_count; i++) {
		const struct report_user *user = &report->users[i];

		json_object_begin(json);
		json_member_string(json, "process", user->process);
		json_member_u64(json, "more", user->more);
		json_member_string(json, "device", user->device);
		json_member_string(json, "unit", *user->device ? "bytes/s" : "CPUs");
		member_double(json, "before", user->before);
		member_double(json, "during", user->during);
		json_object_end(json);
	}
	json_array_end(json);
}

/* Of all of the recording, grown or not. */
static void write_whole_users(struct json_writer *json, const struct report *report)
{
	json_key(json, "whole_users");
	json_array_begin(json);
	loaded_users_json(json, &report->whole_users);
	json_array_end(json);
}

/* null: no loop was blocked for long. */
static void write_blocked(struct json_writer *json, const struct report *report)
{
	const struct report_wait *wait = &report->wait;

	json_key(json, "blocked");
	if (!wait->class) {
		json_string(json, NULL);
		return;
	}
	json_object_begin(json);
	json_member_string(json, "class", wait->class);
	member_double(json, "ns", (double)wait->ns);
	member_double(json, "share", wait->share);
	json_member_string(json, "kind", wait->kind);
	member_bool(json, "gil", wait->gil);
	json_member_string(json, "woken_by", wait->waker);
	json_member_string(json, "woken_by_kind",
	                   *wait->waker ? loaded_waker_kind(&report->wakers, wait->waker) : "");
	member_double(json, "woken_by_ns", (double)wait->waker_ns);
	json_key(json, "inherited");
	write_chain(json, &wait->chain);
	json_member_string(json, "line", wait->line);
	member_double(json, "line_ns", (double)wait->line_ns);
	json_object_end(json);
}

/* 0 or -ENOMEM. */
static int write_next(struct json_writer *json, const struct report *report)
{
	struct report_document next;
	int err;

	report_document_begin(&next, "");
	report_next(&next, report);
	json_key(json, "next");
	json_array_begin(json);
	for (size_t i = 0; i < next.count; i++)
		json_string(json, next.items[i].cell[0]);
	json_array_end(json);
	err = next.err;
	report_document_end(&next);
	return err;
}

static void write_unseen(struct json_writer *json, const struct report *report)
{
	char *text = report_unseen_text(report), *line, *rest;

	json_key(json, "unseen");
	json_array_begin(json);
	for (line = text ? strtok_r(text, "\n", &rest) : NULL; line; line = strtok_r(NULL, "\n", &rest))
		json_string(json, line);
	json_array_end(json);
	free(text);
}

static const char *mode_name(const struct report *report)
{
	static const char *const names[] = {
		[REPORT_NOTHING] = "nothing", [REPORT_SPIKE] = "spike", [REPORT_STEADY] = "steady"
	};

	return report->has_timeline ? names[report->ranking.mode] : "no timeline";
}

int report_write_json(FILE *out, const struct report *report)
{
	char *sentence = report_verdict_text(report);
	struct json_writer json;
	int err;

	json_begin(&json, out);
	json_object_begin(&json);
	json_member_string(&json, "verdict", report->verdict);
	json_member_string(&json, "mode", mode_name(report));
	json_member_string(&json, "sentence", sentence);
	write_window(&json, report);
	write_steps(&json, report);
	write_causes(&json, report);
	write_paths(&json, report);
	write_blocked(&json, report);
	write_signals(&json, report);
	write_users(&json, report);
	write_whole_users(&json, report);
	top_json_checkpoints(&json, report->input);
	err = write_next(&json, report);
	write_unseen(&json, report);
	json_object_end(&json);
	free(sentence);
	return json_end(&json) ? -EIO : err;
}
