/*
 * Ends the agent's windows, hands them to the sink, and logs what became of them: the first that is kept and
 * pushed, a summary each hour and at the end, each kind of loss once, when delivery fails and when it works again.
 *
 * A window in which no thread held a tag, and nothing became known of a checkpoint file, is not delivered: an idle agent writes no
 * files.
 */
#ifndef STALLPROF_PROFILER_AGENT_WINDOWS_H
#define STALLPROF_PROFILER_AGENT_WINDOWS_H

#include <stdbool.h>
#include <stdint.h>

#include "profiler/format/loss_log.h"
#include "profiler/output/sink.h"

struct agent_reports;
struct config;
struct session;

struct agent_windows {
	const struct config *config;
	struct session *session;
	struct sink *sink;
	struct agent_reports *reports; /* NULL: none are wanted */
	struct loss_log losses;
	uint64_t with_tags, idle; /* windows */
	struct sink_counts seen;  /* of this sink, at the last poll */
	struct sink_counts told;  /* of all sinks, at the last summary */
	uint64_t told_at_ns, told_windows;
	bool build_failed; /* of the last window */
};

/* `windows` is zeroed; the others outlive it. */
void agent_windows_begin(struct agent_windows *windows, const struct config *config, struct session *session,
                         struct sink *sink);
/* Ends the session's window, and hands it to the sink. */
void agent_windows_end(struct agent_windows *windows);
/* Logs what became of the windows that were handed over. */
void agent_windows_poll(struct agent_windows *windows);
/* For a new configuration: goes on with the counts and losses of `old`, and its sink takes over the old one. Each loss is
 * logged anew. */
void agent_windows_take_over(struct agent_windows *windows, struct agent_windows *old);

/* At the end: ends the last window, and hands it to sink_end() with `push_ns`. */
void agent_windows_end_last(struct agent_windows *windows, uint64_t push_ns);
/* After sink_finish(): logs the last summary, with what stopped the agent. False when the last window was not
 * delivered as it should. */
bool agent_windows_log(struct agent_windows *windows, const char *stopped_by);

#endif
