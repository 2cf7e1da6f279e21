/* Sums that stay at the bound of their type where they would pass it: numbers of profiles may be anything. */
#ifndef STALLPROF_PROFILER_SATURATING_H
#define STALLPROF_PROFILER_SATURATING_H

#include <stdint.h>

static inline int64_t saturating_add(int64_t a, int64_t b)
{
	int64_t sum;

	if (!__builtin_add_overflow(a, b, &sum))
		return sum;
	return b < 0 ? INT64_MIN : INT64_MAX;
}

static inline int64_t saturating_subtract(int64_t a, int64_t b)
{
	int64_t difference;

	if (!__builtin_sub_overflow(a, b, &difference))
		return difference;
	return b < 0 ? INT64_MAX : INT64_MIN;
}

static inline uint64_t saturating_add_u64(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

/* The same number with a sign. */
static inline int64_t saturating_i64(uint64_t a)
{
	return a > INT64_MAX ? INT64_MAX : (int64_t)a;
}

#endif
