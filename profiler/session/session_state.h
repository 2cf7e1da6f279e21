/* The inside of a session (session.h): made and driven in session.c; its windows are filled and ended in
 * session_windows.c. */
#ifndef STALLPROF_PROFILER_SESSION_STATE_H
#define STALLPROF_PROFILER_SESSION_STATE_H

#include "profiler/format/say.h"
#include "profiler/format/stamp.h"
#include "profiler/session/attachment.h"
#include "profiler/session/sampling_threshold.h"
#include "profiler/session/session.h"
#include "profiler/session/window.h"
#include "profiler/tracer/cgroup_filter.h"

#define SESSION_DRAIN_NS                                                                                     \
	(50 * 1000000ULL) /* of a tick, so that signals and mappings are attended to in time */

struct session {
	const struct config *config;
	struct session_opts opts;
	say_fn say;
	struct online_cpus *cpus; /* NULL: sysfs cannot be read */
	struct tracer *tracer;
	struct debuginfod *debuginfod; /* NULL: not configured */
	struct symbol_saver *saver;    /* NULL: no memory for one */
	struct symbolizer *symbolizer;
	struct process_table *processes;
	struct python_processes *pythons; /* NULL: switched off */
	struct stack_resolver *resolver;
	struct inherited_waits *inherited; /* NULL: waits that are no stalls have no samples */
	struct tag_watch *watch;
	struct families *families;
	struct tag_names *tags;
	struct tag_classes *classes;
	struct device_names *devices;
	struct mounted_paths *paths;
	struct checkpoint_files *checkpoints; /* NULL, as the next: no file is tagged */
	struct file_xattrs *xattrs;           /* NULL: by no xattr */
	struct asker_process *asker;          /* NULL: no file is looked at */
	bool asker_end_told;                  /* it has ended, and so is none any more */
	struct host_signals *signals;         /* NULL: switched off, or no memory */
	struct window_deps deps;
	struct window *current, *next;
	uint64_t number;                  /* of the ledger map that the programs write to now */
	uint64_t first_of_next;           /* events of this number and above belong to `next` */
	uint64_t begin_unix_ns, begin_ns; /* of the window; the second is CLOCK_MONOTONIC */
	uint64_t housekeeping_ns, polled_ns;
	uint64_t taken_ns;   /* when the ledger was taken last */
	uint64_t failing_ns; /* since then the walk for it fails; 0: it does not */
	struct stamp_growth steal_ns, hooks_late_ns, waiters_dropped;
	struct attachment attachment;
	unsigned int windows_at_rest;      /* that ended since a thread was tagged last */
	bool behind;                       /* the last drain did not come to its end */
	bool too_late;                     /* what comes now is counted, not resolved */
	uint64_t lost_events, lost_row_ns; /* for want of memory for a window */
	uint64_t walks_failed;             /* at ends of windows */
	struct sampling_threshold threshold;
	struct cgroup_filter cgroup;
};

/* Tagged files (session_files.c). The first starts the process that looks at files, if the configuration has any for it; before the tracer is
 * opened. Without it files are not looked at, and counted. */
void session_files_begin(struct session *session);

/* What is needed to tell of tagged files, where there are any; once there is a tracer. 0 or -errno. */
int session_files_open(struct session *session);
void session_files_close(struct session *session);

/* A callback of the tracer. */
void session_files_on_event(void *ctx, const struct abi_file_event *event);

/* Takes the answers that have come, and asks what is due; `all`: allows further questions, too. */
void session_files_tick(struct session *session, uint64_t now_ns, bool all);

/* Adds counters to the stamp, and begins them anew. 0 or -errno. */
int session_files_describe(struct session *session, struct stamp *stamp);

/* Callbacks of the tracer: add an event, or a row of the ledger, to the window that it belongs to. Without memory
 * for a window it is counted as lost. */
void session_on_event(void *ctx, const struct abi_event *event);
int session_on_row(void *ctx, const struct abi_ledger_key *key, const struct abi_ledger_value *value);

/* When the last walk over the threads began or cut their time, as CLOCK_MONOTONIC and as Unix time; without tagged
 * threads, now. Use it in place of reading the clock after the walk, which may be much later if the CPU is taken
 * from us. */
void session_walked(const struct session *session, uint64_t *ns, uint64_t *unix_time_ns);

/* Adds all rows so far to the current window. */
int session_take_ledger(struct session *session);
/* The rows added since the last call are of the time up to `now`. */
void session_taken(struct session *session, uint64_t now);

#endif
