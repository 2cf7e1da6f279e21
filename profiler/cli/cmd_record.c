/* The subcommand `record`: records a command, processes or the host, then prints a summary. */

#include "profiler/cli/cmd_record.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pprof/profile.h"
#include "profiler/cli/child.h"
#include "profiler/cli/command_signals.h"
#include "profiler/config/config.h"
#include "profiler/format/text_cells.h"
#include "pprof/utf8.h"
#include "profiler/cli/delivery_wait.h"
#include "profiler/session/event_loop.h"
#include "profiler/cli/host_check.h"
#include "profiler/cli/live_line.h"
#include "profiler/session/open_files.h"
#include "profiler/process/process_ends.h"
#include "profiler/process/program_name.h"
#include "profiler/cli/process_tag.h"
#include "profiler/cli/ready_fd.h"
#include "profiler/cli/record_options.h"
#include "profiler/session/session.h"
#include "profiler/session/silent_mounts.h"
#include "profiler/cli/sums_wait.h"
#include "profiler/output/sink.h"
#include "profiler/top/top.h"

#define LINE_MAX_BYTES     8192
#define PATIENCE_NS        1000000000ULL
#define LAST_PUSH_SECONDS  10
#define SLICES_OF_FILE     120
#define SERVICE_NAME_BYTES 1025 /* as many as the setting takes, and a NUL */

struct recording {
	struct record_options options;
	struct silent_mounts *mounts; /* NULL: none are told */
	struct session *session;
	struct sink *sink;
	struct process_ends *ends; /* of those that --pid names */
	struct child child;
	bool has_child, child_ended, child_left, pids_ended, interrupted;
	bool failed;
	struct event_loop loop;
	struct command_signals signals;
	uint64_t before_ns;    /* what elapsed before the loop ran again */
	uint64_t patient_till; /* when to say that the command has not ended yet; 0: no need */
	uint64_t elapsed_ns;
};

static void say(const char *line)
{
	live_line_clear();
	fputs("stallprof: ", stderr);
	text_print_clean_lines(stderr, line);
	fputc('\n', stderr);
}

/* Ends the recording when the last process has ended. */
static int on_process_end(void *ctx)
{
	struct recording *r = ctx;

	r->pids_ended = !process_ends_left(r->ends);
	return r->pids_ended ? EVENT_LOOP_STOP : 0;
}

/* Under the name and id that are given, else under its own. */
static int follow_pid(struct recording *r, uint32_t pid, char *err, size_t err_len)
{
	const struct record_options *options = &r->options;
	char own[PROCESS_TAG_BYTES];
	uint64_t own_id;

	if (options->name)
		return session_tag_process(r->session, pid, options->name, options->id, err, err_len);
	if (process_tag_of(pid, own, &own_id)) {
		snprintf(err, err_len, "there is no process %u: see ps", pid);
		return -ESRCH;
	}
	return session_tag_process(r->session, pid, own, options->id ? options->id : own_id, err, err_len);
}

static int follow_pids(struct recording *r, char *err, size_t err_len)
{
	size_t i;
	int result;

	r->ends = process_ends_new();
	if (!r->ends)
		return -errno;
	if (r->options.n_pids) {
		r->loop.on_watched = on_process_end;
		r->loop.watched_fd = process_ends_fd(r->ends);
	}
	for (i = 0; i < r->options.n_pids; i++) {
		uint32_t pid = r->options.pids[i];

		result = process_ends_add(r->ends, pid) ? -ESRCH : 0;
		if (result)
			snprintf(err, err_len, "there is no process %u: see ps", pid);
		else
			result = follow_pid(r, pid, err, err_len);
		if (result)
			return result;
	}
	return 0;
}

/* Runs in the command's process: undoes what it would inherit from us. */
static void restore_inherited(const void *loop)
{
	event_loop_restore_signals(loop);
	open_files_restore();
}

static int follow_command(struct recording *r, char *err, size_t err_len)
{
	const char *name = r->options.name ? r->options.name : program_name(r->options.command);
	int result = child_spawn(&r->child, r->options.command, restore_inherited, &r->loop);

	if (result) {
		snprintf(err, err_len, "cannot fork: %s", strerror(-result));
		return result;
	}
	r->has_child = true;
	session_expect_command(r->session, r->options.command[0]);
	return session_tag_command(r->session, r->child.pid, name, r->options.id, err, err_len);
}

static int choose_service_name(struct recording *r, char *err, size_t err_len)
{
	char process[PROCESS_TAG_BYTES], clean[SERVICE_NAME_BYTES];
	const char *name = "stallprof";

	if (r->options.has_service_name)
		return 0;
	if (r->options.command)
		name = program_name(r->options.command);
	else if (r->options.n_pids == 1 && !process_name_of(r->options.pids[0], process))
		name = process;
	/* A file's name may hold any byte, and the server takes text alone. */
	utf8_clean(clean, sizeof(clean), name, strlen(name));
	return config_set(r->options.config, "service_name", clean, err, err_len);
}

static int open_recording(struct recording *r, char *err, size_t err_len)
{
	const struct config *config = r->options.config;
	struct session_opts opts = {
		.only_adopted = !r->options.whole_host,
		.always_attached = !r->options.whole_host,
		.local = true,
	};
	int result = host_check_and_warn(say, err, err_len);

	if (!result)
		result = choose_service_name(r, err, err_len);
	if (result)
		return result;
	r->sink = sink_new(config, r->options.output, say, err, err_len);
	if (!r->sink)
		return -errno;
	opts.mounts = r->mounts;
	opts.max_slices = sink_is_one_file(r->sink) ? SLICES_OF_FILE : 0;
	r->session = session_new(config, &opts, say, err, err_len);
	if (!r->session)
		return -errno;
	if (r->options.command)
		return follow_command(r, err, err_len);
	return follow_pids(r, err, err_len);
}

/* Passes the signal on, or leaves the command running. 0, or EVENT_LOOP_STOP. */
static int on_command_signal(struct recording *r, const struct signalfd_siginfo *signal)
{
	switch (command_signals_take(&r->signals, signal)) {
	case COMMAND_HAS_IT:
		r->patient_till = r->elapsed_ns + PATIENCE_NS;
		return 0;
	case COMMAND_IS_SENT_IT:
		kill(r->child.pid, signal->ssi_signo);
		return 0;
	case COMMAND_IS_TERMINATED:
		kill(r->child.pid, SIGTERM);
		r->patient_till = r->elapsed_ns + PATIENCE_NS;
		return 0;
	case COMMAND_IS_LEFT:
		break;
	}
	say("the profile ends here; the command goes on");
	r->child.status = 128 + SIGINT;
	r->child_left = true;
	return EVENT_LOOP_STOP;
}

static int on_signal(void *ctx, const struct signalfd_siginfo *signal)
{
	struct recording *r = ctx;

	r->interrupted |= signal->ssi_signo != SIGCHLD;
	if (signal->ssi_signo != SIGCHLD)
		return r->has_child && !r->child_ended && !r->child_left ? on_command_signal(r, signal)
		                                                         : EVENT_LOOP_STOP;
	if (!r->has_child || !child_reap(&r->child))
		return 0;
	r->child_ended = true;
	return EVENT_LOOP_STOP;
}

/* The command takes its time after Ctrl-C, to save its work for instance. */
static void tell_to_be_patient(struct recording *r)
{
	if (!r->patient_till || r->elapsed_ns < r->patient_till)
		return;
	r->patient_till = 0;
	say(r->signals.interrupts < 2 ? "waiting for the command to end; Ctrl-C again sends it SIGTERM"
	                              : "waiting for the command to end; Ctrl-C again leaves it running");
}

static void on_tick(void *ctx, uint64_t elapsed_ns)
{
	struct recording *r = ctx;
	struct session_progress progress;

	r->elapsed_ns = r->before_ns + elapsed_ns;
	sink_poll(r->sink);
	if (r->options.quiet)
		return;
	tell_to_be_patient(r);
	if (r->options.command)
		return; /* which would write into our line on the same terminal */
	session_progress(r->session, &progress);
	live_line_show(r->elapsed_ns / 1e9, &progress);
}

/* NULL: it failed, which was said. */
static struct profile *end_window(struct recording *r)
{
	struct profile *profile = session_end_window(r->session);
	char line[256];

	if (!profile) {
		snprintf(line, sizeof(line), "cannot build the profile: %s", strerror(errno));
		say(line);
		r->failed = true;
	}
	return profile;
}

static int on_window(void *ctx)
{
	struct recording *r = ctx;
	struct profile *profile = end_window(r);

	if (profile)
		sink_deliver(r->sink, profile);
	return 0;
}

/* A server has as long as one request may take, a disk as long as it takes; the user can end the wait. */
static void deliver_last(struct recording *r)
{
	uint64_t seconds = r->options.config->push.timeout_seconds;

	if (seconds < LAST_PUSH_SECONDS)
		seconds = LAST_PUSH_SECONDS;
	sink_end(r->sink, end_window(r), seconds * 1000000000ULL);
	session_free(r->session);
	r->session = NULL;
	delivery_wait(r->sink, &r->loop, r->options.quiet ? NULL : say);
	if (sink_finish(r->sink))
		r->failed = true;
}

static void say_where(const struct sink *sink)
{
	unsigned long long kept = sink_counts(sink).kept;

	if (sink_dir(sink) && kept)
		fprintf(stderr, "stallprof: %llu profile%s in %s: stallprof top %s\n", kept,
		        kept == 1 ? " is" : "s are", sink_dir(sink), sink_dir(sink));
	else if (sink_last_file(sink)[0])
		fprintf(stderr, "stallprof: the profile is %s\n", sink_last_file(sink));
}

static void say_why(const struct recording *r)
{
	char line[128];

	if (!r->pids_ended || r->options.quiet)
		return;
	if (r->options.n_pids == 1)
		snprintf(line, sizeof(line), "process %u has ended", r->options.pids[0]);
	else
		snprintf(line, sizeof(line), "all %zu processes have ended", r->options.n_pids);
	say(line);
}

static void finish(struct recording *r)
{
	live_line_clear();
	say_why(r);
	deliver_last(r);
	if (r->options.quiet)
		return;
	if (sink_whole(r->sink))
		top_print_summary(stderr, sink_whole(r->sink),
		                  sink_last_file(r->sink)[0] ? sink_last_file(r->sink) : NULL,
		                  r->options.top);
	say_where(r->sink);
}

static int run_session(struct recording *r)
{
	int result = event_loop_run(&r->loop);

	if (result == EVENT_LOOP_DURATION && r->has_child) {
		/* What the command does at its end is recorded, too. */
		kill(r->child.pid, SIGTERM);
		if (!r->options.quiet)
			say("the time is over: the command was sent SIGTERM, and its end is waited for");
		r->before_ns = r->elapsed_ns;
		r->loop.duration_ns = 0;
		result = event_loop_run(&r->loop);
	}
	r->before_ns = r->elapsed_ns;
	return result < 0 || r->interrupted ? result : sums_wait(&r->loop, r->options.quiet ? NULL : say);
}

static int run_recording(struct recording *r)
{
	int result = run_session(r);

	if (result < 0) {
		say(strerror(-result));
		r->failed = true;
	}
	finish(r);
	/* The command does not end because the recording failed. */
	if (result < 0 && r->has_child && !r->child_ended && event_loop_wait(&r->loop) < 0)
		say("cannot wait for the command");
	if (r->has_child && (r->child.status || !r->options.strict))
		return r->child.status;
	return r->failed ? 1 : 0;
}

static int start(struct recording *r, char *err, size_t err_len)
{
	int result = open_recording(r, err, err_len);
	bool windows;

	if (!result)
		result = session_start(r->session, err, err_len);
	if (!result && r->has_child)
		result = child_release(&r->child, r->options.command[0], err, err_len);
	else if (r->has_child)
		child_abandon(&r->child);
	if (result)
		return result;
	windows = r->options.window_seconds || sink_wants_windows(r->sink);
	if (windows)
		r->loop.window_ns = (r->options.window_seconds ? r->options.window_seconds
		                                               : r->options.config->window_seconds) *
		                    1000000000ULL;
	r->loop.duration_ns = r->options.duration_seconds * 1e9;
	r->loop.session = r->session;
	ready_fd_tell(r->options.ready_fd);
	return 0;
}

/* The command was not released yet: executes it in this process instead. */
static int run_unrecorded(struct recording *r, const char *why)
{
	char line[LINE_MAX_BYTES + 64], err[512];
	int status;

	snprintf(line, sizeof(line), "the command is not recorded: %s", why);
	say(line);
	restore_inherited(&r->loop);
	status = child_execute(r->options.command, err, sizeof(err));
	say(err);
	return status;
}

static int record(struct recording *r)
{
	char err[LINE_MAX_BYTES] = "";
	int result = event_loop_init(&r->loop);

	r->mounts = silent_mounts_new(say);
	if (!r->mounts)
		say(SILENT_MOUNTS_NOT_ASKED);
	if (result)
		snprintf(err, sizeof(err), "cannot set up signals: %s", strerror(-result));
	else
		result = start(r, err, sizeof(err));
	if (!result)
		return run_recording(r);
	if (r->options.command && !r->options.strict && !r->child.status) {
		session_free(r->session);
		silent_mounts_free(r->mounts);
		r->session = NULL;
		r->mounts = NULL;
		return run_unrecorded(r, err);
	}
	say(err);
	return r->child.status ? r->child.status : 1;
}

int cmd_record(int argc, char **argv)
{
	struct recording r = { 0 };
	int status;

	record_options_parse(argc, argv, &r.options);
	r.signals.leads_session = getsid(0) == getpid();
	r.loop = (struct event_loop){ .ctx = &r,
		                      .on_signal = on_signal,
		                      .on_window = on_window,
		                      .on_tick = on_tick,
		                      .for_command = r.options.command,
		                      .signal_fd = -1 };
	status = record(&r);
	event_loop_close(&r.loop);
	session_free(r.session);
	silent_mounts_free(r.mounts);
	process_ends_free(r.ends);
	sink_free(r.sink);
	config_free(r.options.config);
	child_end_likewise(&r.child);
	return status;
}
