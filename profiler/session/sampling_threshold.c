/* Raises and lowers the threshold T so that stacks stay within the byte budget. */

#include "profiler/session/sampling_threshold.h"

#include "profiler/config/config.h"
#include "profiler/tracer/tracer.h"

#define SECOND_NS     1000000000ULL
#define CHECK_NS      100000000ULL
#define MAX_NS        (10 * SECOND_NS)
#define START_NS      1000000ULL
#define BLOCKED_SHARE 4 /* times the budget: what waits may take that are no stalls */
#define CPU_SHARE     4 /* … and samples of CPUs */

uint64_t sampling_threshold_first(const struct config_sampling *sampling)
{
	if (!sampling->budget_bytes_per_second || sampling->threshold_ns > START_NS)
		return sampling->threshold_ns;
	return START_NS;
}

void sampling_threshold_begin(struct sampling_threshold *t, const struct config_sampling *sampling,
                              struct tracer *tracer, uint64_t now_ns)
{
	static const uint64_t shares[] = {
		[ABI_WAITS_STALL] = 1, [ABI_WAITS_BLOCKED] = BLOCKED_SHARE, [ABI_WAITS_CPU] = CPU_SHARE
	};

	t->tracer = tracer;
	for (int waits = 0; waits < ABI_WAITS_MAX; waits++) {
		uint64_t per_second = shares[waits] * sampling->budget_bytes_per_second;
		uint64_t first_ns = tracer_threshold(tracer, waits);

		t->budgets[waits] = (struct sampling_budget){
			.waits = waits,
			.per_second = per_second,
			.room = per_second,
			.checked_ns = now_ns,
			.base_ns = waits == ABI_WAITS_CPU ? first_ns : sampling->threshold_ns,
			.max_ns = first_ns,
		};
	}
}

static uint64_t at_most(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Takes `bytes` off what there is room for; returns by how much they are too many. */
static uint64_t take_room(struct sampling_budget *budget, uint64_t bytes, uint64_t elapsed)
{
	uint64_t back = (uint64_t)((double)budget->per_second * (double)elapsed / SECOND_NS), over;

	budget->room = at_most(budget->per_second, budget->room + back);
	over = bytes > budget->room ? bytes - budget->room : 0;
	budget->room -= at_most(bytes, budget->room);
	return over;
}

/* Twice for a tenth of the budget too many: so much comes in a check's time at twice the rate. */
static uint64_t grow_by(uint64_t over, uint64_t per_second)
{
	return at_most(over * (SECOND_NS / CHECK_NS) / per_second + 2, 64);
}

static void hold(struct sampling_threshold *t, struct sampling_budget *budget, uint64_t now_ns)
{
	uint64_t base = budget->base_ns, threshold = tracer_threshold(t->tracer, budget->waits);
	uint64_t elapsed = now_ns - budget->checked_ns, over;
	uint64_t bytes = tracer_event_bytes(t->tracer, budget->waits) - budget->last_bytes;

	if (elapsed < CHECK_NS / 5 || (bytes <= budget->room && elapsed < CHECK_NS))
		return;
	budget->checked_ns = now_ns;
	budget->last_bytes += bytes;
	if (threshold > budget->max_ns)
		budget->max_ns = threshold;
	if (!budget->per_second)
		return;
	over = take_room(budget, bytes, elapsed);
	if (over && threshold < MAX_NS)
		tracer_set_threshold(t->tracer, budget->waits,
		                     at_most(threshold * grow_by(over, budget->per_second), MAX_NS));
	else if (!over && bytes < budget->per_second / 2 * elapsed / SECOND_NS && threshold > base)
		tracer_set_threshold(t->tracer, budget->waits, threshold / 2 > base ? threshold / 2 : base);
}

void sampling_threshold_hold(struct sampling_threshold *t, uint64_t now_ns)
{
	for (int waits = 0; waits < ABI_WAITS_MAX; waits++)
		hold(t, &t->budgets[waits], now_ns);
}

uint64_t sampling_threshold_take(struct sampling_threshold *t, enum abi_waits waits)
{
	uint64_t max_ns = t->budgets[waits].max_ns;

	t->budgets[waits].max_ns = tracer_threshold(t->tracer, waits);
	return max_ns;
}
