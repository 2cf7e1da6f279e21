/* The order of two numbers, as qsort() and bsearch() want it of a comparison: below 0, 0, above 0. A difference may have no room in its type. */
#ifndef STALLPROF_SYMBOLIZER_COMPARE_H
#define STALLPROF_SYMBOLIZER_COMPARE_H

#include <stdint.h>

static inline int compare_u64(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static inline int compare_i64(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

#endif
