/* The subcommand `agent`: options, loading and reloading the configuration, the main loop. */

#include "profiler/cli/cmd_agent.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "profiler/cli/agent_check.h"
#include "profiler/cli/agent_log.h"
#include "profiler/cli/agent_reports.h"
#include "profiler/cli/agent_windows.h"
#include "profiler/config/config.h"
#include "profiler/cli/delivery_wait.h"
#include "profiler/session/event_loop.h"
#include "profiler/cli/host_check.h"
#include "profiler/cli/systemd_notify.h"
#include "profiler/session/session.h"
#include "profiler/session/silent_mounts.h"
#include "profiler/output/sink.h"
#include "profiler/scrape/scrape.h"
#include "profiler/cli/usage.h"
#include "profiler/format/version.h"

#define LINE_MAX_BYTES 8192
#define LAST_PUSH_NS   (5 * 1000000000ULL)

/* One configuration in use: a reload makes another one beside it before this one is freed. */
struct agent {
	const char *config_path;
	bool only_check;
	struct config *config;
	struct silent_mounts *mounts; /* the same for all sessions; NULL: none are told */
	struct session *session;
	struct sink *sink;
	struct agent_reports *reports; /* NULL: none are wanted */
	struct scrape *scrape;         /* the same for all configurations */
	struct scrape_plan *plan;      /* what this one wants of it; NULL since it is in use */
	struct agent_windows windows;
	struct event_loop loop;
	bool tag_seen;
	const char *stopped_by;
};

enum { KEY_CHECK = 256 };
enum { AGENT_RELOAD = EVENT_LOOP_DURATION + 1 };

static const struct argp_option options[] = {
	{ "config", 'c', "FILE", 0, "the configuration (" CONFIG_FILE ")", 0 },
	{ "check-config", KEY_CHECK, NULL, 0, "check the configuration and exit", 0 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct agent *agent = state->input;

	switch (key) {
	case 'c':
		agent->config_path = arg;
		return 0;
	case KEY_CHECK:
		agent->only_check = true;
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
	.doc = "Records whatever is tagged on this host, window by window, until SIGTERM. The configuration "
	       "says where the profiles go; SIGHUP reads it again.",
};

static void say(const char *line)
{
	agent_log(AGENT_WARNING, "%s", line);
}

/* --- one configuration --------------------------------------------------------------------------------- */

/* A filter that is not applied would let us record what we should not. */
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

static int load(struct agent *agent, char *err, size_t err_len)
{
	int result = config_load(agent->config_path, &agent->config, err, err_len);
	size_t used;

	used = strlen(err);
	if (result == -EACCES || result == -EPERM)
		snprintf(err + used, err_len - used, ": run as root, or give another configuration with -c");
	else if (result == -ENOENT)
		snprintf(err + used, err_len - used,
		         ": write one after the example config/stallprof.yaml of stallprof's sources, see "
		         "stallprof.yaml(5), or give another one with -c FILE");
	if (!result)
		result = check_filters(agent, err, err_len);
	if (!result && !agent->config->output.directory[0] && !agent->config->push.url[0] &&
	    !agent->config->scrape.listen[0]) {
		snprintf(err, err_len,
		         "%s: nowhere to put profiles: set push.url, output.directory or scrape.listen",
		         agent->config_path);
		result = -EINVAL;
	}
	return result;
}

/* The port answers before the programs are loaded, so that one that is in use is told at once. */
static int open_scrape(struct agent *agent, char *err, size_t err_len)
{
	agent->plan = scrape_plan_new(agent->scrape, agent->config, err, err_len);
	if (!agent->plan)
		return -errno;
	if (!agent->config->scrape.listen[0] || !sink_show(agent->sink, scrape_take, agent->scrape))
		return 0;
	snprintf(err, err_len, "out of memory");
	return -ENOMEM;
}

/* `takes_over`: from another session. */
static int open_session(struct agent *agent, bool takes_over, char *err, size_t err_len)
{
	const char *dir = agent->config->output.directory;
	struct session_opts opts = { .takes_over = takes_over, .mounts = agent->mounts };
	char output[4096];
	int result;

	snprintf(output, sizeof(output), "%s%s", dir, dir[0] ? "/" : "");
	agent->sink = sink_new(agent->config, output, say, err, err_len);
	if (!agent->sink)
		return -errno;
	result = open_scrape(agent, err, err_len);
	if (result)
		return result;
	agent->session = session_new(agent->config, &opts, say, err, err_len);
	if (!agent->session)
		return -errno;
	session_expect_command(agent->session, NULL);
	result = agent_reports_new(&agent->reports, agent->config, err, err_len);
	if (result)
		return result;
	agent_windows_begin(&agent->windows, agent->config, agent->session, agent->sink);
	agent->windows.reports = agent->reports;
	agent->loop.session = agent->session;
	agent->loop.window_ns = agent->config->window_seconds * 1000000000ULL;
	return session_start(agent->session, err, err_len);
}

static void close_session(struct agent *agent)
{
	session_free(agent->session);
	sink_free(agent->sink);
	agent_reports_free(agent->reports);
	scrape_plan_free(agent->plan);
	config_free(agent->config);
}

/* "1 GiB", "1500 MiB": in the largest unit of which it is a whole number. */
static const char *whole_size(char *text, size_t size, uint64_t bytes)
{
	static const char *const units[] = { "bytes", "KiB", "MiB", "GiB", "TiB" };
	size_t unit = 0;

	while (unit + 1 < sizeof(units) / sizeof(units[0]) && bytes && !(bytes % 1024)) {
		bytes /= 1024;
		unit++;
	}
	snprintf(text, size, "%llu %s", (unsigned long long)bytes, units[unit]);
	return text;
}

static void log_start(const struct agent *agent, const char *what)
{
	const struct config *config = agent->config;
	char kept[64] = "", most[32];

	if (config->output.max_bytes)
		snprintf(kept, sizeof(kept), ", %s at most",
		         whole_size(most, sizeof(most), config->output.max_bytes));
	agent_log(AGENT_INFO, "%s: windows of %llu s%s%s%s%s%s", what,
	          (unsigned long long)config->window_seconds, config->push.url[0] ? ", pushed to " : "",
	          config->push.url, config->output.directory[0] ? ", kept in " : "", config->output.directory,
	          config->output.directory[0] ? kept : "");
}

/* The scrape endpoint of the configuration is in use from now on. */
static void adopt_scrape(struct agent *agent)
{
	char err[LINE_MAX_BYTES] = "";
	const char *address;

	if (scrape_adopt(agent->scrape, agent->plan, err, sizeof(err)))
		agent_log(AGENT_ERROR,
		          "the scrape endpoint (scrape.listen) answers nobody until the next SIGHUP: %s",
		          err);
	agent->plan = NULL;
	address = scrape_address(agent->scrape);
	if (address)
		agent_log(AGENT_INFO, "answers at http://%s/ (scrape.listen)", address);
	if (scrape_is_open(agent->scrape))
		agent_log(
		        AGENT_WARNING,
		        "whoever reaches %s can read what runs here: set scrape.bearer_token_file, or listen "
		        "on 127.0.0.1",
		        address ? address : "it");
}

/* --- the loop ------------------------------------------------------------------------------------------ */

static int on_signal(void *ctx, const struct signalfd_siginfo *signal)
{
	struct agent *agent = ctx;

	if (signal->ssi_signo == SIGCHLD) {
		/* One that looked at files (asker_process.h), and ended after its session. */
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		return 0;
	}
	if (signal->ssi_signo == SIGHUP)
		return AGENT_RELOAD;
	agent->stopped_by = signal->ssi_signo == SIGTERM ? "SIGTERM" : "SIGINT";
	return EVENT_LOOP_STOP;
}

static int on_window(void *ctx)
{
	struct agent *agent = ctx;

	agent_windows_end(&agent->windows);
	return 0;
}

static void on_tick(void *ctx, uint64_t elapsed_ns)
{
	struct agent *agent = ctx;
	struct session_progress progress;
	struct sink_counts counts;

	(void)elapsed_ns;
	agent_windows_poll(&agent->windows);
	counts = sink_counts_all(agent->sink);
	scrape_poll(agent->scrape, &counts);
	if (agent_reports_look(agent->reports, agent->session))
		agent_windows_end(&agent->windows);
	if (agent->tag_seen)
		return;
	session_progress(agent->session, &progress);
	agent->tag_seen = progress.tagged > 0;
	if (agent->tag_seen)
		agent_log(AGENT_INFO, "first tagged thread: recording");
}

/* The new configuration is in use before the old one goes, so that nothing is missed; a bad one changes nothing. */
static void reload(struct agent *agent)
{
	struct agent next = { .config_path = agent->config_path,
		              .mounts = agent->mounts,
		              .scrape = agent->scrape,
		              .loop = agent->loop,
		              .tag_seen = agent->tag_seen };
	char err[LINE_MAX_BYTES] = "";

	systemd_notify_reloading();
	if (load(&next, err, sizeof(err)) || open_session(&next, true, err, sizeof(err))) {
		agent_log(AGENT_ERROR, "the configuration stays as it was: %s", err);
		close_session(&next);
	} else {
		agent_windows_end(&agent->windows);
		agent_windows_take_over(&next.windows, &agent->windows);
		agent->sink = NULL;
		close_session(agent);
		*agent = next;
		agent->loop.window_end_ns = 0;
		log_start(agent, "configuration read again");
		adopt_scrape(agent);
	}
	systemd_notify("READY=1");
}

static int run(struct agent *agent)
{
	bool delivered;
	size_t waiting;
	int result;

	log_start(agent, "stallprof " STALLPROF_VERSION " started");
	adopt_scrape(agent);
	sink_begin(agent->sink);
	waiting = sink_waiting(agent->sink);
	if (waiting)
		agent_log(AGENT_INFO, "windows of an earlier run in %s, which are sent first: %zu",
		          agent->config->push.spool, waiting);
	systemd_notify("READY=1");
	while ((result = event_loop_run(&agent->loop)) == AGENT_RELOAD)
		reload(agent);
	systemd_notify("STOPPING=1");
	if (result < 0)
		agent_log(AGENT_ERROR, "%s", strerror(-result));
	scrape_stop(agent->scrape);
	agent_windows_end_last(&agent->windows, LAST_PUSH_NS);
	session_free(agent->session);
	agent->session = NULL;
	delivery_wait(agent->sink, &agent->loop, NULL);
	sink_finish(agent->sink);
	delivered = agent_windows_log(&agent->windows, agent->stopped_by ? agent->stopped_by : "an error");
	return result < 0 || !delivered;
}

static int check_config(struct agent *agent)
{
	char err[LINE_MAX_BYTES] = "";
	int result = load(agent, err, sizeof(err));

	if (!result)
		result = agent_check_host(agent->config_path, agent->config, say, err, sizeof(err));
	if (result)
		agent_log(AGENT_ERROR, "%s", err);
	else
		printf("%s can be used\n", agent->config_path);
	close_session(agent);
	return result ? 1 : 0;
}

int cmd_agent(int argc, char **argv)
{
	struct agent agent = { .config_path = CONFIG_FILE };
	char err[LINE_MAX_BYTES] = "";
	int status = 1;

	usage_parse(&argp, "stallprof agent", argc, argv, 0, &agent);
	agent_log_open();
	if (agent.only_check)
		return check_config(&agent);
	umask(077); /* profiles tell of all users' processes; a container has no unit that says so */
	agent.loop = (struct event_loop){ .ctx = &agent,
		                          .on_signal = on_signal,
		                          .on_window = on_window,
		                          .on_tick = on_tick,
		                          .signal_fd = -1 };
	agent.mounts = silent_mounts_new(say);
	if (!agent.mounts)
		agent_log(AGENT_WARNING, SILENT_MOUNTS_NOT_ASKED);
	agent.scrape = scrape_new();
	if (!agent.scrape)
		agent_log(AGENT_ERROR, "out of memory");
	else if (event_loop_init(&agent.loop))
		agent_log(AGENT_ERROR, "cannot set up signals");
	else if (load(&agent, err, sizeof(err)) || host_check_and_warn(say, err, sizeof(err)) ||
	         open_session(&agent, false, err, sizeof(err)))
		agent_log(AGENT_ERROR, "%s", err);
	else
		status = run(&agent);
	event_loop_close(&agent.loop);
	close_session(&agent);
	silent_mounts_free(agent.mounts);
	scrape_free(agent.scrape);
	return status;
}
