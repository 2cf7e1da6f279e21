/* The completeness stamp: hooks, counters of losses, time covered; adding and reading them. */

#include "profiler/format/stamp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pprof/profile.h"
#include "profiler/format/saturating.h"

struct hook {
	char *cause;
	char *hook;
	enum hook_state state;
	char *reason;
};

struct counter {
	char *name;
	uint64_t value;
};

struct stamp {
	struct hook *hooks;
	size_t hook_count;
	struct counter *counters;
	size_t counter_count;
	struct stamp_coverage coverage;
	struct stamp_kernel kernel;
	char *kernel_advice; /* NULL: none */
};

struct stamp *stamp_new(void)
{
	return calloc(1, sizeof(struct stamp));
}

static void hook_clear(struct hook *hook)
{
	free(hook->cause);
	free(hook->hook);
	free(hook->reason);
}

void stamp_free(struct stamp *stamp)
{
	if (!stamp)
		return;
	for (size_t i = 0; i < stamp->hook_count; i++)
		hook_clear(&stamp->hooks[i]);
	for (size_t i = 0; i < stamp->counter_count; i++)
		free(stamp->counters[i].name);
	free(stamp->hooks);
	free(stamp->counters);
	free(stamp->kernel_advice);
	free(stamp);
}

static struct hook *find_hook(const struct stamp *stamp, const char *cause, const char *name)
{
	for (size_t i = 0; i < stamp->hook_count; i++)
		if (!strcmp(stamp->hooks[i].cause, cause) && !strcmp(stamp->hooks[i].hook, name))
			return &stamp->hooks[i];
	return NULL;
}

/* Keeps the worse of two states of one hook, with its reason. */
static int worsen_hook(struct hook *hook, enum hook_state state, const char *reason)
{
	char *copy;

	if (state <= hook->state)
		return 0;
	copy = strdup(reason);
	if (!copy)
		return -ENOMEM;
	free(hook->reason);
	hook->reason = copy;
	hook->state = state;
	return 0;
}

int stamp_add_hook(struct stamp *stamp, const char *cause, const char *hook, enum hook_state state,
                   const char *reason)
{
	struct hook *known = find_hook(stamp, cause, hook), *hooks;
	struct hook fresh = { .state = state };

	reason = reason ? reason : "";
	if (known)
		return worsen_hook(known, state, reason);
	if (stamp->hook_count == STAMP_HOOKS_MAX)
		return -ENOSPC;
	hooks = reallocarray(stamp->hooks, stamp->hook_count + 1, sizeof(*hooks));
	if (!hooks)
		return -ENOMEM;
	stamp->hooks = hooks;
	fresh.cause = strdup(cause);
	fresh.hook = strdup(hook);
	fresh.reason = strdup(reason);
	if (!fresh.cause || !fresh.hook || !fresh.reason) {
		hook_clear(&fresh);
		return -ENOMEM;
	}
	hooks[stamp->hook_count++] = fresh;
	return 0;
}

static struct counter *find_counter(const struct stamp *stamp, const char *name)
{
	for (size_t i = 0; i < stamp->counter_count; i++)
		if (!strcmp(stamp->counters[i].name, name))
			return &stamp->counters[i];
	return NULL;
}

/* How many there are now is no sum: of several windows the most. */
static bool is_level(const char *name)
{
	return !strcmp(name, "cpus_not_covered");
}

static uint64_t added(const char *name, uint64_t was, uint64_t value)
{
	if (is_level(name))
		return was > value ? was : value;
	return saturating_add_u64(was, value);
}

int stamp_add_counter(struct stamp *stamp, const char *name, uint64_t value)
{
	struct counter *counter = find_counter(stamp, name), *counters;
	char *copy;

	if (counter) {
		counter->value = added(name, counter->value, value);
		return 0;
	}
	if (stamp->counter_count == STAMP_COUNTERS_MAX)
		return -ENOSPC;
	counters = reallocarray(stamp->counters, stamp->counter_count + 1, sizeof(*counters));
	if (!counters)
		return -ENOMEM;
	stamp->counters = counters;
	copy = strdup(name);
	if (!copy)
		return -ENOMEM;
	counters[stamp->counter_count++] = (struct counter){ .name = copy, .value = value };
	return 0;
}

int stamp_add_growth(struct stamp *stamp, const char *name, struct stamp_growth *growth, uint64_t now)
{
	uint64_t more = now > growth->told ? now - growth->told : 0;
	int err = stamp_add_counter(stamp, name, more);

	if (!err)
		growth->told += more;
	return err;
}

/* 0: it is not known of both, or of two machines. */
static uint64_t same_boot(uint64_t a, uint64_t b)
{
	uint64_t apart = a > b ? a - b : b - a;

	return a && b && apart <= STAMP_CLOCKS_DRIFT_NS ? a : 0;
}

int stamp_add_coverage(struct stamp *stamp, const struct stamp_coverage *part)
{
	struct stamp_coverage *sum = &stamp->coverage;

	if (part->last_ns < part->first_ns)
		return -EINVAL;
	sum->booted_ns = sum->windows ? same_boot(sum->booted_ns, part->booted_ns) : part->booted_ns;
	if (!sum->windows || part->first_ns < sum->first_ns)
		sum->first_ns = part->first_ns;
	if (part->last_ns > sum->last_ns)
		sum->last_ns = part->last_ns;
	sum->covered_ns += part->covered_ns;
	sum->windows += part->windows;
	return 0;
}

uint64_t stamp_span_ns(const struct stamp_coverage *coverage)
{
	uint64_t span_ns = coverage->last_ns - coverage->first_ns;

	return span_ns && span_ns < coverage->covered_ns ? span_ns : coverage->covered_ns;
}

void stamp_set_booted(struct stamp *stamp, uint64_t booted_ns)
{
	stamp->coverage.booted_ns = booted_ns;
}

int stamp_add_window(struct stamp *stamp, uint64_t first_ns, uint64_t last_ns)
{
	struct stamp_coverage window = {
		.first_ns = first_ns, .last_ns = last_ns, .covered_ns = last_ns - first_ns, .windows = 1
	};

	return stamp_add_coverage(stamp, &window);
}

void stamp_set_threshold(struct stamp *stamp, uint64_t threshold_ns)
{
	if (threshold_ns > stamp->coverage.threshold_ns)
		stamp->coverage.threshold_ns = threshold_ns;
}

void stamp_set_blocked_threshold(struct stamp *stamp, uint64_t threshold_ns)
{
	if (threshold_ns > stamp->coverage.blocked_threshold_ns)
		stamp->coverage.blocked_threshold_ns = threshold_ns;
}

int stamp_set_kernel(struct stamp *stamp, const struct stamp_kernel *kernel)
{
	char *advice;

	if (kernel->modules_without_debug > stamp->kernel.modules_without_debug)
		stamp->kernel.modules_without_debug = kernel->modules_without_debug;
	if (kernel->state < stamp->kernel.state)
		return 0;
	advice = strdup(kernel->advice ? kernel->advice : "");
	if (!advice)
		return -ENOMEM;
	if (kernel->state > stamp->kernel.state || *advice) {
		free(stamp->kernel_advice);
		stamp->kernel_advice = advice;
	} else {
		free(advice);
	}
	stamp->kernel.state = kernel->state;
	return 0;
}

struct stamp_kernel stamp_kernel(const struct stamp *stamp)
{
	struct stamp_kernel kernel = stamp->kernel;

	kernel.advice = stamp->kernel_advice ? stamp->kernel_advice : "";
	return kernel;
}

size_t stamp_hook_count(const struct stamp *stamp)
{
	return stamp->hook_count;
}

struct stamp_hook stamp_hook_at(const struct stamp *stamp, size_t index)
{
	const struct hook *hook = &stamp->hooks[index];

	return (struct stamp_hook){ hook->cause, hook->hook, hook->state, hook->reason };
}

size_t stamp_counter_count(const struct stamp *stamp)
{
	return stamp->counter_count;
}

struct stamp_counter stamp_counter_at(const struct stamp *stamp, size_t index)
{
	return (struct stamp_counter){ stamp->counters[index].name, stamp->counters[index].value };
}

uint64_t stamp_counter(const struct stamp *stamp, const char *name)
{
	const struct counter *counter = find_counter(stamp, name);

	return counter ? counter->value : 0;
}

struct stamp_coverage stamp_coverage(const struct stamp *stamp)
{
	return stamp->coverage;
}
