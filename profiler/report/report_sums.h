/*
 * Times summed by texts: by a label's key and value, by the parts of a chain. However many there are, each has its whole sum, so that the
 * longest are found when all are known.
 *
 *     report_sums_add(&sums, (const char *[]){ key, value }, 2, ns)
 *     report_sums_sort(&sums)
 *     for (sum = report_sums_first(&sums); sum; sum = report_sums_next(sum))
 *     report_sums_free(&sums)
 */
#ifndef STALLPROF_PROFILER_REPORT_SUMS_H
#define STALLPROF_PROFILER_REPORT_SUMS_H

#include <stddef.h>
#include <stdint.h>

#define REPORT_SUM_PARTS 6

struct report_sum {
	const char *part[REPORT_SUM_PARTS];
	int64_t ns;
};

/* All zero: there are none. */
struct report_sums {
	struct report_sum_entry *entries;
};

/* Copies the texts, REPORT_SUM_PARTS at most. All calls have as many. 0 or -ENOMEM. */
int report_sums_add(struct report_sums *sums, const char *const *parts, size_t n, int64_t ns);

/* The longest first, then by the texts. */
void report_sums_sort(struct report_sums *sums);

/* NULL: there is none, or no other. */
const struct report_sum *report_sums_first(const struct report_sums *sums);
const struct report_sum *report_sums_next(const struct report_sum *sum);

void report_sums_free(struct report_sums *sums);

#endif
