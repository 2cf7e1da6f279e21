#include "profiler/session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/attachment.h"
#include "profiler/cgroup_filter.h"
#include "profiler/clock.h"
#include "profiler/config.h"
#include "profiler/device_names.h"
#include "profiler/families.h"
#include "profiler/host_steal.h"
#include "profiler/process_table.h"
#include "profiler/python_processes.h"
#include "profiler/sampling_threshold.h"
#include "profiler/stack_resolve.h"
#include "profiler/stamp.h"
#include "profiler/symbol_cache.h"
#include "profiler/tag_class.h"
#include "profiler/tag_library.h"
#include "profiler/tag_names.h"
#include "profiler/tag_watch.h"
#include "profiler/tracer.h"
#include "profiler/window.h"
#include "symbolizer/symbolizer.h"

#define SECOND_NS        1000000000ULL
#define TICK_MS          100
#define IDLE_TICK_MS     250
#define START_SCAN_NS    (300 * 1000000ULL) /* of looking at processes before the first attach */
#define DRAIN_NS         (50 * 1000000ULL) /* of a tick, so that signals and mappings are attended to in time */
#define LAST_DRAIN_NS    (600 * 1000000ULL) /* of a window */
#define WINDOW_BYTES_MAX (512u << 20)

struct session {
	const struct config *config;
	struct session_opts opts;
	session_say_fn say;
	struct tracer *tracer;
	struct debuginfod *debuginfod; /* NULL: not configured */
	struct symbolizer *symbolizer;
	struct process_table *processes;
	struct python_processes *pythons; /* NULL: switched off */
	struct stack_resolver *resolver;
	struct tag_watch *watch;
	struct families *families;
	struct tag_names *tags;
	struct tag_classes *classes;
	struct device_names *devices;
	struct window_deps deps;
	struct window *current, *next;
	uint64_t number;                  /* of the ledger map that the programs write to now */
	uint64_t first_of_next;           /* events of this number and above belong to `next` */
	uint64_t begin_unix_ns, begin_ns; /* of the window; the second is CLOCK_MONOTONIC */
	uint64_t housekeeping_ns, polled_ns, steal_ns;
	struct attachment attachment;
	bool behind;                       /* the last drain did not come to its end */
	bool too_late;                     /* what comes now is counted, not resolved */
	uint64_t lost_events, lost_row_ns; /* for want of memory for a window */
	struct sampling_threshold threshold;
};

static void on_event(void *ctx, const struct abi_event *event)
{
	struct session *session = ctx;
	struct window **window = &session->current;

	if (event->kind == ABI_EVENT_TAGGED) {
		tag_watch_met(session->watch, event->tgid);
		return;
	}
	if (session->first_of_next && event->window >= session->first_of_next)
		window = &session->next;
	if (!*window)
		*window = window_new(&session->deps);
	if (!*window)
		session->lost_events++;
	else if (session->too_late)
		window_lose_event(*window, event);
	else
		window_add_event(*window, event);
}

static void on_python(void *ctx, const struct abi_python_ask *ask)
{
	struct session *session = ctx;

	python_processes_asked(session->pythons, ask);
}

static int on_row(void *ctx, const struct abi_ledger_key *key, const struct abi_ledger_value *value)
{
	struct session *session = ctx;

	if (!session->current)
		session->current = window_new(&session->deps);
	if (session->current)
		return window_add_row(session->current, key, value);
	session->lost_row_ns += value->ns;
	return 0;
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
		.min_duration_ns = sampling->min_duration_ns,
		.stack_copy_bytes = sampling->stack_copy_bytes,
		.max_stalled_threads = sampling->max_stalled_threads,
		.ring_bytes = sampling->ring_bytes,
		.cpu_hz = hz,
		.baseline = sampling->baseline_hz > 0,
		.only_adopted = session->opts.only_adopted,
		.long_waits = config_long_waits(session->config, session->opts.local),
		.say = session->say,
	};
	int result = cgroup_filter_choose(&session->config->filters, &opts.cgroup_id, &opts.cgroup_level, err,
	                                  err_len);

	if (result)
		return result;
	session->tracer = tracer_new(&opts, on_event, on_python, session, err, err_len);
	session->deps.cpu_period_ns = hz ? SECOND_NS / hz : 0;
	return session->tracer ? 0 : -errno;
}

static int open_tables(struct session *session)
{
	const struct config *config = session->config;

	session->debuginfod = symbol_cache_fetcher(&config->symbolizer, session->say);
	session->symbolizer = symbol_cache_open(&config->symbolizer, session->debuginfod);
	session->tags = tag_names_new();
	session->classes = tag_classes_new(config->tags.max_classes);
	session->devices = device_names_new(NULL);
	if (!session->symbolizer || !session->tags || !session->classes || !session->devices ||
	    add_rules(session))
		return -ENOMEM;
	session->processes = process_table_new(session->symbolizer, tag_watch_maps(session->watch));
	if (config_says_true(config->symbolizer.python))
		session->pythons = python_processes_new(session->tracer, session->symbolizer);
	if (!session->processes || (config_says_true(config->symbolizer.python) && !session->pythons))
		return -ENOMEM;
	tag_watch_set_processes(session->watch, session->processes, session->pythons);
	session->resolver = stack_resolver_new(session->symbolizer, session->processes, session->pythons);
	session->deps.tracer = session->tracer;
	session->deps.tags = session->tags;
	session->deps.classes = session->classes;
	session->deps.devices = session->devices;
	session->deps.processes = session->processes;
	session->deps.without_rank = config_has_label(config, "rank");
	session->deps.resolver = session->resolver;
	session->deps.max_bytes = WINDOW_BYTES_MAX;
	session->current = window_new(&session->deps);
	return session->resolver && session->current ? 0 : -ENOMEM;
}

struct session *session_new(const struct config *config, const struct session_opts *opts, session_say_fn say,
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
	process_table_free(session->processes);
	python_processes_free(session->pythons);
	families_free(session->families);
	tag_watch_free(session->watch);
	tracer_free(session->tracer);
	symbol_cache_close(session->symbolizer, session->debuginfod);
	tag_names_free(session->tags);
	tag_classes_free(session->classes);
	device_names_free(session->devices);
	free(session);
}

int session_tag_process(struct session *session, uint32_t pid, const char *name, uint64_t id, char *err,
                        size_t err_len)
{
	uint64_t key;
	int result = tracer_add_tag(session->tracer, name, id, &key);

	if (!result) {
		tag_names_pin(session->tags, session->tracer, key);
		result = families_add(session->families, pid, key);
	}
	if (result)
		snprintf(err, err_len, "cannot follow process %u: %s", pid, strerror(-result));
	return result;
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

/* Until all were looked at once, or one is found that wants us attached, or it takes too long: the rest follows then, tick by
 * tick. */
static void scan(struct session *session)
{
	uint64_t now = monotonic_ns(), until = now + START_SCAN_NS;
	bool wanted;

	do {
		tag_watch_poll(session->watch, now);
		wanted = attachment_wanted(&session->attachment, now);
		now = monotonic_ns();
	} while (now < until && tag_watch_behind(session->watch) &&
	         (!wanted || session->opts.always_attached));
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
	session->steal_ns = host_steal_ns(HOST_STAT);
	session->begin_unix_ns = unix_ns();
	session->housekeeping_ns = session->begin_ns = monotonic_ns();
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
	return n;
}

int session_timeout_ms(const struct session *session)
{
	if (session->behind || tag_watch_behind(session->watch))
		return 0;
	return tracer_attached(session->tracer) ? TICK_MS : IDLE_TICK_MS;
}

static int take_ledger(struct session *session)
{
	int result = tracer_take_ledger(session->tracer, ++session->number, on_row, session);

	tag_names_taken(session->tags, session->tracer);
	return result;
}

/* Once a second the ledger is emptied, before it can fill. */
static int housekeeping(struct session *session, uint64_t now)
{
	if (now - session->housekeeping_ns < SECOND_NS)
		return 0;
	session->housekeeping_ns = now;
	return tracer_attached(session->tracer) ? take_ledger(session) : 0;
}

int session_tick(struct session *session)
{
	uint64_t now = monotonic_ns();
	/* Not as soon as a stack comes: what its process mapped before may be told a little later. */
	bool all = now - session->polled_ns >= TICK_MS * 1000000ULL;
	int result;

	attachment_hold(&session->attachment, now);
	if (all)
		session->polled_ns = now;
	tag_watch_poll(session->watch, now);
	attachment_hold(&session->attachment, now);
	python_processes_tick(session->pythons, now);
	result = tracer_poll(session->tracer, all, monotonic_ns() + DRAIN_NS);
	if (result < 0)
		return result;
	session->behind = result;
	sampling_threshold_hold(&session->threshold, now);
	result = tracer_copy_late(session->tracer, now);
	return result ? result : housekeeping(session, now);
}

static struct stamp *describe(struct session *session)
{
	struct stamp *stamp = stamp_new();

	if (!stamp)
		return NULL;
	if (tracer_describe(session->tracer, stamp) || stack_resolver_describe(session->resolver, stamp) ||
	    python_processes_describe(session->pythons, stamp) ||
	    debuginfod_describe(session->debuginfod, stamp) || tag_watch_describe(session->watch, stamp) ||
	    stamp_add_counter(stamp, "events_without_memory", session->lost_events) ||
	    stamp_add_counter(stamp, "ledger_without_memory_ns", session->lost_row_ns) ||
	    host_steal_describe(&session->steal_ns, stamp)) {
		stamp_free(stamp);
		return NULL;
	}
	session->lost_events = session->lost_row_ns = 0;
	stamp_set_threshold(stamp, sampling_threshold_take(&session->threshold));
	return stamp;
}

/* All that has come, if that is resolved in time; what is not is counted as lost. */
static int drain(struct session *session)
{
	int result = tracer_poll(session->tracer, true, monotonic_ns() + LAST_DRAIN_NS);

	session->too_late = true;
	if (result > 0)
		result = tracer_poll(session->tracer, true, monotonic_ns() + DRAIN_NS);
	session->too_late = false;
	return result;
}

/* What is in the maps and the ring goes to the window that ends, what comes from now on to the next. */
static struct profile *finish_window(struct session *session, uint64_t covered_ns)
{
	struct profile *profile = NULL;
	struct stamp *stamp = NULL;
	int result = take_ledger(session);

	session->first_of_next = session->number;
	if (result >= 0)
		result = drain(session);
	if (!session->current)
		session->current = window_new(&session->deps);
	if (result >= 0 && session->current) {
		stamp = describe(session);
		errno = ENOMEM;
		if (stamp)
			profile = window_finish(session->current, stamp, session->begin_unix_ns, covered_ns);
		stamp_free(stamp);
	} else if (result < 0) {
		errno = -result;
	}
	return profile;
}

struct profile *session_end_window(struct session *session)
{
	uint64_t end_unix_ns, end_ns;
	struct profile *profile = NULL;
	int result;

	tag_watch_poll(session->watch, monotonic_ns());
	result = tracer_iterate(session->tracer, ABI_ITER_FLUSH);
	end_unix_ns = unix_ns();
	end_ns = monotonic_ns();
	errno = -result;
	if (!result)
		profile = finish_window(session, end_ns - session->begin_ns);
	result = -errno;
	window_free(session->current);
	session->current = session->next ? session->next : window_new(&session->deps);
	session->next = NULL;
	session->first_of_next = 0;
	session->begin_unix_ns = end_unix_ns;
	session->begin_ns = end_ns;
	tag_names_age(session->tags, session->tracer);
	process_table_age(session->processes);
	python_processes_age(session->pythons);
	symbol_cache_keep(session->symbolizer, session->debuginfod);
	if (!profile)
		errno = -result;
	return profile;
}

void session_progress(const struct session *session, struct session_progress *out)
{
	static const enum abi_counter losses[] = { ABI_COUNT_ring_full, ABI_COUNT_ledger_full,
		                                   ABI_COUNT_tags_full, ABI_COUNT_threads_failed,
		                                   ABI_COUNT_follow_full };
	size_t i;

	memset(out, 0, sizeof(*out));
	if (session->current) {
		window_stalled(session->current, out->stalled_ns);
		out->samples = window_samples(session->current);
	}
	for (i = 0; i < sizeof(losses) / sizeof(losses[0]); i++)
		out->losses += tracer_counter(session->tracer, losses[i]);
	out->tagged = tracer_tagged(session->tracer);
	out->attach_count = session->attachment.count;
	out->attached = tracer_attached(session->tracer);
}
