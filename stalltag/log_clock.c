/* Measures the rate of the CPU's counter against CLOCK_MONOTONIC and sets a log's clock. */

#include "stalltag/log_clock.h"

#include <time.h>

#define LEARN_MIN_NS 10000000ULL
#define LEARN_MAX_NS 10000000000ULL
#define LEARN_TRIES  3
#define RATE_BAD     UINT64_MAX
#define RATE_DRIFT   9 /* rates that differ by more than one part in 2^9: the counter is no clock */
#define GAP_PART     10

/* Nanoseconds a tick << STALLTAG_LOG_RATE_BITS, as last seen in this process; 0: not known yet. */
static uint64_t counter_rate;

uint64_t log_clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

struct reading {
	uint64_t counter, ns;
	uint64_t gap; /* ticks between two readings of the counter, around that of the clock */
};

static struct reading read_both(void)
{
	struct reading best = { .gap = UINT64_MAX };

	for (int i = 0; i < LEARN_TRIES; i++) {
		uint64_t before = cpu_counter(), ns = log_clock_ns(), gap = cpu_counter() - before;

		if (gap < best.gap)
			best = (struct reading){ before + gap / 2, ns, gap };
	}
	return best;
}

static void learn(uint64_t rate)
{
	uint64_t known = __atomic_load_n(&counter_rate, __ATOMIC_RELAXED);
	uint64_t off = rate > known ? rate - known : known - rate;

	if (known == RATE_BAD)
		return;
	if (!rate || (known && off > known >> RATE_DRIFT))
		rate = RATE_BAD;
	__atomic_store_n(&counter_rate, rate, __ATOMIC_RELAXED);
}

/* Compares the counter with the clock since the log's last reading. */
static void learn_from(struct stalltag_log *log, const struct reading *now)
{
	uint64_t ns = now->ns - log->read_ns, ticks = now->counter - log->read_counter;

	if (log->read_ns && ns < LEARN_MIN_NS)
		return;
	if (log->read_ns && ns < LEARN_MAX_NS && now->gap > ticks >> GAP_PART)
		return;
	if (log->read_ns && ns < LEARN_MAX_NS)
		learn(ticks && ticks < INT64_MAX ? (ns << STALLTAG_LOG_RATE_BITS) / ticks : 0);
	log->read_ns = now->ns;
	log->read_counter = now->counter;
}

void log_clock_set(struct stalltag_log *log, int is_read)
{
	struct stalltag_log_clock *next = &log->clocks[!log->clock];
	struct reading now = read_both();
	uint64_t rate;

	learn_from(log, &now);
	rate = __atomic_load_n(&counter_rate, __ATOMIC_RELAXED);
	if (is_read)
		log->by_counter = rate && rate != RATE_BAD;
	if (!log->by_counter)
		rate = 1ULL << STALLTAG_LOG_RATE_BITS;
	else if (rate == RATE_BAD)
		rate = log->clocks[log->clock].rate;
	next->moment = log->by_counter ? now.counter : now.ns;
	next->ns = now.ns;
	next->rate = rate;
	log->set_at = next->moment;
	log->stale_after = ((uint64_t)STALLTAG_LOG_STALE_NS << STALLTAG_LOG_RATE_BITS) / rate;
	__atomic_store_n(&log->clock, !log->clock, __ATOMIC_RELEASE);
}
