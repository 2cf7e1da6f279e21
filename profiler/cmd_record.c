#include "profiler/cmd_record.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "pprof/profile.h"
#include "profiler/child.h"
#include "profiler/config.h"
#include "profiler/event_loop.h"
#include "profiler/host_check.h"
#include "profiler/live_line.h"
#include "profiler/record_options.h"
#include "profiler/session.h"
#include "profiler/sink.h"
#include "profiler/top.h"

#define LINE_MAX_BYTES 8192
#define CHILD_WAIT_S   3

struct recording {
	struct record_options options;
	struct session *session;
	struct sink *sink;
	struct child child;
	bool has_child, child_ended;
	bool failed;
	struct event_loop loop;
};

static void say(const char *line)
{
	live_line_clear();
	fprintf(stderr, "stallprof: %s\n", line);
}

/* The program's file name: what a process is called unless --name says otherwise. */
static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static int process_name(uint32_t pid, char *name, size_t size)
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%u/comm", pid);
	file = fopen(path, "re");
	if (!file)
		return -ESRCH;
	if (!fgets(name, size, file))
		name[0] = '\0';
	fclose(file);
	name[strcspn(name, "\n")] = '\0';
	return 0;
}

static int follow_pids(struct recording *r, char *err, size_t err_len)
{
	char name[64];
	size_t i;
	int result;

	for (i = 0; i < r->options.n_pids; i++) {
		uint32_t pid = r->options.pids[i];

		if (process_name(pid, name, sizeof(name))) {
			snprintf(err, err_len, "there is no process %u: see ps", pid);
			return -ESRCH;
		}
		result = session_tag_process(r->session, pid, r->options.name ? r->options.name : name,
		                             r->options.id, err, err_len);
		if (result)
			return result;
	}
	return 0;
}

static int follow_command(struct recording *r, char *err, size_t err_len)
{
	const char *name = r->options.name ? r->options.name : base_name(r->options.command[0]);
	int result = child_spawn(&r->child, r->options.command);

	if (result) {
		snprintf(err, err_len, "cannot fork: %s", strerror(-result));
		return result;
	}
	r->has_child = true;
	session_expect_command(r->session, r->options.command[0]);
	return session_tag_process(r->session, r->child.pid, name, r->options.id, err, err_len);
}

static int choose_service_name(struct recording *r, char *err, size_t err_len)
{
	const char *name = "stallprof";

	if (r->options.has_service_name)
		return 0;
	if (r->options.command)
		name = base_name(r->options.command[0]);
	return config_set(r->options.config, "service_name", name, err, err_len);
}

static int open_recording(struct recording *r, char *err, size_t err_len)
{
	const struct config *config = r->options.config;
	struct session_opts opts = {
		.only_adopted = !r->options.whole_host,
		.always_attached = !r->options.whole_host,
	};
	int result = host_check(err, err_len);

	if (!result)
		result = choose_service_name(r, err, err_len);
	if (result)
		return result;
	r->sink = sink_new(config, r->options.output, say, err, err_len);
	if (!r->sink)
		return -errno;
	r->session = session_new(config, &opts, say, err, err_len);
	if (!r->session)
		return -errno;
	if (r->options.command)
		return follow_command(r, err, err_len);
	return follow_pids(r, err, err_len);
}

static int on_signal(void *ctx, int signal_number)
{
	struct recording *r = ctx;

	if (signal_number != SIGCHLD)
		return EVENT_LOOP_STOP;
	if (!r->has_child || !child_reap(&r->child))
		return 0;
	r->child_ended = true;
	return EVENT_LOOP_STOP;
}

static void on_tick(void *ctx, uint64_t elapsed_ns)
{
	struct recording *r = ctx;
	struct session_progress progress;

	if (r->options.quiet)
		return;
	session_progress(r->session, &progress);
	live_line_show(elapsed_ns / 1e9, &progress);
}

static int end_window(struct recording *r)
{
	struct profile *profile = session_end_window(r->session);
	char line[256];

	if (!profile) {
		snprintf(line, sizeof(line), "cannot build the profile: %s", strerror(errno));
		say(line);
		r->failed = true;
	} else if (sink_deliver(r->sink, profile)) {
		r->failed = true;
	}
	return 0;
}

static int on_window(void *ctx)
{
	return end_window(ctx);
}

static void finish(struct recording *r)
{
	live_line_clear();
	end_window(r);
	if (sink_finish(r->sink))
		r->failed = true;
	if (r->options.quiet)
		return;
	if (r->options.top && sink_whole(r->sink))
		top_print_summary(stderr, sink_whole(r->sink), r->options.top);
	if (sink_last_file(r->sink)[0])
		fprintf(stderr, "stallprof: the profile is %s\n", sink_last_file(r->sink));
}

static uint64_t monotonic_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* After Ctrl-C or --duration: the command is asked to end, and has a while to do so, which is recorded too. */
static void wait_for_child(struct recording *r)
{
	const struct timespec pause = { .tv_nsec = 10000000 };
	uint64_t until = monotonic_ms() + CHILD_WAIT_S * 1000;
	int result = 0;

	if (!r->has_child || r->child_ended)
		return;
	kill(r->child.pid, SIGTERM);
	while (!(r->child_ended = child_reap(&r->child)) && monotonic_ms() < until) {
		nanosleep(&pause, NULL);
		if (result >= 0)
			result = session_tick(r->session);
	}
	if (result < 0) {
		say(strerror(-result));
		r->failed = true;
	}
	if (!r->child_ended)
		say("the command did not end within 3 s of SIGTERM: its profile ends here, it goes on");
}

static int run_recording(struct recording *r)
{
	int result = event_loop_run(&r->loop);

	if (result < 0) {
		say(strerror(-result));
		r->failed = true;
	}
	wait_for_child(r);
	finish(r);
	if (r->has_child && r->child.status)
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
	return 0;
}

int cmd_record(int argc, char **argv)
{
	struct recording r = { 0 };
	char err[LINE_MAX_BYTES] = "";
	int status = 1;

	record_options_parse(argc, argv, &r.options);
	r.loop = (struct event_loop){
		.ctx = &r, .on_signal = on_signal, .on_window = on_window, .on_tick = on_tick, .signal_fd = -1
	};
	if (event_loop_init(&r.loop)) {
		say("cannot set up signals");
	} else if (start(&r, err, sizeof(err))) {
		say(err);
		status = r.child.status ? r.child.status : 1;
	} else {
		status = run_recording(&r);
	}
	event_loop_close(&r.loop);
	session_free(r.session);
	sink_free(r.sink);
	config_free(r.options.config);
	return status;
}
