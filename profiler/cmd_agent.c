#include "profiler/cmd_agent.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "pprof/profile.h"
#include "profiler/config.h"
#include "profiler/event_loop.h"
#include "profiler/host_check.h"
#include "profiler/session.h"
#include "profiler/sink.h"
#include "profiler/usage.h"

#define LINE_MAX_BYTES 8192

struct agent {
	const char *config_path;
	struct config *config;
	struct session *session;
	struct sink *sink;
	struct event_loop loop;
	bool failed;
};

static const struct argp_option options[] = {
	{ "config", 'c', "FILE", 0, "the configuration (" CONFIG_FILE ")", 0 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct agent *agent = state->input;

	switch (key) {
	case 'c':
		agent->config_path = arg;
		return 0;
	case ARGP_KEY_ARG:
		usage_error(state, "unexpected argument %s", arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.doc = "Records whatever is tagged on this host, window by window, until SIGTERM. Where the "
	       "profiles go is said in the configuration.",
};

static void say(const char *line)
{
	fprintf(stderr, "stallprof agent: %s\n", line);
}

static int on_signal(void *ctx, int signal_number)
{
	(void)ctx;
	return signal_number == SIGCHLD ? 0 : EVENT_LOOP_STOP;
}

/* A window in which nothing was tagged is empty, and delivered none the less: "no stall" is an answer too. */
static int deliver(struct agent *agent)
{
	struct profile *profile = session_end_window(agent->session);
	char line[256];

	if (!profile) {
		snprintf(line, sizeof(line), "cannot build the profile of a window: %s", strerror(errno));
		say(line);
		agent->failed = true;
	} else if (sink_deliver(agent->sink, profile)) {
		agent->failed = true;
	}
	return 0;
}

static int on_window(void *ctx)
{
	return deliver(ctx);
}

/* A filter that is not obeyed would record what it should not. */
static int check_filters(const struct agent *agent, char *err, size_t err_len)
{
	const struct config_filters *filters = &agent->config->filters;

	if (filters->pid_count)
		snprintf(
		        err, err_len,
		        "%s: filters.pids: the agent does not filter by process; use stallprof record -p, or "
		        "filters.cgroups",
		        agent->config_path);
	else if (filters->cgroup_count > 1)
		snprintf(err, err_len, "%s: filters.cgroups: one at most; name a cgroup above them all",
		         agent->config_path);
	else
		return 0;
	return -EINVAL;
}

static int start(struct agent *agent, char *err, size_t err_len)
{
	struct session_opts opts = { 0 };
	const char *folder;
	char output[4096];
	int result = config_load(agent->config_path, &agent->config, err, err_len);

	if (!result)
		result = check_filters(agent, err, err_len);
	if (!result)
		result = host_check(err, err_len);
	if (result)
		return result;
	folder = agent->config->output.directory;
	if (!folder[0] && !agent->config->push.url[0]) {
		snprintf(err, err_len, "%s: nowhere to put profiles: set push.url or output.directory",
		         agent->config_path);
		return -EINVAL;
	}
	snprintf(output, sizeof(output), "%s%s", folder, folder[0] ? "/" : "");
	agent->sink = sink_new(agent->config, output, say, err, err_len);
	if (!agent->sink)
		return -errno;
	agent->session = session_new(agent->config, &opts, say, err, err_len);
	if (!agent->session)
		return -errno;
	session_expect_command(agent->session, NULL);
	agent->loop.session = agent->session;
	agent->loop.window_ns = agent->config->window_seconds * 1000000000ULL;
	return session_start(agent->session, err, err_len);
}

int cmd_agent(int argc, char **argv)
{
	struct agent agent = { .config_path = CONFIG_FILE };
	char err[LINE_MAX_BYTES] = "";
	int status = 1, result;

	usage_parse(&argp, "stallprof agent", argc, argv, 0, &agent);
	agent.loop = (struct event_loop){
		.ctx = &agent, .on_signal = on_signal, .on_window = on_window, .signal_fd = -1
	};
	if (event_loop_init(&agent.loop)) {
		say("cannot set up signals");
	} else if (start(&agent, err, sizeof(err))) {
		say(err);
	} else {
		result = event_loop_run(&agent.loop);
		if (result < 0)
			say(strerror(-result));
		deliver(&agent);
		status = result < 0 || agent.failed;
	}
	event_loop_close(&agent.loop);
	session_free(agent.session);
	sink_free(agent.sink);
	config_free(agent.config);
	return status;
}
