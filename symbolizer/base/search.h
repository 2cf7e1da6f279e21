/* Binary search in any sorted table. */
#ifndef SYMBOLIZER_SEARCH_H
#define SYMBOLIZER_SEARCH_H

#include <stddef.h>

/*
 * The first index in [from, to) for which `holds` is false, `to` when there is none. `holds` is an expression of `i`, which is true up to
 * some index and false from there on:
 *
 *	n = search_past(i, 0, t->n, t->rows[i].start <= address);	the row is t->rows[n - 1], if n
 */
#define search_past(i, from, to, holds)                                                                      \
	({                                                                                                   \
		size_t i##_low = (from), i##_high = (to), i;                                                 \
                                                                                                             \
		while (i##_low < i##_high) {                                                                 \
			i = i##_low + (i##_high - i##_low) / 2;                                              \
			if (holds)                                                                           \
				i##_low = i + 1;                                                             \
			else                                                                                 \
				i##_high = i;                                                                \
		}                                                                                            \
		i##_low;                                                                                     \
	})

#endif
