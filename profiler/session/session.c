/* A recording: opens the BPF side and the tables, finds tags, and runs the periodic work. */

#include "profiler/session/session_state.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/base/clock.h"
#include "profiler/config/config.h"
#include "profiler/session/device_names.h"
#include "profiler/session/inherited_waits.h"
#include "profiler/tags/families.h"
#include "profiler/tracer/host_steal.h"
#include "profiler/output/symbol_saver.h"
#include "profiler/session/asker_process.h"
#include "profiler/session/open_files.h"
#include "profiler/process/cgroup_processes.h"
#include "profiler/process/exec_maps.h"
#include "profiler/process/process_table.h"
#include "profiler/process/python_processes.h"
#include "profiler/session/stack_resolve.h"
#include "profiler/signals/host_signals.h"
#include "profiler/symbols/symbol_cache.h"
#include "profiler/tags/tag_class.h"
#include "profiler/tags/tag_library.h"
#include "profiler/tags/tag_names.h"
#include "profiler/tags/tag_watch.h"
#include "profiler/tracer/online_cpus.h"
#include "profiler/tracer/tracer.h"
#include "symbolizer/symbolizer.h"

#define SECOND_NS        1000000000ULL
#define TICK_MS          100
#define FAILING_NS       (30 * SECOND_NS)   /* of walks that fail, after which the session ends */
#define IDLE_TICK_MS     50                 /* few mappings wake nobody: about so late a tag library is met */
#define START_SCAN_NS    (300 * 1000000ULL) /* of looking at processes before the first attach */
#define TAKE_OVER_NS     (2000 * 1000000ULL) /* the same while another session records */
#define WINDOW_BYTES_MAX (512u << 20)

static void on_python(void *ctx, const struct abi_python_ask *ask)
{
	struct session *session = ctx;

	python_processes_asked(session->pythons, ask);
}

static int add_rules(struct session *session)
{
	const struct config_tags *tags = &session->config->tags;
	size_t i;
	int err = 0;

	for (i = 0; i < tags->rule_count && !err; i++)
		err = tag_classes_add_rule(session->classes, tags->rules[i].match, tags->rules[i].class);
	return err;
}

static int open_tracer(struct session *session, char *err, size_t err_len)
{
	const struct config_sampling *sampling = &session->config->sampling;
	unsigned int hz = config_clock_hz(session->config);
	struct tracer_opts opts = {
		.threshold_ns = sampling_threshold_first(sampling),
		.dma_threshold_ns = sampling->dma_threshold_ns,
		.min_duration_ns = sampling->min_duration_ns,
		.causes_off = sampling->causes_off,
		.n_causes_off = sampling->cause_off_count,
		.tag_files = session->config->tags.files,
		.n_tag_files = session->config->tags.files_count,
		.on_file = session_files_on_event,
		.has_asker = session->asker != NULL,
		.stack_copy_bytes = sampling->stack_copy_bytes,
		.max_stalled_threads = sampling->max_stalled_threads,
		.ring_bytes = sampling->ring_bytes,
		.cpu_hz = hz,
		.samples_oncpu = sampling->oncpu_hz > 0,
		.host_users = config_says_true(sampling->host_signals),
		.only_adopted = session->opts.only_adopted,
		.long_waits = config_long_waits(session->config, session->opts.local),
		.say = session->say,
	};
	int result = cgroup_filter_choose(&session->cgroup, &session->config->filters, err, err_len);

	if (result)
		return result;
	opts.cgroup_id = session->cgroup.id;
	session->tracer = (session->opts.open_tracer ? session->opts.open_tracer : tracer_new)(
	        &opts, session_on_event, on_python, session, err, err_len);
	session->deps.cpu_period_ns = hz ? SECOND_NS / hz : 0;
	session->deps.host_users = opts.host_users;
	return session->tracer ? 0 : -errno;
}

static int open_tables(struct session *session)
{
	const struct config *config = session->config;

	session->debuginfod = symbol_cache_fetcher(&config->symbolizer, session->say);
	session->saver = symbol_saver_new();
	session->symbolizer = symbol_cache_open(&config->symbolizer, session->debuginfod,
	                                        symbol_saver_beside(session->saver));
	session->tags = tag_names_new();
	session->classes = tag_classes_new(config->tags.max_classes);
	session->devices = device_names_new(NULL, NULL);
	if (!session->symbolizer || !session->tags || !session->classes || !session->devices ||
	    add_rules(session))
		return -ENOMEM;
	if (session_files_open(session))
		return -ENOMEM;
	session->processes = process_table_new(session->symbolizer, tag_watch_maps(session->watch));
	if (config_says_true(config->symbolizer.python))
		session->pythons = python_processes_new(session->tracer);
	if (!session->processes || (config_says_true(config->symbolizer.python) && !session->pythons))
		return -ENOMEM;
	tag_watch_tell(session->watch, session->processes, session->pythons, session->symbolizer);
	session->resolver = stack_resolver_new(session->symbolizer, session->processes, session->pythons);
	if (config_long_waits(config, session->opts.local))
		session->inherited = inherited_waits_new();
	if (config_says_true(config->sampling.host_signals))
		session->signals = host_signals_new();
	session->deps.tracer = session->tracer;
	session->deps.tags = session->tags;
	session->deps.classes = session->classes;
	session->deps.devices = session->devices;
	session->deps.processes = session->processes;
	session->deps.maps = tag_watch_maps(session->watch);
	session->deps.without_rank = *config->push.url && config_has_label(config, "rank");
	session->deps.resolver = session->resolver;
	session->deps.symbolizer = session->symbolizer;
	session->deps.inherited = session->inherited;
	session->deps.gpu_limits = &config->gpu_jobs;
	session->deps.max_bytes = WINDOW_BYTES_MAX;
	session->deps.max_slices = session->opts.max_slices;
	session->current = window_new(&session->deps);
	return session->resolver && session->current &&
	                       (session->inherited || !config_long_waits(config, session->opts.local))
	               ? 0
	               : -ENOMEM;
}

struct session *session_new(const struct config *config, const struct session_opts *opts, say_fn say,
                            char *err, size_t err_len)
{
	struct session *session = calloc(1, sizeof(*session));
	int result = -ENOMEM;

	if (!session)
		goto fail;
	session->config = config;
	session->opts = *opts;
	session->say = say;
	session->number = 1;
	session_files_begin(session);
	open_files_raise();
	session->cpus = online_cpus_new(opts->cpu_folder); /* before anything is opened for each of them */
	result = open_tracer(session, err, err_len);
	if (result)
		goto fail;
	session->watch = tag_watch_new(session->tracer, say, err, err_len);
	if (!session->watch) {
		result = -errno;
		goto fail;
	}
	session->families = families_new(session->watch, session->tracer);
	session->attachment = (struct attachment){ .tracer = session->tracer,
		                                   .watch = session->watch,
		                                   .families = session->families,
		                                   .always = opts->always_attached,
		                                   .say = say };
	result = session->families ? open_tables(session) : -ENOMEM;
	if (!result)
		return session;
fail:
	if (result == -ENOMEM)
		snprintf(err, err_len, "out of memory");
	session_free(session);
	errno = -result;
	return NULL;
}

void session_free(struct session *session)
{
	if (!session)
		return;
	window_free(session->current);
	window_free(session->next);
	stack_resolver_free(session->resolver);
	inherited_waits_free(session->inherited);
	process_table_free(session->processes);
	python_processes_free(session->pythons);
	families_free(session->families);
	tag_watch_free(session->watch);
	tracer_free(session->tracer);
	online_cpus_free(session->cpus);
	session_files_close(session);
	symbol_cache_close(session->symbolizer, session->debuginfod);
	symbol_saver_free(session->saver, SYMBOL_SAVER_LAST_NS);
	tag_names_free(session->tags);
	tag_classes_free(session->classes);
	device_names_free(session->devices);
	host_signals_free(session->signals);
	free(session);
}

static int tag_process(struct session *session, uint32_t pid, const char *name, uint64_t id, bool from_exec,
                       char *err, size_t err_len)
{
	uint64_t key;
	int result = tracer_add_tag(session->tracer, name, id, &key);

	if (!result) {
		tag_names_pin(session->tags, session->tracer, key);
		result = families_add(session->families, pid, key, from_exec);
	}
	if (result)
		snprintf(err, err_len, "cannot follow process %u: %s", pid, strerror(-result));
	return result;
}

int session_tag_process(struct session *session, uint32_t pid, const char *name, uint64_t id, char *err,
                        size_t err_len)
{
	return tag_process(session, pid, name, id, false, err, err_len);
}

int session_tag_command(struct session *session, uint32_t pid, const char *name, uint64_t id, char *err,
                        size_t err_len)
{
	return tag_process(session, pid, name, id, true, err, err_len);
}

static void on_library(void *ctx, const char *path)
{
	struct session *session = ctx;

	tag_watch_file(session->watch, path);
}

void session_expect_command(struct session *session, const char *command)
{
	tag_library_candidates(command, on_library, session);
}

/* Looks at all processes once, but stops when it takes too long, or when one is found that needs us attached, unless all are to be
 * known by then. The rest follows tick by tick. */
static void scan(struct session *session)
{
	bool all = session->opts.always_attached || session->opts.takes_over, wanted;
	uint64_t now = monotonic_ns(),
	         until = now + (session->opts.takes_over ? TAKE_OVER_NS : START_SCAN_NS);

	do {
		tag_watch_poll(session->watch, now);
		wanted = attachment_wanted(&session->attachment, now);
		now = monotonic_ns();
	} while (now < until && tag_watch_behind(session->watch) && (!wanted || all));
}

void session_walked(const struct session *session, uint64_t *ns, uint64_t *unix_time_ns)
{
	uint64_t now_unix_ns = unix_ns(), now = monotonic_ns(), walked = tracer_walked_ns(session->tracer);

	*ns = walked && walked < now ? walked : now;
	*unix_time_ns = now_unix_ns - (now - *ns);
}

int session_start(struct session *session, char *err, size_t err_len)
{
	int result = tag_watch_scan(session->watch, session->opts.only_adopted);

	if (result) {
		snprintf(err, err_len, "cannot look through /proc: %s", strerror(-result));
		return result;
	}
	scan(session);
	result = attachment_begin(&session->attachment, err, err_len);
	if (!result && session->opts.always_attached)
		symbolizer_kernel_prepare(
		        session->symbolizer); /* with what attaching has added to the kernel */
	session_walked(session, &session->begin_ns, &session->begin_unix_ns);
	session->deps.slices_from_ns = session->begin_ns;
	session->deps.slices_from_unix_ns = session->begin_unix_ns;
	if (session->current)
		window_slices_from(session->current, session->begin_ns, session->begin_unix_ns);
	session->housekeeping_ns = session->taken_ns = session->begin_ns;
	session->steal_ns.told = host_steal_ns(HOST_STAT);
	sampling_threshold_begin(&session->threshold, &session->config->sampling, session->tracer,
	                         session->housekeeping_ns);
	if (!result)
		symbol_cache_check(session->symbolizer, &session->config->symbolizer, session->say);
	return result;
}

int session_fds(const struct session *session, int fds[SESSION_FDS_MAX])
{
	int n = 0;

	fds[n++] = tracer_fd(session->tracer);
	fds[n++] = tracer_python_fd(session->tracer);
	if (tag_watch_fd(session->watch) >= 0)
		fds[n++] = tag_watch_fd(session->watch);
	if (session->asker)
		fds[n++] = asker_process_fd(session->asker);
	return n;
}

int session_timeout_ms(const struct session *session)
{
	if (session->behind || tag_watch_behind(session->watch))
		return 0;
	return tracer_attached(session->tracer) ? TICK_MS : IDLE_TICK_MS;
}

static void on_cpu(void *ctx, unsigned int cpu, bool online)
{
	struct session *session = ctx;
	struct exec_maps *maps = tag_watch_maps(session->watch);

	tracer_cpu(session->tracer, cpu, online);
	if (maps)
		exec_maps_cpu(maps, cpu, online);
}

/* For want of memory or descriptors a second's walk over the threads may fail. What it would have told, the next one tells. */
static int tolerate(struct session *session, int result, uint64_t now)
{
	char line[128];

	if (!result) {
		session->failing_ns = 0;
		return 0;
	}
	if (!session->failing_ns) {
		snprintf(line, sizeof(line),
		         "cannot walk over the threads: %s; it is tried again each second",
		         strerror(-result));
		session->say(line);
		session->failing_ns = now;
	}
	return now - session->failing_ns > FAILING_NS ? result : 0;
}

/* Empties the ledger once a second, before it can fill, and so that the timeline has what ran in that second. */
static int housekeeping(struct session *session, uint64_t now)
{
	int result;

	if (now - session->housekeeping_ns < SECOND_NS)
		return 0;
	session->housekeeping_ns = now;
	online_cpus_look(session->cpus, on_cpu, session);
	process_table_tick(session->processes, now);
	tracer_hold_folders(session->tracer, now, session->say);
	symbolizer_let_go(session->symbolizer, now);
	if (tracer_attached(session->tracer)) {
		result = tolerate(session, tracer_iterate(session->tracer, ABI_ITER_SUMS), now);
		return result || session->failing_ns ? result : session_take_ledger(session);
	}
	session_taken(session, now); /* there was nothing to take */
	return 0;
}

static void on_cgroup_process(void *ctx, pid_t pid)
{
	struct session *session = ctx;

	tag_watch_late(session->watch, (uint32_t)pid);
}

/* What began in a cgroup that was made anew before the programs had its id, they have let pass. */
static void hold_cgroup(struct session *session)
{
	if (cgroup_filter_hold(&session->cgroup, session->tracer, session->say))
		cgroup_processes(session->cgroup.path, on_cgroup_process, session);
}

int session_tick(struct session *session)
{
	uint64_t now = monotonic_ns();
	/* Not as soon as a stack comes, as what its process mapped before may be reported a little later. */
	bool all = now - session->polled_ns >= TICK_MS * 1000000ULL;
	int result;

	attachment_hold(&session->attachment, now);
	host_signals_run(session->signals, tracer_attached(session->tracer));
	if (all)
		session->polled_ns = now;
	tag_watch_poll(session->watch, now);
	if (all)
		hold_cgroup(session);
	attachment_hold(&session->attachment, now);
	python_processes_tick(session->pythons, now);
	session_files_tick(session, now, all);
	result = tracer_poll(session->tracer, all, monotonic_ns() + SESSION_DRAIN_NS);
	if (result < 0)
		return result;
	session->behind = result;
	sampling_threshold_hold(&session->threshold, now);
	tracer_copy_late(session->tracer, now);
	return housekeeping(session, now);
}
