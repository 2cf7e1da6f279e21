/* Puts the names of an event into the order of a path. */

#include "profiler/session/file_names.h"

#include <errno.h>
#include <string.h>

int file_names_place(const struct abi_file_event *event, char *place, size_t size)
{
	const char *names = (const char *)(event + 1);
	size_t left = event->names_len, at = 0;

	if (!left || names[left - 1] || event->flags & ABI_FILE_CUT)
		return -EINVAL;
	/* From the last, which is the highest folder's. */
	while (left) {
		size_t begin = left - 1, n;

		while (begin && names[begin - 1])
			begin--;
		n = left - 1 - begin;
		if (at + n + 2 > size)
			return -ENAMETOOLONG;
		if (at)
			place[at++] = '/';
		memcpy(place + at, names + begin, n);
		at += n;
		left = begin;
	}
	place[at] = '\0';
	return 0;
}
