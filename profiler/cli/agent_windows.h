/*
 * The agent's windows, from their end to where they go, and what is said of them: the first that is kept and pushed, a
 * summary each hour and at the end, each kind of loss once, when delivery fails and when it works again.
 *
 * A window in which no thread held a tag goes nowhere: an idle agent writes no files.
 */
#ifndef STALLPROF_PROFILER_AGENT_WINDOWS_H
#define STALLPROF_PROFILER_AGENT_WINDOWS_H

#include <stdbool.h>
#include <stdint.h>

#include "profiler/cli/loss_log.h"
#include "profiler/output/sink.h"

struct config;
struct session;

struct agent_windows {
	const struct config *config;
	struct session *session;
	struct sink *sink;
	struct loss_log losses;
	uint64_t with_tags, idle;  /* windows */
	struct sink_counts before; /* of sinks that are gone */
	struct sink_counts told;   /* at the last summary */
	uint64_t told_at_ns, told_windows;
	bool last_failed; /* the last window was not delivered as it should */
};

/* `windows` is zeroed; the others outlive it. */
void agent_windows_begin(struct agent_windows *windows, const struct config *config, struct session *session,
                         struct sink *sink);
/* Ends the session's window, and delivers it. */
void agent_windows_end(struct agent_windows *windows);
/* The counts go on in those of another configuration; losses are said anew. */
void agent_windows_take_over(struct agent_windows *windows, const struct agent_windows *old);
/* The last summary, with the reason of the end. */
void agent_windows_log(const struct agent_windows *windows, const char *stopped_by);

#endif
