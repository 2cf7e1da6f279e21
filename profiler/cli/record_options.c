/* Parses the options of `stallprof record`, with argp. */

#include "profiler/cli/record_options.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profiler/config/config.h"
#include "profiler/cli/ready_fd.h"
#include "profiler/session/file_sum.h"
#include "profiler/top/top.h"
#include "profiler/tracer/probe_table.h"
#include "profiler/cli/usage.h"
#include "profiler/symbols/user_cache.h"

#define OUTPUT_DEFAULT "stallprof.pb.gz"

/* Of --help; each begins with its heading, the row of `own_options` without a name. */
enum group { GROUP_WHAT = 1, GROUP_TAG, GROUP_FILES, GROUP_RUN, GROUP_SAMPLING, GROUP_SYMBOLS, GROUP_PUSH };

/* Options that are a setting of the configuration by another name. */
enum {
	KEY_NAME = 256,
	KEY_ID,
	KEY_STRICT,
	KEY_DURATION,
	KEY_LABEL,
	KEY_CGROUP,
	KEY_NO_CAUSE,
	KEY_TAG_FILES,
	KEY_READY_FD,
	KEY_SETTING, /* from here on: one key a row of `settings` */
};

static const struct setting {
	enum group group;
	const char *option, *path, *arg, *help;
} settings[] = {
	{ GROUP_PUSH, "push", "push.url", "URL", "push each window to this Pyroscope server" },
	{ GROUP_PUSH, "tenant", "push.tenant", "NAME", "X-Scope-OrgID of the push" },
	{ GROUP_PUSH, "basic-user", "push.basic_user", "NAME", "user for basic auth" },
	{ GROUP_PUSH, "basic-password-file", "push.basic_password_file", "FILE",
	  "file with that user's password" },
	{ GROUP_PUSH, "bearer-token-file", "push.bearer_token_file", "FILE", "file with a bearer token" },
	{ GROUP_PUSH, "push-timeout", "push.timeout_seconds", "SECONDS", "time limit of one request" },
	{ GROUP_PUSH, "service-name", "service_name", "NAME",
	  "series label service_name (default: the name of the command, or of the one process of -p; else "
	  "stallprof)" },
	{ GROUP_SAMPLING, "threshold-ns", "sampling.threshold_ns", "NS",
	  "lowest sampling threshold T: waits of T or longer keep their stack; T is raised under load "
	  "(100000)" },
	{ GROUP_SAMPLING, "waits", "sampling.waits", "WHICH",
	  "stacks of waits that are no stalls: long (from T on), none, auto (long without --push)" },
	{ GROUP_SAMPLING, "host-signals", "sampling.host_signals", "BOOL",
	  "also read the host's run queue, disks, network, throttling and GPUs, for stallprof report "
	  "(true)" },
	{ GROUP_SAMPLING, "budget", "sampling.budget_bytes_per_second", "BYTES",
	  "bytes of stalls' stacks a second beyond which T is raised (1048576; 0: T is always "
	  "--threshold-ns); "
	  "other waits have four times that, and a T of their own" },
	{ GROUP_SAMPLING, "min-duration-ns", "sampling.min_duration_ns", "NS",
	  "shorter waits get no stack, only a ledger row" },
	{ GROUP_SAMPLING, "dma-threshold", "sampling.dma_threshold_ns", "NS",
	  "DMA maps that take this long or longer count as dma_map (20000)" },
	{ GROUP_SAMPLING, "cpu-hz", "sampling.cpu_hz", "HZ",
	  "samples a second of on-CPU time inside stalls (99; 0: none)" },
	{ GROUP_SAMPLING, "oncpu-hz", "sampling.oncpu_hz", "HZ",
	  "also sample on-CPU time outside stalls, for top --type cpu" },
	{ GROUP_SAMPLING, "stack-bytes", "sampling.stack_copy_bytes", "N",
	  "bytes of a user stack to copy (65536)" },
	{ GROUP_SAMPLING, "max-stalled", "sampling.max_stalled_threads", "N",
	  "threads that may wait with a copied stack at once (256)" },
	{ GROUP_SAMPLING, "max-classes", "tags.max_classes", "N",
	  "classes of tags, those that have ended too, beyond which further ones are \"other\" (64)" },
	{ GROUP_SAMPLING, "ring-bytes", "sampling.ring_bytes", "N",
	  "ring buffer from the kernel, a power of two" },
	{ GROUP_FILES, "checkpoint-sha256", "tags.checkpoint_sha256", NULL,
	  "of each of these files that is written: its sha256 after the close, at low priority, compared "
	  "with "
	  "the one in its xattr " FILE_SUM_XATTR },
	{ GROUP_SYMBOLS, "debug-dir", "symbolizer.debug_dir", "DIR",
	  "where debug files are (/usr/lib/debug)" },
	{ GROUP_SYMBOLS, "debuginfod", "symbolizer.debuginfod_urls", "URLS",
	  "fetch missing debug files from these servers, for later windows; \"$DEBUGINFOD_URLS\" for the "
	  "usual ones" },
	{ GROUP_SYMBOLS, "cache-dir", "symbolizer.cache_dir", "DIR",
	  "cache of symbols for the next recording (~/.cache/stallprof); none: no cache" },
	{ GROUP_SYMBOLS, "demangle", "symbolizer.demangle", "HOW",
	  "how much of C++ and Rust names to show: templates, full, simplified, none (templates)" },
	{ GROUP_SYMBOLS, "python", "symbolizer.python", "BOOL",
	  "Python functions in place of the C frames that run them (true)" },
};

#define N_SETTINGS (sizeof(settings) / sizeof(settings[0]))

static const struct argp_option own_options[] = {
	{ NULL, 0, NULL, 0, "What is recorded:", GROUP_WHAT },
	{ "pid", 'p', "PID", 0, "follow this process and its children; may be repeated", GROUP_WHAT },
	{ "all", 'a', NULL, 0, "whatever is tagged on the host, now or later", GROUP_WHAT },
	{ "cgroup", KEY_CGROUP, "DIR", 0, "only threads of this cgroup v2", GROUP_WHAT },
	{ NULL, 0, NULL, 0, "The tag of the whole command or process:", GROUP_TAG },
	{ "name", KEY_NAME, "NAME", 0,
	  "its name (default: the program's file name, train.py of python train.py; of -p the tag that "
	  "stallprof tag gave it, else its name in ps)",
	  GROUP_TAG },
	{ "id", KEY_ID, "N", 0, "its exact id", GROUP_TAG },
	{ NULL, 0, NULL, 0, "Tags without a change to the program:", GROUP_FILES },
	{ "tag-files", KEY_TAG_FILES, "FOLDER[=NAME]", 0,
	  "a thread that reads a file below this folder is NAME_read meanwhile, one that writes or syncs it "
	  "NAME_write (NAME: " CONFIG_TAG_FILES_NAME "); may be repeated. " CONFIG_XATTR
	  "user.ai.checkpoint in place of FOLDER: files that have that xattr",
	  GROUP_FILES },
	{ NULL, 0, NULL, 0, "Duration and output:", GROUP_RUN },
	{ "output", 'o', "FILE|DIR", 0, "one profile, or a folder with one per window (" OUTPUT_DEFAULT ")",
	  GROUP_RUN },
	{ "window", 'w', "SECONDS", 0, "length of a window (10)", GROUP_RUN },
	{ "duration", KEY_DURATION, "SECONDS", 0, "stop after this time, and end the command", GROUP_RUN },
	{ "number", 'n', "N", 0,
	  "rows and lines of code in the summary at the end, as in top (default: what fits in 60 lines; 0: "
	  "all)",
	  GROUP_RUN },
	{ "strict", KEY_STRICT, NULL, 0,
	  "if nothing can be recorded, exit with 1 without running the command; also exit with 1 if the "
	  "profile "
	  "cannot be written or pushed",
	  GROUP_RUN },
	{ "quiet", 'q', NULL, 0, "no live line (of -p and -a) and no summary", GROUP_RUN },
	{ "ready-fd", KEY_READY_FD, "N", 0, "write a line to this open file once the recording runs",
	  GROUP_RUN },
	{ NULL, 0, NULL, 0, "What is sampled:", GROUP_SAMPLING },
	{ "no-cause", KEY_NO_CAUSE, "NAME", 0,
	  "do not record this cause (stallprof doctor lists the names); may be repeated", GROUP_SAMPLING },
	{ NULL, 0, NULL, 0, "Names of functions:", GROUP_SYMBOLS },
	{ NULL, 0, NULL, 0, "Pushing to Pyroscope:", GROUP_PUSH },
	{ "label", KEY_LABEL, "NAME=VALUE", 0, "a further label of pushed series; may be repeated",
	  GROUP_PUSH },
};

#define N_OWN (sizeof(own_options) / sizeof(own_options[0]))

static uint64_t parse_number(struct argp_state *state, const char *option, const char *arg, uint64_t max)
{
	char *end;
	unsigned long long value;

	errno = 0;
	value = strtoull(arg, &end, 0);
	if (errno || *end || !*arg || *arg == '-' || value > max)
		usage_error(state, "--%s %s: a whole number from 0 to %llu is wanted", option, arg,
		            (unsigned long long)max);
	return value;
}

static double parse_seconds(struct argp_state *state, const char *option, const char *arg)
{
	char *end;
	double value = strtod(arg, &end);

	if (*end || !*arg || !isfinite(value) || value <= 0 || value > 1e9)
		usage_error(state, "--%s %s: seconds above 0 are wanted", option, arg);
	return value;
}

/* A relative path is one from where we are; an absolute one is returned as it is. */
static const char *absolute(const char *value, char path[PATH_MAX])
{
	char here[PATH_MAX];

	if (!*value || *value == '/' || !getcwd(here, sizeof(here)) ||
	    snprintf(path, PATH_MAX, "%s/%s", here, value) >= PATH_MAX)
		return value;
	return path;
}

static bool is_path(const struct setting *setting, const char *value)
{
	return setting->arg && (!strcmp(setting->arg, "FILE") || !strcmp(setting->arg, "DIR")) &&
	       strcmp(value, CONFIG_NO_CACHE) != 0;
}

static void set(struct argp_state *state, struct record_options *o, const struct setting *setting,
                const char *value)
{
	char err[512], path[PATH_MAX];

	if (!value)
		value = "true";
	else if (!*value && strcmp(setting->option, "debuginfod") != 0)
		usage_error(state, "--%s is empty", setting->option); /* a variable that is not set */
	else if (is_path(setting, value))
		value = absolute(value, path);
	if (config_set(o->config, setting->path, value, err, sizeof(err)))
		usage_error(state, "--%s: %s", setting->option, err);
	if (!strcmp(setting->path, "service_name"))
		o->has_service_name = true;
	if (!strcmp(setting->path, "push.url"))
		o->has_push = true;
	else if (!strncmp(setting->path, "push.", strlen("push.")))
		o->of_push = setting->option;
}

static void add_label(struct argp_state *state, struct record_options *o, char *arg)
{
	char *equals = strchr(arg, '='), err[512];

	if (!equals) {
		usage_error(state, "--label %s: NAME=VALUE is wanted", arg);
		return;
	}
	*equals = '\0';
	if (config_add_label(o->config, arg, equals + 1, err, sizeof(err)))
		usage_error(state, "--label: %s", err);
	o->of_push = "label";
}

static void switch_off(struct argp_state *state, struct config *config, const char *cause)
{
	const char *stays = probe_cause_stays(cause);
	char err[512];

	if (stays)
		usage_error(state, "--no-cause %s: %s", cause, stays);
	if (config_add_cause_off(config, cause, err, sizeof(err)))
		usage_error(state, "--no-cause: %s", err);
}

/* A name has no '/', a path may have a '='. */
static void tag_files(struct argp_state *state, struct config *config, char *arg)
{
	char *equals = strrchr(arg, '='), path[PATH_MAX], err[512];
	const char *name = equals && !strchr(equals, '/') ? equals + 1 : "";

	if (*name)
		*equals = '\0';
	if (!strncmp(arg, CONFIG_XATTR, strlen(CONFIG_XATTR)))
		snprintf(path, sizeof(path), "%s", arg);
	else if (!realpath(arg, path))
		usage_error(state, "--tag-files %s: %s", arg, strerror(errno));
	if (config_add_tag_files(config, path, name, err, sizeof(err)))
		usage_error(state, "--tag-files: %s", err);
}

static void add_cgroup(struct argp_state *state, struct config *config, const char *cgroup)
{
	char err[512], path[PATH_MAX];

	if (config->filters.cgroup_count)
		usage_error(state, "--cgroup: one at most; name a cgroup above them all");
	if (config_add_cgroup(config, absolute(cgroup, path), err, sizeof(err)))
		usage_error(state, "%s", err);
}

static void add_pid(struct argp_state *state, struct record_options *o, const char *arg)
{
	if (o->n_pids == RECORD_PIDS_MAX)
		usage_error(state, "at most %d processes with -p; use -a", RECORD_PIDS_MAX);
	o->pids[o->n_pids] = parse_number(state, "pid", arg, 4194304);
	if (!o->pids[o->n_pids++])
		usage_error(state, "-p %s: a process id is wanted", arg);
}

static int parse_ready_fd(struct argp_state *state, const char *arg)
{
	int fd = parse_number(state, "ready-fd", arg, INT_MAX);

	if (fd < READY_FD_LEAST || !ready_fd_take(fd))
		usage_error(state, "--ready-fd %s: the number of an open file is wanted, %d or more", arg,
		            READY_FD_LEAST);
	return fd;
}

/* Whether it is the regular file that one of the command's own outputs goes to: it would be replaced. */
static bool is_of_the_command(const char *output)
{
	struct stat file, own;

	if (stat(output, &file) || !S_ISREG(file.st_mode))
		return false;
	for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++)
		if (!fstat(fd, &own) && own.st_dev == file.st_dev && own.st_ino == file.st_ino)
			return true;
	return false;
}

static void check(struct argp_state *state, struct record_options *o)
{
	char err[512];

	if (!o->command && !o->n_pids && !o->whole_host)
		usage_error(state, "what to record is missing: -- COMMAND, -p PID, or -a");
	if (!*o->output)
		usage_error(state, "--output is empty: a file or a folder is wanted");
	if (!strcmp(o->output, "-") || (o->command && is_of_the_command(o->output)))
		usage_error(
		        state,
		        "--output %s: standard output is the command's; give a file or a pipe by its name",
		        o->output);
	if (o->name && !*o->name)
		usage_error(state, "--name is empty: the tag of the whole command or process");
	if (!!o->command + !!o->n_pids + o->whole_host > 1)
		usage_error(state, "-- COMMAND, -p and -a exclude each other");
	if (config_says_true(o->config->tags.checkpoint_sha256) && !o->config->tags.files_count)
		usage_error(state, "--checkpoint-sha256 needs --tag-files: which files are checkpoints");
	if (o->of_push && !o->has_push)
		usage_error(state, "--%s needs --push: it is of what is pushed", o->of_push);
	if (config_check(o->config, err, sizeof(err)))
		usage_error(state, "%s", err);
}

/* GROUP_RUN, but for the output. */
static error_t parse_run(int key, char *arg, struct argp_state *state)
{
	struct record_options *o = state->input;

	switch (key) {
	case 'w':
		o->window_seconds = parse_number(state, "window", arg, 86400);
		return 0;
	case 'n':
		o->top = parse_number(state, "number", arg, 100000);
		return 0;
	case 'q':
		o->quiet = true;
		return 0;
	case KEY_READY_FD:
		o->ready_fd = parse_ready_fd(state, arg);
		return 0;
	case KEY_STRICT:
		o->strict = true;
		return 0;
	case KEY_DURATION:
		o->duration_seconds = parse_seconds(state, "duration", arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct record_options *o = state->input;

	if (key >= KEY_SETTING && key < KEY_SETTING + (int)N_SETTINGS) {
		set(state, o, &settings[key - KEY_SETTING], arg);
		return 0;
	}
	switch (key) {
	case 'o':
		o->output = arg;
		return 0;
	case 'p':
		add_pid(state, o, arg);
		return 0;
	case 'a':
		o->whole_host = true;
		return 0;
	case KEY_NAME:
		o->name = arg;
		return 0;
	case KEY_ID:
		o->id = parse_number(state, "id", arg, UINT64_MAX);
		return 0;
	case KEY_LABEL:
		add_label(state, o, arg);
		return 0;
	case KEY_CGROUP:
		add_cgroup(state, o->config, arg);
		return 0;
	case KEY_TAG_FILES:
		tag_files(state, o->config, arg);
		return 0;
	case KEY_NO_CAUSE:
		switch_off(state, o->config, arg);
		return 0;
	case ARGP_KEY_ARGS:
		o->command = state->argv + state->next;
		return 0;
	case ARGP_KEY_END:
		check(state, o);
		return 0;
	default:
		return parse_run(key, arg, state);
	}
}

static int keep_symbols_in_users_cache(struct config *config)
{
	char path[PATH_MAX], err[512];

	if (!user_cache_path("stallprof", path, sizeof(path)))
		return config_set(config, "symbolizer.cache_dir", CONFIG_NO_CACHE, err, sizeof(err));
	return config_set(config, "symbolizer.cache_dir", path, err, sizeof(err)) == -ENOMEM ? -ENOMEM : 0;
}

/* No limit on the folder's size: it is the user's own choice, unlike the agent's. */
static int keep_all_windows(struct config *config)
{
	char err[512];

	return config_set(config, "output.max_bytes", "0", err, sizeof(err));
}

void record_options_parse(int argc, char **argv, struct record_options *options)
{
	struct argp_option all[N_OWN + N_SETTINGS + 1] = { 0 };
	const struct argp argp = {
		.options = all,
		.parser = parse,
		.args_doc = "[-- COMMAND [ARG...]]",
		.doc = "Records what tagged threads wait for, until the command ends or Ctrl-C.\v"
		       "A command is tagged as a whole; tags that it pushes itself refine that. The "
		       "exit status is the command's. Ctrl-C reaches the command as usual, and its end is "
		       "waited for; a second one sends it SIGTERM.",
	};
	size_t i;

	memset(options, 0, sizeof(*options));
	options->top = TOP_FITS;
	options->output = OUTPUT_DEFAULT;
	options->config = config_default();
	if (!options->config || keep_symbols_in_users_cache(options->config) ||
	    keep_all_windows(options->config)) {
		fprintf(stderr, "stallprof record: out of memory\n");
		exit(1);
	}
	memcpy(all, own_options, sizeof(own_options));
	for (i = 0; i < N_SETTINGS; i++) {
		all[N_OWN + i].name = settings[i].option;
		all[N_OWN + i].key = KEY_SETTING + i;
		all[N_OWN + i].arg = settings[i].arg;
		all[N_OWN + i].doc = settings[i].help;
		all[N_OWN + i].group = settings[i].group;
	}
	usage_parse(&argp, "stallprof record", argc, argv, ARGP_IN_ORDER, options);
}
