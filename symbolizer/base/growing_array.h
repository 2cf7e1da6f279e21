/* Growing arrays: the caller keeps the pointer, the number of elements and the room for them. */
#ifndef SYMBOLIZER_GROWING_ARRAY_H
#define SYMBOLIZER_GROWING_ARRAY_H

#include <stddef.h>

/*
 * Makes room for `wanted` elements of `size` bytes, doubling *room (in elements) as often as needed. `limit`: the
 * most elements that there may ever be, SIZE_MAX for no limit. Returns 0; -EFBIG: over the limit; -ENOMEM. After an
 * error array and room are unchanged.
 */
int growing_array_reserve(void **array, size_t wanted, size_t *room, size_t size, size_t limit);

#endif
