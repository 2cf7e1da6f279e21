/* Makes room in growing arrays by doubling them, so that adding an element takes constant time on average. */
#include "symbolizer/base/growing_array.h"

#include <errno.h>
#include <stdlib.h>

#define FIRST_ROOM 16

int growing_array_reserve(void **array, size_t wanted, size_t *room, size_t size, size_t limit)
{
	size_t more = *room ? *room : FIRST_ROOM;
	void *bigger;

	if (wanted <= *room)
		return 0;
	if (wanted > limit)
		return -EFBIG;
	while (more < wanted)
		more *= 2;
	bigger = reallocarray(*array, more, size);
	if (!bigger)
		return -ENOMEM;
	*array = bigger;
	*room = more;
	return 0;
}
