#include "profiler/cli/agent_windows.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "pprof/profile.h"
#include "profiler/cli/agent_log.h"
#include "profiler/config/config.h"
#include "profiler/format/ledger_row.h"
#include "profiler/session/session.h"
#include "profiler/format/stamp.h"
#include "symbolizer/base/clock.h"

#define SUMMARY_EVERY_NS (3600 * 1000000000ULL)

static void say_loss(const char *line)
{
	agent_log(AGENT_WARNING, "%s", line);
}

static struct sink_counts sum(struct sink_counts a, struct sink_counts b)
{
	return (struct sink_counts){
		.kept = a.kept + b.kept,
		.kept_bytes = a.kept_bytes + b.kept_bytes,
		.not_kept = a.not_kept + b.not_kept,
		.pushed = a.pushed + b.pushed,
		.pushed_bytes = a.pushed_bytes + b.pushed_bytes,
		.not_pushed = a.not_pushed + b.not_pushed,
	};
}

static struct sink_counts counts(const struct agent_windows *windows)
{
	return sum(windows->before, sink_counts(windows->sink));
}

void agent_windows_begin(struct agent_windows *windows, const struct config *config, struct session *session,
                         struct sink *sink)
{
	windows->config = config;
	windows->session = session;
	windows->sink = sink;
	windows->told_at_ns = monotonic_ns();
}

void agent_windows_take_over(struct agent_windows *windows, const struct agent_windows *old)
{
	windows->with_tags = old->with_tags;
	windows->idle = old->idle;
	windows->before = counts(old);
	windows->told = old->told;
	windows->told_at_ns = old->told_at_ns;
	windows->told_windows = old->told_windows;
}

/* Without samples and without a row in its ledger. */
static bool is_idle(const struct profile *profile)
{
	struct ledger *ledger;
	bool idle = false;

	if (profile_n_samples(profile))
		return false;
	ledger = ledger_new(0);
	if (ledger && !ledger_from_notes(ledger, profile, NULL))
		idle = !ledger_count(ledger);
	ledger_free(ledger);
	return idle;
}

static void take_losses(struct agent_windows *windows, const struct profile *profile)
{
	struct stamp *stamp = stamp_new();

	if (stamp && !stamp_from_notes(stamp, profile, NULL))
		loss_log_take(&windows->losses, stamp, say_loss);
	stamp_free(stamp);
}

static void print_counts(const struct sink_counts *all, const struct sink_counts *since, char *text,
                         size_t size)
{
	snprintf(text, size,
	         "%" PRIu64 " files kept (%" PRIu64 " bytes), %" PRIu64 " series pushed (%" PRIu64
	         " bytes), %" PRIu64 " windows not kept, %" PRIu64 " not pushed",
	         all->kept - since->kept, all->kept_bytes - since->kept_bytes, all->pushed - since->pushed,
	         all->pushed_bytes - since->pushed_bytes, all->not_kept - since->not_kept,
	         all->not_pushed - since->not_pushed);
}

/* When a destination works for the first time, and when it works again. */
static void log_changes(struct agent_windows *windows, struct sink_counts was)
{
	struct sink_counts now = sink_counts(windows->sink);

	if (now.kept > was.kept && (!was.kept || windows->last_failed))
		agent_log(AGENT_INFO, "%s %s", was.kept ? "windows are kept again:" : "first window kept:",
		          sink_last_file(windows->sink));
	if (now.pushed > was.pushed && now.not_pushed == was.not_pushed &&
	    (!was.pushed || windows->last_failed))
		agent_log(AGENT_INFO, "%s %s",
		          was.pushed ? "windows are pushed again to" : "first window pushed to",
		          windows->config->push.url);
	agent_log(AGENT_DEBUG,
	          "window: %" PRIu64 " bytes kept in %s, %" PRIu64 " series with %" PRIu64 " bytes pushed",
	          now.kept_bytes - was.kept_bytes,
	          now.kept > was.kept ? sink_last_file(windows->sink) : "no file", now.pushed - was.pushed,
	          now.pushed_bytes - was.pushed_bytes);
}

static void log_summary(struct agent_windows *windows)
{
	struct sink_counts all = counts(windows);
	uint64_t now = monotonic_ns();
	char text[256];

	if (now - windows->told_at_ns < SUMMARY_EVERY_NS)
		return;
	print_counts(&all, &windows->told, text, sizeof(text));
	if (windows->with_tags > windows->told_windows)
		agent_log(AGENT_INFO, "in the last hour: %" PRIu64 " windows with tags, %s",
		          windows->with_tags - windows->told_windows, text);
	windows->told = all;
	windows->told_windows = windows->with_tags;
	windows->told_at_ns = now;
}

void agent_windows_end(struct agent_windows *windows)
{
	struct profile *profile = session_end_window(windows->session);
	struct sink_counts was = sink_counts(windows->sink);
	bool failed;

	if (!profile) {
		agent_log(AGENT_ERROR, "cannot build the profile of a window: %s", strerror(errno));
		windows->last_failed = true;
		return;
	}
	take_losses(windows, profile);
	if (is_idle(profile)) {
		windows->idle++;
		profile_free(profile);
	} else {
		windows->with_tags++;
		failed = sink_deliver(windows->sink, profile);
		log_changes(windows, was);
		windows->last_failed = failed;
	}
	log_summary(windows);
}

void agent_windows_log(const struct agent_windows *windows, const char *stopped_by)
{
	const struct sink_counts none = { 0 };
	struct sink_counts all = counts(windows);
	char text[256], losses[512];

	print_counts(&all, &none, text, sizeof(text));
	loss_log_totals(&windows->losses, losses, sizeof(losses));
	agent_log(AGENT_INFO, "stopped by %s: %" PRIu64 " windows with tags, %" PRIu64 " without; %s%s%s",
	          stopped_by, windows->with_tags, windows->idle, text, losses[0] ? "; losses: " : "", losses);
}
