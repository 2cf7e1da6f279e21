/*
 * What all windows so far add up to, as Prometheus wants it: sums that never fall.
 *
 * Of the ledger there is a sum for each class and state, and for each class, cause and device of its stalls. A window's ledger
 * may have negative rows: a wait that a window's end cuts is counted as what it seems to be, and the window in which it
 * ends moves the time to where it belongs (README, "What the numbers are"). A counter that falls is taken for one that was
 * restarted, and all of it would count anew. So of each sum the largest value that it has had is shown (`shown_ns`), as
 * push_debts.h does for profiles: what is taken back holds later growth back, until the sum is past where it was.
 * By how much what is shown is too high at the moment is known (scrape_sums_ahead()).
 *
 * What is undecided is taken back in any case: it is not in any counter, but a sum that may fall, beside them.
 *
 *     for each window:  scrape_sums_take(sums, profile)
 *
 * Not thread-safe.
 */
#ifndef STALLPROF_PROFILER_SCRAPE_SUMS_H
#define STALLPROF_PROFILER_SCRAPE_SUMS_H

#include <stddef.h>
#include <stdint.h>

struct profile;
struct scrape_sums;
struct stamp;

/*
 * Classes are bounded by tags.max_classes, but a new configuration begins to count them anew, and devices have names
 * of all kinds. Beyond so many sums, rows of what has none yet are summed under "other", which is said by
 * scrape_sums_refused().
 */
#define SCRAPE_SUMS_MAX   8192
#define SCRAPE_SUMS_OTHER "other"

enum scrape_sum_of {
	SCRAPE_SUM_TAG,       /* a class in a state, stalls of all causes among them */
	SCRAPE_SUM_UNDECIDED, /* a class's waits of which it is not known yet what they are for */
	SCRAPE_SUM_STALL      /* a class's stalls, by cause and device */
};

struct scrape_sum {
	enum scrape_sum_of of;
	const char *ai_tag;        /* values of labels, as scrape_text_clean() makes them */
	const char *state, *stall; /* "" where there is none */
	const char *device;
	int64_t ns;       /* of all windows */
	int64_t shown_ns; /* the most that it ever was */
	uint64_t count;   /* intervals that ended */
};

/* `max`: SCRAPE_SUMS_MAX. NULL: no memory. */
struct scrape_sums *scrape_sums_new(size_t max);
void scrape_sums_free(struct scrape_sums *sums);

/*
 * Adds the ledger and the stamp in a window's notes. 0; -ENOMEM, and a part of them is not in the sums; -ENODATA: the
 * profile has no stamp.
 */
int scrape_sums_take(struct scrape_sums *sums, const struct profile *profile);

/* Calls `take` for each sum, in the order of `of`, class, state, cause, device. Its texts live until the next take. */
void scrape_sums_each(struct scrape_sums *sums, void (*take)(void *ctx, const struct scrape_sum *sum),
                      void *ctx);

/* By how much the sums of that kind are shown too high now, all of them together. */
int64_t scrape_sums_ahead(const struct scrape_sums *sums, enum scrape_sum_of of);

/* How many rows were summed under "other". */
uint64_t scrape_sums_refused(const struct scrape_sums *sums);

/* The counters of all windows, and the time that they covered; its hooks are of no use. */
const struct stamp *scrape_sums_stamp(const struct scrape_sums *sums);
/* The last window's; NULL: there was none. */
const struct stamp *scrape_sums_last(const struct scrape_sums *sums);

#endif
