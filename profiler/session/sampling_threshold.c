/* Raises and lowers the threshold T so that stacks stay within the byte budget. */

#include "profiler/session/sampling_threshold.h"

#include "profiler/config/config.h"
#include "profiler/tracer/tracer.h"

#define SECOND_NS 1000000000ULL
#define CHECK_NS  100000000ULL
#define MAX_NS    (10 * SECOND_NS)
#define START_NS  1000000ULL

uint64_t sampling_threshold_first(const struct config_sampling *sampling)
{
	if (!sampling->budget_bytes_per_second || sampling->threshold_ns > START_NS)
		return sampling->threshold_ns;
	return START_NS;
}

void sampling_threshold_begin(struct sampling_threshold *t, const struct config_sampling *sampling,
                              struct tracer *tracer, uint64_t now_ns)
{
	t->sampling = sampling;
	t->tracer = tracer;
	t->checked_ns = now_ns;
	t->max_ns = tracer_threshold(tracer);
	t->room = sampling->budget_bytes_per_second;
}

static uint64_t at_most(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Takes `bytes` off what there is room for; returns by how much they are too many. */
static uint64_t take_room(struct sampling_threshold *t, uint64_t bytes, uint64_t elapsed)
{
	uint64_t budget = t->sampling->budget_bytes_per_second, over;

	t->room = at_most(budget, t->room + (uint64_t)((double)budget * (double)elapsed / SECOND_NS));
	over = bytes > t->room ? bytes - t->room : 0;
	t->room -= at_most(bytes, t->room);
	return over;
}

/* Twice for a tenth of the budget too many: so much comes in a check's time at twice the rate. */
static uint64_t grow_by(uint64_t over, uint64_t budget)
{
	return at_most(over * (SECOND_NS / CHECK_NS) / budget + 2, 64);
}

void sampling_threshold_hold(struct sampling_threshold *t, uint64_t now_ns)
{
	uint64_t budget = t->sampling->budget_bytes_per_second, base = t->sampling->threshold_ns;
	uint64_t threshold = tracer_threshold(t->tracer), elapsed = now_ns - t->checked_ns;
	uint64_t bytes = tracer_event_bytes(t->tracer) - t->last_bytes, over;

	if (elapsed < CHECK_NS / 5 || (bytes <= t->room && elapsed < CHECK_NS))
		return;
	t->checked_ns = now_ns;
	t->last_bytes += bytes;
	if (threshold > t->max_ns)
		t->max_ns = threshold;
	if (!budget)
		return;
	over = take_room(t, bytes, elapsed);
	if (over && threshold < MAX_NS)
		tracer_set_threshold(t->tracer, at_most(threshold * grow_by(over, budget), MAX_NS));
	else if (!over && bytes < budget / 2 * elapsed / SECOND_NS && threshold > base)
		tracer_set_threshold(t->tracer, threshold / 2 > base ? threshold / 2 : base);
}

uint64_t sampling_threshold_take(struct sampling_threshold *t)
{
	uint64_t max_ns = t->max_ns;

	t->max_ns = tracer_threshold(t->tracer);
	return max_ns;
}
