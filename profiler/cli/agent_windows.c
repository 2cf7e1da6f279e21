/* Ends the agent's windows, hands them to the sink, and logs losses and summaries. */

#include "profiler/cli/agent_windows.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "pprof/profile.h"
#include "profiler/cli/agent_log.h"
#include "profiler/cli/agent_reports.h"
#include "profiler/config/config.h"
#include "profiler/format/checkpoint_rows.h"
#include "profiler/format/ledger_row.h"
#include "profiler/session/session.h"
#include "profiler/format/stamp.h"
#include "symbolizer/base/clock.h"

#define SUMMARY_EVERY_NS (3600 * 1000000000ULL)

static void say_loss(const char *line)
{
	agent_log(AGENT_WARNING, "%s", line);
}

void agent_windows_begin(struct agent_windows *windows, const struct config *config, struct session *session,
                         struct sink *sink)
{
	windows->config = config;
	windows->session = session;
	windows->sink = sink;
	windows->told_at_ns = monotonic_ns();
}

void agent_windows_take_over(struct agent_windows *windows, struct agent_windows *old)
{
	windows->with_tags = old->with_tags;
	windows->idle = old->idle;
	loss_log_go_on(&windows->losses, &old->losses);
	sink_take_over(windows->sink, old->sink);
	windows->told = old->told;
	windows->told_at_ns = old->told_at_ns;
	windows->told_windows = old->told_windows;
}

static bool has_ledger(const struct profile *profile)
{
	struct ledger *ledger = ledger_new(0);
	bool has = !ledger || ledger_from_notes(ledger, profile, NULL) || ledger_count(ledger);

	ledger_free(ledger);
	return has;
}

static bool has_checkpoints(const struct profile *profile)
{
	struct checkpoint_rows *rows = checkpoint_rows_new();
	bool has = !rows || checkpoint_rows_from_notes(rows, profile, NULL) || checkpoint_rows_count(rows);

	checkpoint_rows_free(rows);
	return has;
}

/* Without samples and rows. A checkpoint's come later than its tag, when it has been read for its sha256. */
static bool is_idle(const struct profile *profile)
{
	return !profile_n_samples(profile) && !has_ledger(profile) && !has_checkpoints(profile);
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
	int used =
	        snprintf(text, size,
	                 "%" PRIu64 " file%s kept (%" PRIu64 " bytes), %" PRIu64 " requests pushed (%" PRIu64
	                 " bytes), %" PRIu64 " windows not kept, %" PRIu64 " not pushed",
	                 all->kept - since->kept, all->kept - since->kept == 1 ? "" : "s",
	                 all->kept_bytes - since->kept_bytes, all->pushed - since->pushed,
	                 all->pushed_bytes - since->pushed_bytes, all->not_kept - since->not_kept,
	                 all->not_pushed - since->not_pushed);
	if (all->set_aside > since->set_aside && (size_t)used < size)
		used += snprintf(text + used, size - (size_t)used,
		                 " (%" PRIu64 " set aside, as the server fails at them)",
		                 all->set_aside - since->set_aside);
	if (all->made_room > since->made_room && (size_t)used < size)
		used += snprintf(text + used, size - (size_t)used,
		                 ", %" PRIu64 " older windows removed as the disk was full",
		                 all->made_room - since->made_room);
	if (all->not_spooled > since->not_spooled && (size_t)used < size)
		used += snprintf(text + used, size - (size_t)used, ", %" PRIu64 " not stored in the spool",
		                 all->not_spooled - since->not_spooled);
	if (all->spooled && (size_t)used < size)
		snprintf(text + used, size - (size_t)used, ", %" PRIu64 " left in the spool", all->spooled);
}

/* Logs when a destination works for the first time, and when it works again. */
void agent_windows_poll(struct agent_windows *windows)
{
	const struct sink_counts was = windows->seen;
	struct sink_counts now;

	sink_poll(windows->sink);
	now = sink_counts(windows->sink);
	windows->seen = now;
	if (now.kept > was.kept && (!was.kept || (was.keeping_fails && !now.keeping_fails)))
		agent_log(AGENT_INFO, "%s %s", was.kept ? "windows are kept again:" : "first window kept:",
		          sink_last_file(windows->sink));
	if (now.pushed > was.pushed && !was.pushed)
		agent_log(AGENT_INFO, "first window pushed to %s", windows->config->push.url);
	else if (now.pushed && was.pushing_fails && !now.pushing_fails && !now.spooled)
		agent_log(AGENT_INFO, "windows are pushed again to %s", windows->config->push.url);
	if (now.kept > was.kept || now.pushed > was.pushed)
		agent_log(AGENT_DEBUG,
		          "window: %" PRIu64 " bytes kept in %s, %" PRIu64 " requests with %" PRIu64
		          " bytes pushed; %zu windows on their way",
		          now.kept_bytes - was.kept_bytes,
		          now.kept > was.kept ? sink_last_file(windows->sink) : "no file",
		          now.pushed - was.pushed, now.pushed_bytes - was.pushed_bytes,
		          sink_waiting(windows->sink));
}

static void log_summary(struct agent_windows *windows)
{
	struct sink_counts all = sink_counts_all(windows->sink);
	uint64_t now = monotonic_ns();
	char text[320];

	if (now - windows->told_at_ns < SUMMARY_EVERY_NS)
		return;
	print_counts(&all, &windows->told, text, sizeof(text));
	if (windows->with_tags > windows->told_windows)
		agent_log(AGENT_INFO, "in the last hour: windows with tags: %" PRIu64 ", %s",
		          windows->with_tags - windows->told_windows, text);
	windows->told = all;
	windows->told_windows = windows->with_tags;
	windows->told_at_ns = now;
}

/* NULL: there is none to deliver. */
static struct profile *end_window(struct agent_windows *windows)
{
	struct profile *profile = session_end_window(windows->session);

	windows->build_failed = !profile;
	if (!profile) {
		agent_log(AGENT_ERROR, "cannot build the profile of a window: %s", strerror(errno));
		return NULL;
	}
	take_losses(windows, profile);
	agent_reports_window(windows->reports, profile);
	if (!is_idle(profile)) {
		windows->with_tags++;
		return profile;
	}
	windows->idle++;
	sink_deliver_idle(windows->sink, profile);
	return NULL;
}

void agent_windows_end(struct agent_windows *windows)
{
	struct profile *profile = end_window(windows);

	if (profile)
		sink_deliver(windows->sink, profile);
	agent_windows_poll(windows);
	log_summary(windows);
}

void agent_windows_end_last(struct agent_windows *windows, uint64_t push_ns)
{
	sink_end(windows->sink, end_window(windows), push_ns);
}

bool agent_windows_log(struct agent_windows *windows, const char *stopped_by)
{
	const struct sink_counts none = { 0 };
	struct sink_counts all;
	char text[320], losses[512];

	agent_windows_poll(windows);
	all = sink_counts_all(windows->sink);
	print_counts(&all, &none, text, sizeof(text));
	loss_log_totals(&windows->losses, losses, sizeof(losses));
	agent_log(AGENT_INFO, "stopped by %s: windows with tags: %" PRIu64 ", without: %" PRIu64 "; %s%s%s",
	          stopped_by, windows->with_tags, windows->idle, text, losses[0] ? "; losses: " : "", losses);
	return !windows->build_failed && !sink_fails(windows->sink);
}
